"""Hall's transformed t: closed forms, limits, symmetries, and what the verdict makes of it."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from bfc_bench.analysis.claims.mean_evidence import Region, evidence
from bfc_bench.analysis.claims.verdict import decide
from bfc_bench.analysis.intervals import is_skewed, skewness, skewness_error, t_interval, t_quantile
from bfc_bench.analysis.skewed_t import cautious_p, cautious_reach, inverse, transformed
from bfc_bench.seeds import stream

GRID = [
    (t, r, g) for t in (-30.0, -4.0, -1.0, 0.0, 1.0, 4.0) for r in (5, 20, 200) for g in (-3.0, -0.5, 0.0, 0.5, 3.0)
]


@pytest.mark.parametrize(("t", "count", "skew"), GRID)
def test_without_skewness_it_is_student_s_and_the_inverse_undoes_it(t, count, skew):
    assert transformed(t, count, 0.0) == t
    assert inverse(transformed(t, count, skew), count, skew) == pytest.approx(t, abs=1e-9)


def test_a_small_example_worked_out_by_hand():
    """R = 9, t = -3, g = 1: w = -1, 3 (-1 + 1/3 - 1/27 + 1/54) = -37/18; for g = 9, beyond the bend, 3 (-1/4 + 1/6)."""
    assert transformed(-3.0, 9, 1.0) == pytest.approx(-37 / 18)
    assert transformed(-3.0, 9, 9.0) == pytest.approx(-1 / 4)


@pytest.mark.parametrize("count", [5, 20, 200])
def test_more_skewness_only_widens_and_at_most_to_about_four_times(count):
    quantile = t_quantile(count - 1)
    reaches = [cautious_reach(0.95, count - 1, count, g) for g in np.linspace(-3, 3, 61)]
    assert all(a <= b + 1e-12 for a, b in pairwise(reaches))
    assert reaches[0] == quantile, "a tail on the other side leaves Student's interval"
    worst = 3 + skewness_error(count)
    assert reaches[-1] <= 4 * (quantile + worst / (6 * math.sqrt(count))) * (1 + 1e-12)


@pytest.mark.parametrize(("t", "count", "skew"), [case for case in GRID if case[0] > 0])
def test_p_is_the_level_at_which_the_interval_reaches_the_bound(t, count, skew):
    p = cautious_p(t, count - 1, count, skew)
    if 1e-12 < p < 1:
        assert cautious_reach(1 - p, count - 1, count, skew) == pytest.approx(t, rel=1e-3)


def test_the_interval_of_symmetric_values_tends_to_student_s():
    ratios = [cautious_reach(0.95, r - 1, r, 0.0) / t_quantile(r - 1) for r in (20, 200, 20_000)]
    assert ratios[0] > ratios[1] > ratios[2] > 1
    assert ratios[1:] == pytest.approx([1.0, 1.0], abs=0.02)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.995])
@pytest.mark.parametrize("skew", [-2.0, 0.0, 0.5, 2.0, 5.0])
def test_more_values_of_one_spread_and_skewness_never_widen_the_interval(confidence, skew):
    widths = [cautious_reach(confidence, r - 1, r, skew) / math.sqrt(r) for r in range(3, 300)]
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(widths))


@pytest.mark.parametrize("count", [3, 4])
def test_of_fewer_than_five_values_student_s_interval_is_kept_and_the_verdict_says_what_it_assumes(count):
    x = stream("test skewed t", count).standard_normal(count) * 0.1 - 1
    assert evidence(x).bounds() == pytest.approx((t_interval(x).lo, t_interval(x).hi))
    finding = decide(Region(hi=0.0), [("", evidence(x))])
    assert finding.verdict == "supported"
    assert f"{count} replicates cannot show skewness, which the verdict assumes to be small" in finding.note
    five = decide(Region(hi=0.0), [("", evidence([-1.0, -1.1, -0.9, -1.05, -0.95]))])
    assert (five.verdict, five.note) == ("supported", "")


@pytest.mark.parametrize("count", [3, 6, 40])
def test_scale_shift_sign_and_order_of_the_values_change_nothing_else(count):
    x = stream("test skewed t", "law", count).exponential(size=count)
    lo, hi = evidence(x).bounds()
    assert evidence(1000 * x - 7).bounds() == pytest.approx((1000 * lo - 7, 1000 * hi - 7))
    assert evidence(-x).bounds() == pytest.approx((-hi, -lo))
    assert evidence(x[::-1]).bounds() == pytest.approx((lo, hi))
    assert evidence(x).p_inside(Region(hi=2.0)) == pytest.approx(evidence(-x).p_inside(Region(lo=-2.0)))


def test_where_the_two_rules_differ_the_verdict_is_undecided_and_names_both():
    """Eleven values at -1 and one at 0: Student's interval ends below -.7, a tail like this one may hide much more."""
    x = [*np.linspace(-1.02, -0.98, 11), 0.0]
    assert t_interval(x).hi < -0.7
    finding = decide(Region(hi=-0.7), [("", evidence(x))])
    assert finding.verdict == "undecided"
    assert "supported if the values are not skewed; the interval that allows for skewness disagrees" in finding.note
    assert finding.hi > -0.7
    assert finding.p > 0.05
    mirrored = decide(Region(lo=0.7), [("", evidence([-value for value in x]))])
    assert (mirrored.verdict, mirrored.lo, mirrored.p) == pytest.approx(("undecided", -finding.hi, finding.p))
    symmetric = decide(Region(hi=-0.7), [("", evidence(x).of_symmetric_values())])
    assert (symmetric.verdict, symmetric.hi) == ("supported", pytest.approx(t_interval(x).hi))


def test_the_error_of_skewness_is_that_of_the_textbook():
    draws = stats.skew(stream("test skewed t", "error").standard_normal((40_000, 5)), axis=1, bias=False)
    assert skewness_error(5) == pytest.approx(math.sqrt(5 / 6)) == pytest.approx(draws.std(), rel=0.02)


def test_skewness_is_scipys_and_shows_where_it_is_beyond_chance():
    x = stream("test", "skewness").exponential(size=9)
    assert skewness(x) == pytest.approx(stats.skew(x, bias=False))
    assert math.isnan(skewness([1.0, 1.0, 1.0]))
    rng = stream("test", "is_skewed")
    for count in (5, 10, 20):
        chance = np.mean([is_skewed(rng.standard_normal(count)) for _ in range(1000)])
        assert 0.01 < chance < 0.08
    assert np.mean([is_skewed(rng.exponential(size=20)) for _ in range(300)]) > 0.6
    assert not is_skewed([0.0, 0.0, 0.0, 9.0]), "four values cannot show it"
    assert is_skewed([0.0, 0.1, -0.1, 0.05, 9.0])
