import math

import pytest
from scipy import stats

from bfc_bench.analysis.intervals import Interval, clopper_pearson, holm, range_interval, share_interval, t_interval
from bfc_bench.seeds import stream


def test_t_interval_is_scipys():
    x = stream("test", "t_interval").standard_normal(7)
    interval = t_interval(x)
    expected = stats.ttest_1samp(x, 0).confidence_interval(0.95)
    assert (interval.lo, interval.hi) == pytest.approx((expected.low, expected.high))
    assert interval.mean == pytest.approx(x.mean())
    assert interval.count == 7


def test_narrow_ranges_are_values_and_wide_ones_widen():
    x = stream("test", "range_interval").standard_normal(6)
    exact = t_interval(x)
    assert range_interval(tuple(x), tuple(x)) == exact
    narrow, wide = (range_interval(tuple(x - half), tuple(x + half)) for half in (1e-3, 2))
    assert (narrow.mean, narrow.lo, narrow.hi) == pytest.approx((exact.mean, exact.lo, exact.hi), abs=0.02)
    assert wide.lo < exact.lo
    assert wide.hi > exact.hi


def test_replicates_in_one_range_give_that_range_at_least():
    for count in (2, 3, 5, 10):
        found = range_interval((1.0,) * count, (2.0,) * count)
        assert found.mean == pytest.approx(1.5)
        assert found.lo <= 1.03
        assert found.hi >= 1.97


def test_one_value_has_no_bounds_and_none_has_no_mean():
    one = t_interval([3.0])
    assert one.mean == pytest.approx(3)
    assert math.isnan(one.lo)
    assert math.isnan(one.hi)
    assert str(one) == "3"
    assert math.isnan(t_interval([]).mean)


def test_missing_values_are_left_out():
    assert t_interval([1.0, math.nan, 4.0]) == t_interval([1.0, 4.0])


@pytest.mark.parametrize(("k", "r"), [(0, 5), (5, 5), (3, 10), (39, 40)])
def test_clopper_pearson_is_scipys(k, r):
    expected = stats.binomtest(k, r).proportion_ci(0.95, "exact")
    found = clopper_pearson(k, r)
    assert (found.lo, found.hi, found.count) == (pytest.approx(expected.low), pytest.approx(expected.high), r)
    assert math.isnan(clopper_pearson(0, 0).mean)


def test_the_interval_of_one_share_is_that_of_its_points():
    found, expected = share_interval([0.05], 200, 200), clopper_pearson(10, 200)
    assert (found.lo, found.hi) == pytest.approx((expected.lo, expected.hi), rel=1e-9)


def test_no_wrong_point_leaves_what_so_many_points_leave():
    found = share_interval([0.0, 0.0, 0.0], 50, 50)
    assert (found.mean, found.lo) == (0, 0)
    assert found.hi == pytest.approx(1 - 0.025 ** (1 / 50))


def test_replicates_that_agree_cannot_tell_more_than_their_test_points():
    """However many replicates make the same 20 mistakes on 200 points, it is 20 of 200."""
    found, expected = share_interval([0.1] * 50, 200, 200), clopper_pearson(20, 200)
    assert (found.lo, found.hi) == pytest.approx((expected.lo, expected.hi), rel=0.05)


@pytest.mark.parametrize("shares", [[0.1, 0.12, 0.13, 0.09, 0.11], [0.1, 0.1001]])
def test_with_many_test_points_replicates_alone_count(shares):
    found, expected = share_interval(shares, 1e9, 1e9), t_interval(shares)
    assert found.mean == expected.mean
    assert (found.hi - found.lo) == pytest.approx(expected.hi - expected.lo, rel=0.1)
    assert found.lo < found.mean < found.hi


def test_the_interval_of_few_points_is_korn_and_graubards():
    """Their number of independent points, n* = p (1 - p) / v (t_{n-1} / t_df)^2, in Clopper and Pearson's interval."""
    shares, points = [0.1, 0.4, 0.4], 10
    found, p = share_interval(shares, points, 30), 0.3
    between = 0.03 / 3
    v = between + 2 / 3 * p * (1 - p) / 30
    df = 2 * (v / between) ** 2
    n = p * (1 - p) / v * (stats.t.ppf(0.975, 29) / stats.t.ppf(0.975, df)) ** 2
    assert 1 < n < 30
    assert found.lo == pytest.approx(stats.beta.ppf(0.025, p * n, n - p * n + 1))
    assert found.hi == pytest.approx(stats.beta.ppf(0.975, p * n + 1, n - p * n))


def test_an_interval_of_a_logarithm_may_end_beyond_the_largest_float():
    assert Interval(0.0, -800.0, 800.0, 3).exp() == Interval(1.0, 0.0, math.inf, 3)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, math.nan])[:3] == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert math.isnan(holm([math.nan])[0])
