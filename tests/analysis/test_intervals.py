import math

import numpy as np
import pytest
from scipy import stats

from bfc_bench.analysis.intervals import geometric_mean, range_interval, t_interval
from bfc_bench.seeds import stream


def test_t_interval_is_scipys():
    x = stream("test", "t_interval").standard_normal(7)
    interval = t_interval(x)
    expected = stats.ttest_1samp(x, 0).confidence_interval(0.95)
    assert (interval.lo, interval.hi) == pytest.approx((expected.low, expected.high))
    assert interval.mean == pytest.approx(x.mean())
    assert interval.count == 7


def test_two_values_by_hand():
    interval = geometric_mean([1.0, math.e**2])
    assert interval.mean == pytest.approx(math.e)
    assert interval.hi == pytest.approx(math.exp(1 + 12.7062047), rel=1e-6)  # t_.975(1) * sqrt(2) / sqrt(2)


def test_geometric_mean_follows_units_and_inversion():
    x = np.exp(stream("test", "geometric_mean").standard_normal(5))
    interval, scaled, inverted = geometric_mean(x), geometric_mean(10 * x), geometric_mean(1 / x)
    assert (scaled.mean, scaled.lo, scaled.hi) == pytest.approx(
        (10 * interval.mean, 10 * interval.lo, 10 * interval.hi)
    )
    assert (inverted.mean, inverted.lo, inverted.hi) == pytest.approx(
        (1 / interval.mean, 1 / interval.hi, 1 / interval.lo)
    )


def test_narrow_ranges_are_values_and_wide_ones_widen():
    x = stream("test", "range_interval").standard_normal(6)
    exact = t_interval(x)
    assert range_interval(x, x) == exact
    narrow, wide = range_interval(x - 1e-3, x + 1e-3), range_interval(x - 2, x + 2)
    assert (narrow.mean, narrow.lo, narrow.hi) == pytest.approx((exact.mean, exact.lo, exact.hi), abs=0.02)
    assert wide.lo < exact.lo
    assert wide.hi > exact.hi


def test_replicates_in_one_range_give_that_range_at_least():
    for count in (2, 3, 5, 10):
        found = range_interval([1.0] * count, [2.0] * count)
        assert found.mean == 1.5
        assert found.lo <= 1.03
        assert found.hi >= 1.97


def test_one_value_has_no_bounds_and_none_has_no_mean():
    one = geometric_mean([3.0])
    assert one.mean == pytest.approx(3)
    assert math.isnan(one.lo)
    assert math.isnan(one.hi)
    assert str(one) == "3"
    assert math.isnan(geometric_mean([]).mean)


def test_missing_values_are_left_out():
    assert geometric_mean([1.0, math.nan, 4.0]) == geometric_mean([1.0, 4.0])


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_values_that_have_no_logarithm_are_refused(bad):
    with pytest.raises(ValueError, match="must be positive"):
        geometric_mean([1.0, bad])
