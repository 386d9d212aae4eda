"""What evidence the kinds of claims take from values: here, which end of an interval is open, and why."""

import math

import numpy as np
import pytest
from synthetic import n_star

from bfc_bench.analysis.claims.mean_evidence import Region, evidence
from bfc_bench.analysis.claims.measures import Measured, evidence_of_crossings, n_star_ratio, ratio_of
from bfc_bench.analysis.claims.verdict import decide
from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.intervals import t_interval
from bfc_bench.analysis.thresholds import NStar

A = [n_star(r, n) for r, n in enumerate((100.0, 120.0, 150.0, 110.0))]
B = [n_star(r, n) for r, n in enumerate((300.0, 200.0, 250.0, 280.0))]


def ratio(a, b):
    """Evidence about log(N*_a / N*_b)."""
    return evidence_of_crossings((1.0, -1.0), (a, b), (False, False), ())


def ends(evidence):
    """Which ends are open: below, above."""
    lo, hi = evidence.bounds()
    assert (lo == -math.inf, hi == math.inf) == (evidence.open_below, evidence.open_above)
    return evidence.open_below, evidence.open_above


def measured(side, at_floor):
    """One side of a ratio: its sizes stand for errors, and the smallest may be at the floor."""
    values = np.array([[each.n] for each in side])
    floor = values.min() if at_floor else 1.0
    return Measured(Curve("t", 8, "a", "nmse", np.array([100]), (0, 1, 2, 3), values, floors=floor))


@pytest.mark.parametrize("floored", [(False, False), (True, False), (False, True), (True, True)])
def test_an_error_at_the_floor_may_be_smaller_so_that_the_ratio_may_move_away_from_its_side(floored):
    assert ends(ratio_of(*map(measured, (A, B), floored))) == floored


@pytest.mark.parametrize("failed", [(False, False), (True, False), (False, True), (True, True)])
def test_a_failed_cell_may_need_more_samples_so_that_the_ratio_may_move_to_its_side(failed):
    """The ratio is N* of a over N* of b: if a fails it may be larger, if b does it may be smaller."""
    of_a, of_b = failed
    values = np.array([[1.0, 0.1], [1.0, 0.2], [1.0, 0.3], [1.0, 0.15]])
    a, b = (
        Curve("t", 8, "a", "nmse", np.array([100, 400]), (0, 1, 2, 3), errors, ({}, {"failed": count}))
        for errors, count in zip((values, values[::-1]), failed, strict=True)
    )
    assert ends(n_star_ratio(a, b, 0.5)) == (of_b, of_a)


@pytest.mark.parametrize(
    ("of_a", "of_b", "is_open"),
    [
        (None, None, (False, False)),
        ("right", None, (False, True)),
        ("left", None, (True, False)),
        (None, "right", (True, False)),
        (None, "left", (False, True)),
    ],
)
def test_a_censored_size_opens_the_side_that_the_ratio_may_move_to(of_a, of_b, is_open):
    a, b = [*A, n_star(4, 400.0, of_a)], [*B, n_star(4, 50.0, of_b)]
    found = ratio(a, b)
    assert (ends(found), found.count) == (is_open, 5)
    assert ("1 of 5 replicates are censored" in found.notes) == any(is_open)


def test_a_ratio_of_two_sizes_that_are_both_beyond_is_unknown_and_does_not_count():
    """It turned the interval of the others into (-inf, inf), while ``compare_exponents`` leaves such a pair out."""
    found = ratio([*A, n_star(4, 400.0, "right")], [*B, n_star(4, 400.0, "right")])
    assert found.bounds() == ratio(A, B).bounds()
    assert (ends(found), found.count) == ((False, False), 4)
    assert "1 of 5 replicates are censored" in found.notes


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("count", [3, 4, 5, 7, 8, 12])
def test_a_bound_that_enough_replicates_share_decides(count, symmetric):
    """A is at most the level at the smallest size in all replicates and B never: this had zero variance and no test."""
    found = ratio([n_star(r, 50.0, "left") for r in range(count)], [n_star(r, 1600.0, "right") for r in range(count)])
    found = found.of_symmetric_values() if symmetric else found
    decides = count >= (5 if symmetric else 8)
    assert found.bounds() == ((-math.inf, pytest.approx(math.log(50 / 1600))) if decides else (-math.inf, math.inf))
    assert (found.p_inside(Region(hi=0.0)) <= 0.05) == (found.p_outside(Region(lo=0.0)) <= 0.05) == decides
    verdict = decide(Region(hi=1.0), [("", found)], log=True)
    assert (verdict.verdict == "supported", verdict.stuck) == (decides, "")
    if not symmetric and not decides:
        assert verdict.needed == 8
        assert "8 such replicates would decide" in verdict.note


def test_an_interval_does_not_contradict_the_ranges_of_all_replicates():
    """N* of a and of b lie in steps apart from each other in every replicate, and one ratio makes the values skewed."""
    of_a = [NStar(r, 50.0, 190.0) for r in range(7)] + [NStar(7, 2.0, 4.0)]
    of_b = [NStar(r, 200.0, 400.0) for r in range(8)]
    found = ratio(of_a, of_b)
    assert found.bounds()[1] <= math.log(190 / 200) + 1e-12
    assert found.p_inside(Region(hi=0.0)) <= 2**-7
    assert found.at(8).bounds() == found.bounds()
    few = ratio(of_a[3:], of_b)
    assert few.bounds()[1] > math.log(190 / 200), "five are too few, but for a comparison outside of claims"
    assert few.of_symmetric_values().bounds()[1] <= math.log(190 / 200) + 1e-12


@pytest.mark.parametrize("values", [[5.0, 6.0], [5.0, 5.0, 5.0], []])
def test_evidence_that_gives_no_interval_is_significant_at_no_level_wherever_it_lies(values):
    found = evidence(values)
    assert found.refused
    assert found.bounds() == (-math.inf, math.inf)
    for region in (Region(hi=1.0), Region(lo=1.0), Region(4.0, 7.0)):
        assert (found.p_inside(region), found.p_outside(region)) == (1.0, 1.0)


@pytest.mark.parametrize("width", [0.0, 0.1, 1.0, 2.0])
def test_ranges_that_are_too_wide_never_narrow_the_interval_below_that_of_their_middles(width):
    """The likelihood alone would explain the spread of the middles by the ranges, and be narrower by a sixth at 2."""
    middles = np.array([0.0, 0.5, 1.1, -0.6, 0.2, 0.9, -0.2, 0.4])
    found = evidence([(x - width / 2, x + width / 2) for x in middles]).of_symmetric_values()
    interval = t_interval(middles)
    lo, hi = found.bounds()
    assert hi - found.mean >= interval.hi - interval.mean - 1e-9
    assert found.mean - lo >= interval.mean - interval.lo - 1e-9
