import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from bfc_bench.analysis.intervals import t_drop
from bfc_bench.analysis.tobit import Tobit, profile_interval, tobit
from bfc_bench.seeds import stream


def data(name, size=80):
    rng = stream("test", "tobit", name)
    x = np.column_stack([np.ones(size), rng.uniform(-1, 1, size)])
    y = x @ [1.0, 2.0] + 0.5 * rng.standard_normal(size)
    return x, y


def mixed(name):
    """Exact, left-, right- and interval-censored values."""
    x, y = data(name)
    lower, upper = y.copy(), y.copy()
    upper[y > 2.0], lower[y > 2.0] = np.inf, 2.0
    lower[y < 0.0], upper[y < 0.0] = -np.inf, 0.0
    between = (y > 0.5) & (y < 1.0)
    lower[between], upper[between] = 0.5, 1.0
    kinds = (lower == upper, np.isinf(lower), np.isinf(upper), between)
    assert all(kind.sum() >= 3 for kind in kinds)
    return x, lower, upper


def brute_loglik(parameters, x, lower, upper):
    """From the normal distribution function, in (beta, log sigma)."""
    mean, sigma = x @ parameters[:-1], np.exp(parameters[-1])
    exact = lower == upper
    density = stats.norm.logpdf(lower[exact], mean[exact], sigma)
    mass = np.diff(stats.norm.cdf([lower[~exact], upper[~exact]], mean[~exact], sigma), axis=0)
    return density.sum() + np.log(mass).sum()


def test_censored_fit_agrees_with_a_brute_force_maximum():
    x, lower, upper = mixed("brute")
    fit = tobit(x, lower, upper)
    best = minimize(lambda p: -brute_loglik(p, x, lower, upper), [0, 0, 0], method="Nelder-Mead", tol=1e-10)
    assert fit.loglik == pytest.approx(-best.fun, abs=1e-8)
    assert [*fit.beta, np.log(fit.sigma)] == pytest.approx(best.x, abs=1e-4)
    assert tobit(x, lower, upper, 0.99 * fit.sigma).sigma == pytest.approx(fit.sigma), "a limit below it does not act"
    assert fit.loglik == pytest.approx(brute_loglik([*fit.beta, np.log(fit.sigma)], x, lower, upper), abs=1e-9)


def test_standard_errors_are_those_of_the_numerical_information():
    x, lower, upper = mixed("information")
    fit = tobit(x, lower, upper)
    at, h = np.array([*fit.beta, np.log(fit.sigma)]), 1e-4

    def curvature(a, b):
        values = [s * t * brute_loglik(at + s * a + t * b, x, lower, upper) for s in (1, -1) for t in (1, -1)]
        return sum(values) / (4 * h * h)

    information = np.array([[-curvature(a, b) for b in h * np.eye(3)] for a in h * np.eye(3)])
    np.testing.assert_allclose(fit.errors, np.sqrt(np.diag(np.linalg.inv(information))[:2]), rtol=1e-4)


def test_narrow_intervals_are_exact_values_and_wide_ones_are_nothing():
    x, y = data("limits")
    exact = tobit(x, y, y)
    half = np.arange(len(y)) % 2 == 0
    narrow = tobit(x, np.where(half, y, y - 1e-4), np.where(half, y, y + 1e-4))
    assert narrow.beta == pytest.approx(exact.beta, abs=1e-5)
    wide = tobit(x, np.where(half, y, y - 100), np.where(half, y, y + 100))
    assert wide.beta == pytest.approx(tobit(x[half], y[half], y[half]).beta)


@pytest.mark.parametrize("bound", [10.0, 100.0])
def test_bounds_far_in_the_tail_keep_the_fit_finite(bound):
    """One right-censored value many sigmas above the others, where Phi underflows."""
    x, y = data("tail")
    lower, upper = np.r_[y, bound], np.r_[y, np.inf]
    fit = tobit(np.vstack([x, [1.0, 0.0]]), lower, upper)
    assert np.isfinite(fit.errors).all()
    assert fit.sigma > 0.5
    alone = tobit(x, y, y)
    assert fit.beta[0] > alone.beta[0], "a value of which only a lower bound is known raises the mean"
    assert fit.sigma > alone.sigma


def test_a_profile_interval_of_exact_values_is_students():
    x, y = data("profile", size=12)
    for column in (0, 1):
        lo, hi = profile_interval(tobit(x, y, y), x, y, y, column, t_drop(12, 2))
        beta, (rss,), *_ = np.linalg.lstsq(x, y, rcond=None)
        half = stats.t.ppf(0.975, 10) * np.sqrt(rss / 10 * np.linalg.inv(x.T @ x)[column, column])
        assert (lo, hi) == pytest.approx((beta[column] - half, beta[column] + half), abs=0.01 * half)


def test_a_profile_interval_of_censored_values_ends_where_the_likelihood_has_fallen():
    x, lower, upper = mixed("profile")
    fit = tobit(x, lower, upper)
    lo, hi = profile_interval(fit, x, lower, upper, 1, 2.0)
    for value in (lo, hi):
        found = minimize(lambda p, b=value: -brute_loglik([p[0], b, p[1]], x, lower, upper), [0, 0], tol=1e-10)
        assert fit.loglik + found.fun == pytest.approx(2.0, abs=0.03)


@pytest.mark.parametrize("rounding", [0.0, 1e-20])
def test_a_flat_likelihood_has_no_standard_errors(rounding):
    flat = Tobit(np.ones(1), 1.0, 0.0, np.diag([-1.0, rounding]))
    assert np.isnan(flat.errors).all()


def test_a_flat_likelihood_leaves_the_whole_range_open():
    """All values in one range: any mean in it fits without error, one far out does not."""

    def interval(count):
        values = np.ones((count, 1)), np.full(count, 1.0), np.full(count, 2.0)
        return profile_interval(tobit(*values, 0.01), *values, 0, t_drop(count, 1), 0.01)

    assert interval(10) == (pytest.approx(1, abs=0.03), pytest.approx(2, abs=0.03))
    lo, hi = interval(3)
    assert -1 < lo < 1
    assert 2 < hi < 4


@pytest.mark.parametrize("least", [0.02, 0.1, 0.2])
@pytest.mark.parametrize("width", [0.5, 1.0])
def test_the_sigma_of_ranges_about_a_line_is_its_lower_limit(width, least):
    """Without noise the likelihood rises as sigma falls."""
    x, _ = data("limited")
    lower = np.floor(x @ [1.0, 2.0] / width) * width
    fit = tobit(x, lower, lower + width, least)
    assert fit.sigma == pytest.approx(least, rel=1e-9)
    assert fit.loglik == pytest.approx(brute_loglik([*fit.beta, np.log(least)], x, lower, lower + width))
    assert fit.beta == pytest.approx([1.0, 2.0], abs=0.15)


def test_no_maximum_is_an_error():
    x = np.column_stack([np.ones(4), np.arange(4.0)])
    line = x @ [1.0, 2.0]
    with pytest.raises(np.linalg.LinAlgError):
        tobit(x, line, line)
