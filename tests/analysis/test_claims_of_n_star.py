"""Claims about N*, its exponents and theories, also where N* is a bound or a range."""

import math
from dataclasses import replace

import numpy as np
import pytest
from claim_cases import CASES, exponent_at
from claim_results import DIMS, GRID, SWEEP, THEORIES, D, N, cell, cells, curve, spread, verdict

from bfc_bench.errors import UsageError
from bfc_bench.learner import Theory
from bfc_bench.seeds import stream


def test_without_a_theory_a_claim_that_something_follows_it_is_undecided_and_says_so():
    claim = {"kind": "follows", "label": "b", "task": "t", "factor": 3}
    found = verdict(claim, cells("b", [0.1, 0.2, 0.3]))
    assert (found.verdict, found.note) == ("undecided", f"b offers no theory for t, d = {D}")
    assert "a offers no theory" in verdict({**claim, "label": "a"}, cells("a", [0.1, 0.2, 0.3]), {}).note


@pytest.mark.parametrize(
    ("level", "note"), [(None, "no positive finite error there"), (0.1, "never reaches the level")]
)
def test_a_theory_without_a_number_decides_nothing(level, note):
    claim = {"kind": "follows", "label": "a", "task": "t", "factor": 3, "level": level}
    theories = {("t", D, "a"): Theory(lambda n: math.inf, "nowhere")}
    found = verdict(claim, curve("a", [100, 110, 120]) + cells("a", [0.1, 0.2, 0.3]), theories)
    assert found.verdict == "undecided"
    assert note in found.note


def test_the_estimate_is_measured_over_theory():
    claim = {"kind": "follows", "label": "a", "task": "t", "factor": 3}
    found = verdict({**claim, "level": 0.1}, curve("a", [150, 151, 152]))
    assert found.estimate == pytest.approx(0.5, rel=0.1)
    assert found.region == "in [0.333, 3]"
    assert "N* = 300" in found.note
    assert found.statement == (
        "The number of samples that a needs is that of its theory up to a factor 3, to reach NMSE ≤ 0.1 (t, d = 20)."
    )
    supported = verdict(claim, cells("a", [0.04, 0.05, 0.05]))
    assert supported.words == "supported"
    assert supported.worst == pytest.approx(0.04 / THEORIES["t", D, "a"].nmse(N))  # in the units of the estimate
    assert verdict(claim, cells("a", [0.04, 0.05, 0.05, None])).verdict == "undecided"


SIZES = {"kind": "slope", "label": "a", "sweep": [{"task": t, "value": v} for t, v in SWEEP.items()], "level": 0.1}


def swept_curves(power, size=200.0, sd=0.05):
    factors = spread("swept sizes", sd=sd)
    return [row for task, value in SWEEP.items() for row in curve("a", size * value**power * factors, task=task)]


def test_a_slope_of_sharp_drops_knows_its_sizes_up_to_a_step():
    """Errors that drop within one step of 2: N* is known up to that, the slope up to log 2 / log 10 on either side."""
    rows = [
        cell("a", r, 1e-7 if n >= 2000 * value else 1.0, task=task, n=n)
        for task, value in SWEEP.items()
        for r in range(4)
        for n in GRID
    ]
    found = verdict({**SIZES, "at_most": 2}, rows)
    assert found.lo <= 1.0 <= found.hi
    assert found.hi - found.lo >= math.log(2) / math.log(10)
    assert found.verdict == "supported"


def test_sizes_beyond_the_tested_ones_open_the_side_that_they_may_move_the_slope_to():
    rows = swept_curves(1.0, 60000.0)
    found = verdict({**SIZES, "at_most": 2}, rows)
    assert (found.verdict, found.hi) == ("undecided", math.inf)
    assert "5 of 5 replicates are censored" in found.note
    falling = verdict({**SIZES, "at_least": -2}, swept_curves(-1.0, 6000.0))
    assert (falling.verdict, falling.lo) == ("undecided", -math.inf)
    assert "5 of 5 replicates are censored" in falling.note
    assert verdict({**SIZES, "at_least": 0.2}, rows).verdict == "supported"
    assert "a has no nmse on a1" in verdict({**SIZES, "at_most": 2}, [r for r in rows if r.task != "a1"]).note


def test_a_task_in_the_middle_of_the_sweep_says_nothing_of_the_slope_and_its_bounds_leave_it_closed():
    """Its weight in the line of least squares is 0, and rounding of that times infinity would be infinite."""
    values = {"a1": 0.25, "a2": 1.0, "a3": 4.0}
    sizes = {"a1": 500.0, "a2": 1e6, "a3": 8000.0}
    rows = [row for task, size in sizes.items() for row in curve("a", size * spread(task, sd=0.05), task=task)]
    sweep = [{"task": task, "value": value} for task, value in values.items()]
    found = verdict({**SIZES, "sweep": sweep, "at_most": 2}, rows)
    assert found.verdict == "supported"
    assert found.estimate == pytest.approx(1.0, abs=0.1)
    assert math.isfinite(found.lo)
    assert math.isfinite(found.hi)


def theory_of_power(power):
    return {("t", d, "a"): Theory(lambda n, d=d: 1 / (1 + 9 * (n / (640 * (d / 15) ** power)) ** 3), "f") for d in DIMS}


@pytest.mark.parametrize(("power", "word"), [(2.0, "supported"), (3.0, "contradicted")])
def test_an_exponent_is_judged_by_that_of_the_theory_over_the_same_dimensions(power, word):
    claim = {"kind": "exponent", "label": "a", "task": "t", "theory": True, "tolerance": 0.4}
    rows = [x for d in DIMS for x in curve("a", 640 * (d / 15) ** 2 * spread(f"theory {d}", sd=0.05), d)]
    found = verdict(claim, rows, theory_of_power(power))
    assert found.verdict == word
    assert f"within 0.4 of that of its theory, {power:g} over d = 8..27" in found.statement
    missing = verdict(claim, rows, {})
    assert (missing.verdict, missing.note) == ("undecided", "a offers no theory for t, d = 8")


def test_an_exponent_whose_dimensions_scatter_needs_more_of_them_and_not_replicates():
    claim = {"kind": "exponent", "label": "a", "task": "t", "at_most": 1.4, "level": 0.1}
    rng = stream("test claims", "scatter")

    def at(off):
        return [
            row for d, factor in zip(DIMS, off, strict=True)
            for row in curve("a", 640 * factor * d / 15 * np.exp(0.1 * rng.standard_normal(5)), d)
        ]  # fmt: skip

    scattered, even = verdict(claim, at((1.0, 1.6, 0.6, 1.4))), verdict(claim, at((1.0, 1.0, 1.0, 1.0)))
    assert (scattered.verdict, scattered.needed) == ("undecided", math.inf)
    assert "more d would narrow the interval" in scattered.stuck
    assert (even.verdict, even.stuck) == ("supported", "")
    assert even.needed <= 5


SAMPLES = CASES["beats in samples"][0]


def test_a_side_that_never_gets_there_is_replaced_by_its_bound_and_never_contradicts():
    ours = curve("a", 640 * spread("a"))
    never = curve("b", [1e6] * 5)
    found = verdict(SAMPLES, [*ours, *never])
    largest = max(row.n for row in never)
    assert (found.verdict, found.lo) == ("supported", 0.0)
    assert found.estimate == pytest.approx(640 / largest, rel=0.05)
    assert "5 of 5 replicates are censored" in found.note
    late = verdict(SAMPLES, [*curve("a", 11_000 * spread("a", sd=0.1)), *never])
    assert (late.verdict, late.lo) == ("undecided", 0.0)
    assert late.estimate > 0.5


def test_a_bound_on_a_ratio_is_known_up_to_the_step_in_which_the_better_side_drops():
    """All replicates drop in one step of 2 and the others never: the ratio is below that step, not without variance."""
    ours = [cell("a", r, 1e-7 if n >= 300 else 1.0, n=n) for r in range(5) for n in GRID]
    theirs = [cell("b", r, 1.0, n=n) for r in range(5) for n in GRID]
    claim = {"kind": "beats", "label": "a", "against": "b", "task": "t", "level": 0.1, "factor": 10}
    found = verdict(claim, ours + theirs)
    assert (found.verdict, found.lo) == ("supported", 0.0)
    assert 160 / GRID[-1] < found.hi < 2 * 320 / GRID[-1]
    assert "5 of 5 replicates are censored" in found.note


def test_a_side_that_never_gets_there_cannot_be_supported():
    found = verdict(SAMPLES, [*curve("a", [1e6] * 5), *curve("b", 5000 * spread("b"))])
    assert found.verdict == "contradicted"
    found = verdict(SAMPLES, [*curve("a", [1e6] * 5), *curve("b", [1e6] * 5)])
    assert found.verdict == "undecided"


def test_one_opponent_without_a_value_leaves_a_claim_undecided():
    """Neither a nor b ever gets there, and c does."""
    rows = [*curve("a", [1e6] * 3), *curve("b", [1e6] * 3), *curve("c", 1e4 * spread("c", size=3, sd=1.0))]
    assert verdict(SAMPLES | {"against": ["b", "c"]}, rows).verdict == "undecided"


def test_an_exponent_of_a_cost_is_that_of_the_operations_at_n_star():
    """Operations n^2 d at N* ~ d^1.5 are d^4. A learner whose operations do not grow with n has no least cost."""
    rows = [replace(row, fit_flops=float(row.n**2 * row.d)) for row in exponent_at(stream("cost"), 1.5)]
    claim = {"kind": "exponent", "label": "a", "task": "t", "level": 0.1, "cost": "fit_flops", "at_most": 6}
    found = verdict(claim, rows)
    assert found.verdict == "supported"
    in_n = verdict({key: value for key, value in claim.items() if key != "cost"}, rows)
    assert found.estimate == pytest.approx(2 * in_n.estimate + 1, abs=0.01)
    assert "exponent in d of the FLOPs of a" in found.statement
    constant = verdict(claim, [replace(row, fit_flops=7.0) for row in rows])
    assert constant.verdict == "undecided"
    with pytest.raises(UsageError, match="theory and harmonics are about N\\*, not about a cost"):
        verdict({**claim, "at_most": None, "harmonics": 2, "tolerance": 1.0}, rows)
