"""The suite ``papers-conditions`` meets the conditions that its comments name."""

from itertools import chain, combinations, pairwise, product
from math import comb
from pathlib import Path

import numpy as np
import pytest

from bfc_bench.suite.model import candidates
from bfc_bench.suite.read import read_suite
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Uniform
from bfc_bench.tasks.targets.hard_densenets import HardKernel
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet

SUITE = read_suite(Path(__file__).parents[2] / "suites" / "papers-conditions.toml")
TASKS = {task.name: task for task in SUITE.task}
LEARNERS = {entry.label: entry for entry in SUITE.learner}
CLAIMS = {claim.id: claim.model_extra for claim in SUITE.claim}
OF_THEOREM_1 = [task.name for task in SUITE.task if task.target["kind"] == "quadratic-densenet"]


def target(name):
    return QuadraticDensenet(**{key: value for key, value in TASKS[name].target.items() if key != "kind"})


@pytest.mark.parametrize("name", OF_THEOREM_1)
def test_gaps_are_those_of_theorem_1(name):
    """alpha_{l+1} / alpha_l <= d^(-1 / C_1^l) with C_1 = 2, and no skip link from layers 2 to l-2."""
    for d in TASKS[name].d:
        for layer, (below, above) in enumerate(pairwise(target(name).alphas), start=2):
            assert above / below <= d ** -(2.0**-layer)
    assert all(set(skips) <= {0, 1, layer - 1} for layer, skips in enumerate(target(name).skips, start=2))


@pytest.mark.parametrize("name", ["theorem-1-L3", "theorem-1-L4"])
def test_widths_are_those_of_corollary_b2(name):
    """k_l is the largest whole number that is at most d^(1 / (C_1^l + C_1)), with C_1 = 2."""
    (d,), widths = TASKS[name].d, target(name).widths
    assert widths == tuple(int(d ** (1 / (2**layer + 2)) + 1e-9) for layer in range(2, len(widths) + 2))


def test_growing_widths_and_sizes():
    for d in (10, 20, 40):
        task = TASKS[f"growing-{d}"]
        k2, k3 = target(task.name).widths
        assert (task.d, k2, k3) == ([d], d // 5, d // 10)
        weights = k2 * d + k3 * (d + k2)
        assert task.n[0] == pytest.approx(1.1 * weights, rel=0.03)
        assert task.n[-1] == pytest.approx(6.25 * weights, rel=0.01)


def test_the_search_tries_all_that_section_2_allows_up_to_four_layers():
    """J_l is {l-1} and any of 0..l-3, at least one of them from l = 3 on."""
    tried = [(tuple(map(tuple, c["skips"])), len(c["widths"])) for c in candidates(LEARNERS["searched"].spaces)]
    expected = []
    for depth in (2, 3, 4):
        choices = []
        for layer in range(2, depth + 1):
            far = range(max(0, layer - 2))
            sets = chain.from_iterable(combinations(far, size) for size in range(len(far) + 1))
            choices.append([(*some, layer - 1) for some in sets if some or layer == 2])
        expected += [(skips, depth - 1) for skips in product(*choices)]
    assert sorted(tried) == sorted(expected)


def test_lower_bounds_use_all_that_they_allow():
    (d,) = TASKS["hard-kernel"].d
    allowed = comb(d, 4) // 1000
    assert LEARNERS["features-3921"].options["features"] == allowed == 3921
    assert TASKS["hard-kernel"].n[0] <= allowed < TASKS["hard-kernel"].n[1]
    assert TASKS["hard-kernel-gaussian"].n[-1] <= allowed


@pytest.mark.parametrize(("name", "inputs", "share"), [("", Uniform(), 7.7e-4), ("-gaussian", Gaussian(), 1.9e-5)])
def test_share_of_the_product_in_the_variance(name, inputs, share):
    task = TASKS[f"hard-kernel{name}"]
    rng, shares = np.random.default_rng(0), []
    law = inputs.law(rng, task.d[0])
    for _ in range(4):
        teacher = HardKernel(alphas=tuple(task.target["alphas"])).draw(rng, law)
        values = np.concatenate([teacher(law.sample(rng, 10_000)) for _ in range(10)])
        shares.append((teacher.alphas[-1] * teacher.facts["top_coefficient"]) ** 2 / np.var(values))
    assert np.mean(shares) == pytest.approx(share, rel=0.15)
    bounds = [
        claim.get("at_least", claim.get("at_most")) for claim in CLAIMS.values() if claim.get("task") == task.name
    ]
    assert [bound for bound in bounds if bound < 1e-3] == [pytest.approx(share / 4, rel=0.06)] * (4 if name else 0)
