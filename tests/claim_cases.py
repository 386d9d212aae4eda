"""For each kind of claim: results at a true value of what it judges, and values in and out of its region."""

import numpy as np
from claim_results import DIMS, GRID, SWEEP, THEORIES, D, N, cell, cells, curve, expected

from bfc_bench.utils.legendre import harmonics_dimension


def error_at(rng, truth, r=5):
    return cells("a", truth * np.exp(0.5 * rng.standard_normal(r)))


def ratio_at(rng, truth, r=5):
    """a / b in the geometric mean; the teachers' difficulty is common to both."""
    common = np.exp(2 * rng.standard_normal(r))
    return [*cells("b", common), *cells("a", truth * common * np.exp(0.5 * rng.standard_normal(r)))]


def several_at(rng, truth, r=5):
    return [*ratio_at(rng, truth, r), *cells("c", np.exp(0.3 * rng.standard_normal(r)))]


def several_equal_at(rng, truth, r=5):
    a = np.exp(0.3 * rng.standard_normal(r))
    b, c = (np.exp(0.3 * rng.standard_normal(r)) / truth for _ in range(2))
    return [*cells("a", a), *cells("b", b), *cells("c", c)]


def sizes_at(rng, truth, r=5):
    common = 300 * np.exp(0.4 * rng.standard_normal(r))
    noisy = truth * common * np.exp(0.2 * rng.standard_normal(r))
    return [*curve("a", noisy), *curve("b", common)]


def exponent_at(rng, truth, r=5):
    return [x for d in DIMS for x in curve("a", 640 * (d / 15) ** truth * np.exp(0.25 * rng.standard_normal(r)), d)]


def exponent_beside(sizes):
    """Results at a true exponent beyond that of ``sizes``, {d: N}, which is no power of d."""

    def at(rng, truth, r=5):
        stars = {d: size * (d / D) ** truth * np.exp(0.1 * rng.standard_normal(r)) for d, size in sizes.items()}
        return [x for d, star in stars.items() for x in curve("a", star, d)]

    return at


def exponent_difference_at(rng, truth, r=5):
    rows = []
    for d in DIMS:
        common = 640 * (d / 15) * np.exp(0.5 * rng.standard_normal(r))
        rows += curve("b", common, d)
        rows += curve("a", common * (d / 15) ** truth * np.exp(0.2 * rng.standard_normal(r)), d)
    return rows


def slope_at(rng, truth, r=5):
    return [
        x
        for task, value in SWEEP.items()
        for x in cells("a", 0.02 * value**truth * np.exp(0.4 * rng.standard_normal(r)), task=task)
    ]


def slope_of_sizes_at(rng, truth, r=5):
    stars = {task: 9000 * value**truth * np.exp(0.2 * rng.standard_normal(r)) for task, value in SWEEP.items()}
    return [x for task, star in stars.items() for x in curve("a", star, task=task)]


def law_at(rng, truth, r=5):
    """Error .02 + (n / 20)^-b with b = truth; a replicate has a level of its own, and each size noise of 5 %."""
    level = np.exp(0.3 * rng.standard_normal(r))
    return [
        x
        for n in GRID
        for x in cells("a", level * (0.02 + (n / 20) ** -truth) * np.exp(0.05 * rng.standard_normal(r)), n=n)
    ]


def joint_law_at(rng, truth, r=5):
    """Error .002 + .5 (M / 10)^-p + (n / 20)^-1 of three learners with 10, 40 and 160 parameters, p = truth."""
    level = np.exp(0.3 * rng.standard_normal(r))
    rows = []
    for label, parameters in (("a", 10), ("b", 40), ("c", 160)):
        for n in GRID[:7]:
            error = 0.002 + 0.5 * (parameters / 10) ** -truth + (n / 20) ** -1.0
            values = level * error * np.exp(0.05 * rng.standard_normal(r))
            rows += cells(label, values, n=n, parameters=parameters)
    return rows


def stage_ratio_at(rng, truth, r=5):
    before = 0.01 * np.exp(rng.standard_normal(r))
    after = truth * before * np.exp(0.05 * rng.standard_normal(r))
    return [
        cell("a", i, 0.5, feature_errors={"S2": float(after[i])}, stages={"layer2": {"feature_errors": {"S2": p}}})
        for i, p in enumerate(before.tolist())
    ]


STAGES = {"metric": "feature_errors.S2", "label": "a", "against": "a/layer2", "task": "t"}
S2 = {"metric": "feature_errors.S2", "before": "a/layer2", "after": "a", "task": "t"}
SWEPT = [{"task": task, "value": value} for task, value in SWEEP.items()]


LAW = {"kind": "scaling-law", "label": "a", "task": "t"}
CASES = {
    # the claim, results at a true value, and a value far inside, at the boundary of, and far outside its region
    "reaches": ({"kind": "reaches", "label": "a", "task": "t", "at_most": 0.01}, error_at, 1e-4, 0.01, 1.0),
    "stays": ({"kind": "reaches", "label": "a", "task": "t", "at_least": 0.1}, error_at, 5.0, 0.1, 1e-3),
    "beats": (
        {"kind": "beats", "label": "a", "against": "b", "task": "t", "factor": 100}, ratio_at, 1e-4, 0.01, 1.0,
    ),
    "beats several, one near": (
        {"kind": "beats", "label": "a", "against": ["b", "c"], "task": "t", "factor": 2}, several_at, 1e-4, None, 50.0,
    ),
    "beats several, all near": (
        {"kind": "beats", "label": "a", "against": ["b", "c"], "task": "t", "factor": 2},
        several_equal_at, 0.01, 0.5, 50.0,
    ),
    "beats in samples": (
        {"kind": "beats", "label": "a", "against": "b", "task": "t", "factor": 2, "level": 0.1},
        sizes_at, 0.1, 0.5, 2.0,
    ),
    "exponent": (
        {"kind": "exponent", "label": "a", "task": "t", "at_most": 1.5, "level": 0.1}, exponent_at, 0.5, 1.5, 2.5,
    ),
    "exponents": (
        {"kind": "exponent", "label": "a", "task": "t", "below": "b", "level": 0.1},
        exponent_difference_at, -1.0, 0.0, 1.0,
    ),
    "exponent beside theory": (
        {"kind": "exponent", "label": "a", "task": "t", "theory": True, "tolerance": 0.5, "level": 0.1},
        exponent_beside({d: expected(d) for d in DIMS}), 0.0, 0.5, 1.5,
    ),
    "exponent beside harmonics": (
        {"kind": "exponent", "label": "a", "task": "t", "harmonics": 2, "tolerance": 0.5, "level": 0.1},
        exponent_beside({d: 4 * harmonics_dimension(d, 2) for d in DIMS}), 0.0, 0.5, 1.5,
    ),
    "slope": (
        {"kind": "slope", "label": "a", "sweep": SWEPT, "at_least": 1.5, "at_most": 4.0}, slope_at, 2.75, 1.5, 0.0,
    ),
    "slope of sizes": (
        {"kind": "slope", "label": "a", "sweep": SWEPT, "level": 0.1, "at_most": 1.0}, slope_of_sizes_at, 0.3, 1.0, 2.0,
    ),
    "scaling law": ({"kind": "scaling-law", "label": "a", "task": "t", "at_least": 0.8}, law_at, 1.2, 0.8, 0.4),
    "scaling law in parameters": (
        {
            "kind": "scaling-law", "label": ["a", "b", "c"], "task": "t", "second": "parameters",
            "exponent": "parameters", "at_least": 0.6, "at_most": 1.4,
        },
        joint_law_at, 1.0, 0.6, 0.2,
    ),
    "beats between stages": ({"kind": "beats", **STAGES, "factor": 10}, stage_ratio_at, 1e-3, 0.1, 1.0),
    "unchanged": ({"kind": "unchanged", **S2, "tolerance": 0.5}, stage_ratio_at, 1.0, 1.5, 4.0),
    "follows": (
        {"kind": "follows", "label": "a", "task": "t", "factor": 3},
        lambda rng, truth, r=5: error_at(rng, truth * THEORIES["t", D, "a"].nmse(N), r), 1.0, 3.0, 100.0,
    ),
    "follows in samples": (
        {"kind": "follows", "label": "a", "task": "t", "factor": 3, "level": 0.1}, sizes_at, 1.0, 3.0, 12.0,
    ),
}  # fmt: skip


FOLLOWS = {"kind": "follows", "label": "a", "task": "t", "factor": 2}
BEATS = {"kind": "beats", "label": "a", "against": "b", "task": "t", "factor": 10}
