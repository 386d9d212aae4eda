import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import least_squares

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.power_law import HUBER, curve_fits, fit_power_laws
from bfc_bench.seeds import stream

sys.path.append(str(Path(__file__).parents[2]))  # last, so that the installed bfc_bench stays the one that is tested

from benchmarks import coverage as coverages

N = np.array([50, 100, 200, 400, 800, 1600, 3200])


def curve(*lines, n=N, metric="nmse"):
    return Curve("t", 10, "a", "a", metric, n, tuple(range(len(lines))), np.array(lines, dtype=float))


def fit_power_law(n, error):
    return fit_power_laws(n, error[None])[0]


@pytest.mark.parametrize("exponent", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("floor", [0.0, 1e-3, 0.05])
def test_an_exact_law_is_found(exponent, floor):
    fit = fit_power_law(N, floor + 2.0 * (N / 50.0) ** -exponent)
    assert fit.exponent == pytest.approx(exponent, rel=1e-3)
    assert fit.floor == pytest.approx(floor, rel=1e-2)
    assert fit.scale == pytest.approx(2.0 * 50.0**exponent, rel=1e-2)
    assert fit(N) == pytest.approx(floor + 2.0 * (N / 50.0) ** -exponent, rel=1e-3)


def test_units_of_n_and_of_the_error_do_not_matter():
    rng = stream("test", "power law", "units")
    error = (0.02 + (N / 50.0) ** -1.2) * np.exp(0.05 * rng.standard_normal(len(N)))
    fit, scaled = fit_power_law(N, error), fit_power_law(10 * N, 7 * error)
    assert scaled.exponent == pytest.approx(fit.exponent, abs=1e-4)
    assert scaled.floor == pytest.approx(7 * fit.floor, rel=1e-3)


@pytest.mark.parametrize("factor", [20.0, 1 / 20])
@pytest.mark.parametrize("bad", range(7))
def test_one_bad_size_does_not_bend_the_fit(bad, factor):
    error = 2.0 * (N / 50.0) ** -1.0
    error[bad] *= factor
    fit = fit_power_law(N, error)
    squares = -np.polyfit(np.log(N), np.log(error), 1)[0]
    assert fit.exponent == pytest.approx(1, abs=0.05)
    assert fit.floor == 0
    assert fit(N)[3] == pytest.approx(2.0 * 50 / N[3], rel=0.1)
    if bad != 3:  # the middle one, about which a line of least squares does not turn
        assert abs(squares - 1) > 0.1


def test_it_finds_the_minimum_that_scipy_finds():
    """The same Huber loss minimised by ``scipy.optimize.least_squares`` from the true parameters."""
    rng = stream("test", "power law", "scipy")
    for floor in (0.01, 0.05):
        error = (floor + (N / 50.0) ** -1.2) * np.exp(0.02 * rng.standard_normal(len(N)))

        def residuals(p, error=error):
            return np.log(np.exp(p[0] - p[1] * np.log(N / 50.0)) + np.exp(p[2])) - np.log(error)

        best = least_squares(
            residuals, [0.0, 1.2, math.log(floor)], loss="huber", f_scale=HUBER, xtol=1e-14, ftol=1e-14
        )
        fit = fit_power_law(N, error)
        assert fit.exponent == pytest.approx(best.x[1], rel=1e-6)
        assert fit.floor == pytest.approx(math.exp(best.x[2]), rel=1e-6)
        assert fit.loss == pytest.approx(best.cost / len(N), rel=1e-9)


def test_a_floor_is_not_seen_in_noise():
    rng = stream("test", "power law", "noise")
    lines = (N / 50.0) ** -1.0 * np.exp(0.1 * rng.standard_normal((100, len(N))))
    assert np.mean([fit_power_law(N, line).floor > 0 for line in lines]) < 0.1


def test_replicates_fitted_together_have_the_fits_that_each_has_alone():
    rng = stream("test", "power law", "together")
    lines = (0.01 + (N / 50.0) ** -1.2) * np.exp(0.2 * rng.standard_normal((20, len(N))))
    lines[rng.random(lines.shape) < 0.15] = math.nan
    together = fit_power_laws(N, lines)
    assert together == [fit_power_law(N, line) for line in lines]
    assert 0 < together.count(None) < len(lines)


def test_too_few_sizes_give_no_fit():
    error = (N / 50.0) ** -1.0
    gaps = np.where(np.arange(len(N)) < 4, error, math.nan)
    assert fit_power_law(N, gaps) is None
    assert curve_fits([curve(gaps)]) == []
    assert curve_fits([curve(error, metric="part_errors.degree2")]) == []


def test_fits_are_flat_records_with_intervals_over_replicates():
    exponents = (0.9, 1.0, 1.1)
    (found,) = curve_fits([curve(*[0.01 + (N / 50.0) ** -b for b in exponents])])
    record = found.as_dict()
    half = 4.3027 * 0.1 / math.sqrt(3)
    assert (record["exponent"], record["hi"]) == pytest.approx((1.0, 1.0 + half), abs=2e-3)
    assert (record["floor"], record["with_floor"], record["replicates"]) == (pytest.approx(0.01, rel=0.02), 3, 3)
    assert (record["n_first"], record["n_last"], record["label"]) == (50, 3200, "a")


@pytest.mark.parametrize("floor", [0.0, 0.02])
def test_exponents_of_fits_are_covered(floor):
    """80 experiments: Monte Carlo error 2.4 points."""
    coverage = coverages.power_law_coverage(5, 80, floor, 2.0)
    assert coverage.share > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 80)
    assert abs(coverage.bias) < 0.03
