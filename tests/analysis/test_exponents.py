import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from synthetic import n_star

from bfc_bench.analysis import exponents
from bfc_bench.analysis.exponents import compare_exponents, fit_exponent
from bfc_bench.analysis.thresholds import NStar
from bfc_bench.seeds import stream

DIMS = (8, 12, 16, 24)


def power_law(name, *, exponent=2.0, offset=1.0, sd=0.2, replicates=5, dims=DIMS, bent=0.0):
    rng = stream("test", "exponents", name)
    centre = {d: offset + exponent * math.log(d) + bent * math.log(d) ** 2 for d in dims}
    return {d: [n_star(r, math.exp(centre[d] + sd * rng.standard_normal())) for r in range(replicates)] for d in dims}


def censor(points, bound):
    """Right-censor at ``bound`` what lies beyond it."""
    return {d: [c if c.n <= bound else n_star(c.replicate, bound, "right") for c in at] for d, at in points.items()}


def where(method, **options):
    """The first synthetic experiment that is fitted by this method."""
    return next(p for p in (power_law(i, **options) for i in range(100)) if fit_exponent(p).method == method)


def columns(points):
    return np.array([(math.log(d), math.log(c.n)) for d, at in points.items() for c in at]).T


def test_without_censoring_it_is_ordinary_least_squares():
    points = where("joint Tobit")
    fit, ols = fit_exponent(points), stats.linregress(*columns(points))
    half = stats.t.ppf(0.975, 4 * 5 - 2) * ols.stderr
    assert (fit.value, fit.lo, fit.hi) == pytest.approx((ols.slope, ols.slope - half, ols.slope + half))
    assert (fit.uncensored, fit.censored, fit.replicates, fit.dims) == (20, 0, 5, DIMS)


def test_lack_of_fit_is_that_of_the_analysis_of_variance():
    points = power_law("anova")
    _, y = columns(points)
    within = sum(np.var([math.log(c.n) for c in at]) * len(at) for at in points.values()) / len(y)
    means = [np.mean([math.log(c.n) for c in at]) for at in points.values()]
    line = stats.linregress(np.log(DIMS), means)
    rss = np.sum((means - line.intercept - line.slope * np.log(DIMS)) ** 2)
    expected = stats.f.sf(rss / 2 / (within / 5), 2, 20 - 4)
    assert fit_exponent(points).lack_of_fit_p == pytest.approx(expected)


@pytest.mark.parametrize("bound", [math.inf, 2000.0])
def test_beside_a_power_of_d_it_is_the_same(bound):
    points = censor(power_law("beside"), bound)
    plain, found = fit_exponent(points), fit_exponent(points, expected={d: 0.3 * d**2.7 for d in DIMS})
    same(found, plain)
    assert (found.intercept, found.degrees) == pytest.approx((plain.intercept, plain.degrees), rel=1e-4)
    assert (found.dims, found.censored) == (plain.dims, plain.censored)


def test_how_the_expected_law_bends_is_no_lack_of_fit():
    points = power_law("bent", bent=0.5, sd=0.02)
    expected = {d: math.exp(0.5 * math.log(d) ** 2) for d in DIMS}
    plain, found = fit_exponent(points), fit_exponent(points, expected=expected)
    assert plain.lack_of_fit_p < 0.01 < found.lack_of_fit_p
    assert found.value == pytest.approx(plain.value)  # as many replicates at each d
    assert found.hi - found.lo < (plain.hi - plain.lo) / 5
    slope = np.polyfit(np.log(DIMS), [math.log(expected[d]) for d in DIMS], 1)[0]
    assert found.lo < 2 + slope < found.hi


def test_dimensions_at_which_nothing_is_expected_are_left_out():
    points = power_law("some")
    expected = {8: 5.0, 12: math.inf, 16: math.nan, 24: 100.0, 32: 1e3}
    assert fit_exponent(points, expected=expected).dims == (8, 24)
    assert fit_exponent(points, expected={8: 5.0}).refused
    assert fit_exponent(points, expected={32: 1e3}).refused
    assert fit_exponent(points, expected={}) == fit_exponent(points), "no law is expected"


def test_scatter_between_dimensions_sets_the_interval_where_the_law_does_not_fit():
    points = power_law("scatter", sd=0.01)
    points[12] = [n_star(c.replicate, 1.3 * c.n) for c in points[12]]
    fit = fit_exponent(points)
    means = [np.mean([math.log(c.n) for c in at]) for at in points.values()]
    line = stats.linregress(np.log(DIMS), means)
    half = stats.t.ppf(0.975, 2) * line.stderr
    assert fit.method == "least squares on the means per d"
    assert fit.lack_of_fit_p < 0.01
    assert (fit.value, fit.hi - fit.lo) == pytest.approx((line.slope, 2 * half))


def test_the_interval_is_never_narrower_than_that_of_the_joint_fit():
    binding = 0
    for i in range(60):
        points = power_law(("narrow", i), dims=range(8, 28, 2), replicates=2)
        fit, ols = fit_exponent(points), stats.linregress(*columns(points))
        joint = 2 * stats.t.ppf(0.975, 18) * ols.stderr
        assert fit.hi - fit.lo >= joint * (1 - 1e-9)
        binding += fit.method != "joint Tobit" and fit.hi - fit.lo == pytest.approx(joint)
    assert binding > 0


def same(a, b):
    assert (a.value, a.lo, a.hi) == pytest.approx((b.value, b.lo, b.hi), abs=1e-6)
    assert a.method == b.method
    assert (a.lack_of_fit_p, a.curvature_p) == pytest.approx((b.lack_of_fit_p, b.curvature_p), abs=1e-5)


@pytest.mark.parametrize("name", range(3))
def test_units_of_n_and_d_labels_and_order_of_replicates_do_not_matter(name):
    points = censor(power_law(name), 1500)
    fit = fit_exponent(points)
    assert fit.censored > 0
    same(fit_exponent({d: [n_star(c.replicate, 7 * c.n, c.censored) for c in at] for d, at in points.items()}), fit)
    same(fit_exponent({10 * d: at for d, at in points.items()}), fit)
    same(fit_exponent({d: [n_star(99 - c.replicate, c.n, c.censored) for c in at] for d, at in points.items()}), fit)
    same(fit_exponent({d: points[d][::-1] for d in reversed(DIMS)}), fit)


def test_mirrored_censoring_mirrors_the_exponent():
    """1/N turns right- into left-censoring and s into -s."""
    points = censor(power_law("mirror"), 1500)
    flip = {None: None, "right": "left"}
    mirrored = fit_exponent({d: [n_star(c.replicate, 1 / c.n, flip[c.censored]) for c in p] for d, p in points.items()})
    fit = fit_exponent(points)
    assert (mirrored.value, mirrored.lo, mirrored.hi) == pytest.approx((-fit.value, -fit.hi, -fit.lo), abs=1e-6)


def test_censored_values_inform_the_fit():
    """Bounds far below N* say next to nothing, bounds just below it much: neither is dropped or taken as a value."""
    points = where("joint Tobit", replicates=10)
    last = points[24]
    dropped = fit_exponent({**points, 24: last[:5]})
    loose, tight = (
        fit_exponent({**points, 24: last[:5] + [n_star(c.replicate, c.n * factor, "right") for c in last[5:]]})
        for factor in (0.05, 1.5)
    )
    assert loose.value == pytest.approx(dropped.value, abs=0.01)
    assert tight.value > dropped.value + 0.1
    assert (loose.uncensored, loose.censored) == (35, 5)


def test_a_dimension_never_reached_still_raises_the_exponent():
    points = where("joint Tobit")
    beyond = {**points, 32: [n_star(r, math.exp(1 + 2 * math.log(32) + 1.0), "right") for r in range(5)]}
    fit = fit_exponent(beyond)
    assert fit.value > fit_exponent(points).value
    assert fit.dims == DIMS


def test_curvature_is_that_of_a_quadratic_regression():
    points = power_law("curvature", bent=0.3)
    x, y = columns(points)
    design = np.column_stack([np.ones_like(x), x, x**2])
    beta, (rss,), *_ = np.linalg.lstsq(design, y, rcond=None)
    error = math.sqrt(rss / 17 * np.linalg.inv(design.T @ design)[2, 2])
    fit = fit_exponent(points)
    assert fit.curvature_p == pytest.approx(2 * stats.t.sf(abs(beta[2]) / error, 17), rel=1e-4)
    quantiles = stats.t.ppf(0.975, 17) + stats.t.ppf(0.8, 17)
    assert fit.detectable == pytest.approx(2 * math.log(3) * quantiles * error, rel=1e-4)


def test_the_detectable_change_of_slope_is_detected_with_the_power_it_states():
    """At a bend of the average detectable size about 80 % of 200 experiments have p < .05 (Monte Carlo error 3 %)."""
    size = np.mean([fit_exponent(power_law(("plain", i))).detectable for i in range(50)])
    bent = size / (2 * math.log(3))
    found = [fit_exponent(power_law(("bent", i), bent=bent)).curvature_p < 0.05 for i in range(200)]
    assert 0.68 < np.mean(found) < 0.92


@pytest.mark.parametrize(("dims", "note"), [(DIMS, ""), (DIMS[:3], "exact power law"), (DIMS[:2], "exact power law")])
def test_three_dimensions_or_fewer_are_labelled(dims, note):
    fit = fit_exponent(power_law("label", dims=dims))
    assert not fit.refused
    assert note in fit.note
    assert bool(fit.note) == bool(note)
    assert math.isnan(fit.curvature_p) == (len(dims) == 2)


@pytest.mark.parametrize("detectable", [11.0, 3e12, math.nan])
def test_what_no_law_could_show_is_said_to_be_undetectable(detectable):
    fit = replace(fit_exponent(censor(power_law("text"), 1500)), detectable=detectable)
    assert fit.curvature.endswith("detectable change of slope: none below 10")


def bounds_only(at):
    return [n_star(c.replicate, c.n, "right") for c in at]


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        ({}, "2 dimensions or more, and is at 0"),
        (power_law(0, dims=(8,)), "2 dimensions or more, and is at 1"),
        ({8: power_law(0)[8], 12: bounds_only(power_law(0)[12])}, "2 dimensions or more, and is at 1"),
        (power_law(0, replicates=1), "beyond one per dimension, and there are 0"),
        ({**power_law(0, replicates=1), 8: power_law(0, replicates=2)[8]}, "beyond one per dimension, and there are 1"),
        (power_law(0, sd=0.0), "zero variance"),
    ],
)
def test_refusals_say_why(points, reason):
    fit = fit_exponent(points)
    assert reason in fit.refused
    assert math.isnan(fit.value)
    assert math.isnan(fit.lo)


def test_two_spare_replicates_are_enough():
    assert not fit_exponent(power_law(0, replicates=2, dims=(8, 12))).refused


@pytest.mark.parametrize("seed", range(40))
def test_any_pattern_of_censoring_is_fitted_or_refused(seed):
    rng = stream("test", "exponents", "patterns", seed)
    points = {
        d: [
            n_star(
                r, math.exp(2 * math.log(d) + 0.3 * rng.standard_normal()), rng.choice([None, None, "left", "right"])
            )
            for r in range(rng.integers(1, 6))
        ]
        for d in (8, 12, 16, 24, 32)[: rng.integers(1, 6)]
    }
    fit = fit_exponent(points)
    assert bool(fit.refused) == math.isnan(fit.value)
    if not fit.refused:
        assert fit.lo <= fit.value <= fit.hi
        assert fit.hi - fit.lo < math.inf


def paired(name, exponent_a, exponent_b, shared):
    """Two learners whose replicates share ``shared`` of the standard deviation .25 of log N*."""
    rng = stream("test", "paired exponents", name)
    a, b = {}, {}
    for d in DIMS:
        common = shared * rng.standard_normal(5)
        for points, exponent in ((a, exponent_a), (b, exponent_b)):
            own = math.sqrt(0.25**2 - shared**2) * rng.standard_normal(5)
            points[d] = [n_star(r, math.exp(exponent * math.log(d) + common[r] + own[r])) for r in range(5)]
    return a, b


def test_the_difference_of_exponents_is_signed_and_antisymmetric():
    a, b = paired("sign", 2.0, 4.0, 0.2)
    fit, back = compare_exponents(a, b), compare_exponents(b, a)
    assert fit.lo > 0
    assert (back.value, back.lo, back.hi) == pytest.approx((-fit.value, -fit.hi, -fit.lo))


def test_pairing_is_by_replicate_not_by_position():
    a, b = paired("position", 2.0, 2.3, 0.24)
    shuffled = {d: at[::-1] for d, at in b.items()}
    same(compare_exponents(a, shuffled), compare_exponents(a, b))


def test_pairing_sees_what_two_intervals_do_not():
    """Of 40 experiments, s_B - s_A = .3: paired intervals exclude 0, intervals side by side overlap."""
    pairs = [paired(i, 2.0, 2.3, 0.24) for i in range(40)]
    seen = np.mean([compare_exponents(a, b).lo > 0 for a, b in pairs])
    apart = np.mean([fit_exponent(a).hi < fit_exponent(b).lo for a, b in pairs])
    assert seen > 0.7
    assert apart < 0.3


def test_a_ratio_is_censored_as_its_pair_is():
    def at(n, censored):
        return n_star(0, n, censored)

    pairs = (paired(i, 2.0, 2.0, 0.2) for i in range(100))
    rest_a, rest_b = next(pair for pair in pairs if compare_exponents(*pair).method == "joint Tobit")

    def fit(a, b):
        return compare_exponents({**rest_a, 32: [at(1000, a)]}, {**rest_b, 32: [at(1000, b)]})

    exact, raised, lowered, unknown = fit(None, None), fit(None, "right"), fit("right", None), fit("right", "right")
    assert exact.uncensored == 21
    counts = [(other.uncensored, other.censored) for other in (raised, lowered, unknown)]
    assert counts == [(20, 1), (20, 1), (20, 0)]  # two bounds on the same side say nothing of the ratio
    assert lowered.value <= unknown.value <= raised.value
    assert lowered.value < raised.value
    assert fit("left", None).value == pytest.approx(raised.value)  # N_A smaller than its bound: the ratio is larger


def test_a_regression_that_finds_no_maximum_gives_no_exponent_and_says_why(monkeypatch):
    def tobit(*_):
        raise np.linalg.LinAlgError("no maximum in 200 steps")

    monkeypatch.setattr(exponents, "tobit", tobit)
    found = fit_exponent(power_law("no maximum"))
    assert found.refused == "no maximum in 200 steps"
    assert math.isnan(found.value)
    assert found.dims == DIMS


def test_ranges_leave_every_line_through_them_possible():
    """N* = d^2 between sizes a factor 2 apart: the slopes of all lines through these ranges fit without error."""
    dims = (8, 16, 32, 64)
    points = {d: [NStar(r, d**2 / math.sqrt(2), d**2 * math.sqrt(2)) for r in range(3)] for d in dims}
    fit = fit_exponent(points)
    steepest = 2 + math.log(2) / math.log(64 / 8)
    assert not fit.refused
    assert fit.value == pytest.approx(2)
    assert fit.hi > steepest - 0.02
    assert fit.lo < 4 - steepest + 0.02
    assert (fit.uncensored, fit.censored) == (12, 0)
