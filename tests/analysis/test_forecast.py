"""Forecasts beyond the tested sizes: what must hold of any curve. Their coverage is measured on real tables."""

import math

import numpy as np
import pytest

import bfc_bench as bb
from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.forecast import RULES, forecast
from bfc_bench.analysis.intervals import NOTHING

N = np.array([50, 100, 200, 400])
SPREAD = np.array([-0.1, 0.0, 0.1])
"""Of the logarithms of three replicates."""


def curve(means, spread=SPREAD, n=N, metric="nmse", **fields):
    values = np.asarray(means) * np.exp(np.asarray(spread)[:, None])
    return Curve("t", 8, "a", metric, n, tuple(range(len(values))), values, **fields)


def power(exponent, n=N):
    return 0.3 * (n / n[-1]) ** -exponent


@pytest.mark.parametrize("times", RULES)
def test_a_flat_or_rising_curve_stays_where_it_is(times):
    for means in (power(0.0), power(-0.5)):
        found = forecast(curve(means), 400, times)
        assert found.mean == pytest.approx(0.3)
        assert 0 < found.lo < 0.3 < found.hi
        assert found.count == 3


@pytest.mark.parametrize("times", RULES)
@pytest.mark.parametrize("exponent", [0.1, 0.5, 2.0])
def test_a_power_law_goes_on_with_a_share_of_its_slope(exponent, times):
    found = forecast(curve(power(exponent)), 400, times)
    assert found.mean == pytest.approx(0.3 * times ** (-exponent * RULES[times].share))
    assert 0.3 * times**-exponent < found.mean < 0.3


def test_only_the_last_factor_4_counts_and_sizes_may_be_rounded():
    bent = np.array([0.9, *power(0.5)[1:]])
    assert forecast(curve(bent), 400) == forecast(curve(power(0.5)), 400)
    n = np.array([41, 83, 166])
    assert forecast(curve(power(0.5, n), n=n), 166).mean == pytest.approx(0.3 * 2 ** (-0.5 * RULES[2].share))


def test_sizes_beyond_n_do_not_count():
    more = np.append(power(0.5), 1e-3)
    assert forecast(curve(more, n=np.append(N, 800)), 400) == forecast(curve(power(0.5)), 400)


def test_more_noise_steeper_curves_and_more_rows_widen():
    def width(exponent, spread, times):
        found = forecast(curve(power(exponent), spread), 400, times)
        return math.log(found.hi / found.lo)

    by_noise = [width(0.5, factor * SPREAD, 2) for factor in (0, 1, 3)]
    by_slope = [width(exponent, SPREAD, 2) for exponent in (0.0, 0.3, 1.0)]
    by_rows = [width(0.5, SPREAD, times) for times in sorted(RULES)]
    for widths in (by_noise, by_slope, by_rows):
        assert widths == sorted(set(widths))
        assert widths[0] > 0


def test_more_replicates_of_one_spread_narrow():
    few, many = (forecast(curve(power(0.5), np.tile([-0.1, 0.1], k)), 400) for k in (2, 10))
    assert many.hi / many.lo < few.hi / few.lo


def test_the_unit_of_errors_does_not_matter():
    one, other = (forecast(curve(factor * power(0.5)), 400) for factor in (1, 100))
    assert [100 * x for x in (one.mean, one.lo, one.hi)] == pytest.approx([other.mean, other.lo, other.hi])


def test_error_rates_on_data_go_on_from_the_mean_that_the_answer_shows():
    rates = curve(power(0.0), metric="error_rate", test_points=100, test_pool=400)
    assert forecast(rates, 400).mean == pytest.approx(rates.values[:, -1].mean())


def test_there_is_nothing_without_a_second_size_a_second_replicate_or_an_error():
    assert forecast(curve(power(0.5)), 50) == NOTHING
    assert forecast(curve(power(0.5), [0.0]), 400) == NOTHING
    assert forecast(curve([0.3], n=N[:1]), 50) == NOTHING
    counted = {"metric": "error_rate", "test_points": 100, "test_pool": 400}
    assert forecast(curve([0.3, 0.2, 0.1, 0.0], **counted), 400) == NOTHING
    assert forecast(curve(power(0.5)), 800) == NOTHING


def test_metrics_that_may_be_negative_are_refused():
    with pytest.raises(bb.UsageError, match="may be negative"):
        forecast(curve(power(0.5), metric="part_errors.S2"), 400)
