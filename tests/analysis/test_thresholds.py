import math
from dataclasses import replace

import numpy as np
import pytest
from synthetic import n_star, n_stars

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.thresholds import crossings, threshold, thresholds
from bfc_bench.errors import UsageError
from bfc_bench.seeds import stream

N = np.array([100, 200, 400, 800, 1600])


def curve(*lines, n=N, metric="nmse"):
    return Curve("t", 10, "a", metric, np.array(n), tuple(range(len(lines))), np.array(lines, dtype=float))


def ranges(curve, level):
    return [(found.lo, found.hi) for found in crossings(curve, level)]


@pytest.mark.parametrize("star", [130.0, 400.0, 1234.5])
@pytest.mark.parametrize("power", [0.5, 3.0])
def test_a_power_law_is_crossed_exactly(star, power):
    (found,) = crossings(curve(0.1 * (N / star) ** -power), 0.1)
    assert found.censored is None
    assert found.n == pytest.approx(star)
    assert found.lo == found.hi


def test_a_curve_that_turns_back_is_pooled_in_logarithms():
    # 200 and 400 pool to sqrt(.08 * .13) = .102: the level .11 lies above it, the level .1 below.
    line = curve([1.0, 0.08, 0.13, 0.01, 0.001])
    for level, sizes in ((0.11, (100, 200)), (0.1, (400, 800))):
        (found,) = crossings(line, level)
        assert found.step == pytest.approx(sizes)


def test_one_replicate_that_drops_does_not_move_the_others():
    """It made the middles of steps of all: nine smooth ones at 106 gave 141 [100, 200] beside one sharp one."""
    smooth = [0.1 * (N / star) ** -1 for star in np.linspace(105, 107, 9)]
    alone, beside = threshold(curve(*smooth), 0.1), threshold(curve(*smooth, [0.6, 0.001, 0.001, 0.001, 0.001]), 0.1)
    assert beside.replicates[:9] == alone.replicates
    assert beside.replicates[9].step == pytest.approx((100, 200))
    assert beside.interval.mean == pytest.approx(106, rel=0.02)
    assert beside.interval.hi < 115


def test_ranges_make_the_mean_as_uncertain_as_they_are():
    """Three replicates that drop in the same step: the mean may lie anywhere in it, and was given to 0 %."""
    found = threshold(curve(*[[0.6, 0.6, error, error, error] for error in (0.001, 0.002, 0.004)]), 0.1)
    assert all((each.lo, each.hi) == each.step == pytest.approx((200, 400)) for each in found.replicates)
    assert found.interval.lo <= 200 * 1.01
    assert found.interval.hi >= 400 / 1.01
    assert found.interval.mean == pytest.approx(math.sqrt(200 * 400))


SIZES = np.array([25, 50, 100, 200, 400, 800, 1600])


def test_a_curve_that_crosses_twice_is_flagged_with_both_crossings():
    """Pooled it gave one number between them, 527, at which nothing happens."""
    line = [1.0, 0.4, 0.08, 0.6, 0.5, 0.07, 0.01]
    found = threshold(curve(line, n=SIZES), 0.1)
    assert found.ill_behaved == 1
    (crossing,) = found.replicates
    assert 50 <= crossing.n <= 100
    assert 400 <= crossing.last <= 800
    assert found.last == pytest.approx(crossing.last)
    assert found.interval.mean == pytest.approx(crossing.n)


def test_one_blow_up_at_the_last_size_does_not_move_the_first_crossing():
    smooth = 0.1 * (SIZES / 100.0) ** -2.0
    found = threshold(curve(np.r_[smooth[:-1], 30.0], smooth, n=SIZES), 0.1)
    assert [c.censored for c in found.replicates] == [None, None]
    assert found.replicates[0].n == pytest.approx(100, rel=0.5)
    assert found.replicates[0].last == math.inf
    assert (found.ill_behaved, found.last) == (1, math.inf)


def test_the_last_crossing_of_an_ill_behaved_curve_does_not_widen_the_first():
    """Its first crossing is that of a power law, and the last one lies anywhere between 200 and 400."""
    first, smooth = [0.19, 0.095, 0.0475], 0.1 * (SIZES / 300.0) ** -1.0
    for beside in ([], [smooth]):
        found = crossings(curve([*first, 0.9, 1e-3, 1e-3, 1e-3], *beside, n=SIZES), 0.1)
        assert found[0].step == pytest.approx((25, 50))
        assert found[0].n == pytest.approx(25 * 1.9)
        assert found[0].last == pytest.approx(math.sqrt(200 * 400))
    (found,) = crossings(curve([*first, 0.9, 0.15, 0.025, 0.025 / 6], n=SIZES), 0.1)
    assert found.n == pytest.approx(25 * 1.9)
    assert found.last == pytest.approx(400 * 2 ** (math.log(1.5) / math.log(6)))


def test_noise_about_the_level_is_no_second_crossing():
    rng = stream("test", "behaved")
    n = np.geomspace(25, 1600, 13)
    noisy = 0.1 * (n / 200.0) ** -1 * np.exp(0.15 * rng.standard_normal((400, 13)))
    assert sum(threshold(curve(line, n=n), 0.1).ill_behaved for line in noisy) <= 4


def test_a_rise_counts_from_three_standard_deviations_of_a_difference_of_two_errors():
    beside = np.exp(2 + 0.25 * stream("test", "rise").standard_normal((20, len(SIZES))))
    for rise, ill_behaved in ((2.5, 0), (3.5, 1)):
        up = 0.25 * math.sqrt(2) * rise / 2
        line = 0.1 * np.exp([2, 1, -up, up, -1, -2, -3])
        assert threshold(curve(*beside, line, n=SIZES), 0.1).ill_behaved == ill_behaved


DENSE = np.geomspace(20, 8000, 64)


def noisy(log_errors, purpose, replicates=5):
    """Replicates of one curve on ``DENSE`` sizes, with noise of 30 % at each."""
    return curve(*np.exp(log_errors + 0.3 * stream("test", purpose).standard_normal((replicates, 64))), n=DENSE)


def test_among_many_sizes_a_dip_of_noise_is_no_crossing():
    """Judged on single sizes, most of these curves were cut at a dip, at a tenth of N* and less."""
    flat = math.log(0.128) - 3 * np.maximum(0, np.log(DENSE / 800))
    found = threshold(noisy(flat, "dips"), 0.1)
    assert found.ill_behaved == 0
    assert found.interval.mean == pytest.approx(800 * 1.28 ** (1 / 3), rel=0.15)


def test_a_hump_of_several_sizes_is_seen_through_the_noise():
    log_x = np.log(DENSE / 200)
    hump = math.log(0.1) - log_x + 2.2 * np.exp(-(((log_x - 1.1) / 0.35) ** 2))
    found = threshold(noisy(hump, "hump"), 0.1)
    assert found.ill_behaved == 5
    assert found.interval.mean == pytest.approx(200, rel=0.3)
    assert found.last == pytest.approx(900, rel=0.2)


def test_the_noise_of_few_replicates_is_not_too_small():
    many = [noisy(np.zeros(64), f"noise {k}", replicates=3).noise for k in range(50)]
    assert np.mean(many) == pytest.approx(0.3, rel=0.05)


PART = {"metric": "part_errors.degree2"}


def test_on_a_linear_scale_the_curve_is_linear_in_the_error_and_in_log_n():
    (found,) = crossings(curve([1, -0.2], n=[100, 400], **PART), 0.1)
    assert found.n == pytest.approx(100 * 4 ** (0.9 / 1.2))


def test_on_a_linear_scale_errors_are_pooled_as_they_are():
    # 400 and 800 pool to (.12 + .2) / 2 = .16.
    line = curve([1.05, 0.6, 0.12, 0.2, -0.3], **PART)
    for level, sizes in ((0.17, (200, 400)), (0.15, (800, 1600))):
        (found,) = crossings(line, level)
        assert found.step == pytest.approx(sizes)


@pytest.mark.parametrize(("low", "options"), [(0.01, {}), (-0.1, PART)])
def test_an_error_that_is_never_or_always_above_the_level_is_censored_at_an_end_of_the_sizes(low, options):
    below, above = curve([low] * 5, **options), curve([0.3, 0.2, 0.2, 0.2, 0.2], **options)
    assert ranges(below, 0.1) == [(0, pytest.approx(100))]
    assert ranges(above, 0.1) == [(pytest.approx(1600), math.inf)]


def test_missing_sizes_are_left_out_and_replicates_without_any_dropped():
    gap = curve([1, math.nan, 0.01, 1e-3, math.nan], [math.nan] * 5, [1, 0.9, math.nan, math.nan, math.nan])
    found = crossings(gap, 0.1)
    assert [(c.replicate, c.censored) for c in found] == [(0, None), (2, "right")]
    assert found[0].n == pytest.approx(200)
    assert found[1].n == pytest.approx(200)


def test_lower_levels_are_crossed_later_and_larger_errors_too():
    rng = stream("test", "monotone crossings")
    noisy = (N / 300.0) ** -1 * np.exp(0.5 * rng.standard_normal((20, len(N))))
    levels = [2.0, 1.0, 0.5, 0.25]
    sizes = np.array([[c.step for c in crossings(curve(*noisy), level)] for level in levels])
    assert (sizes[1:] >= sizes[:-1]).all()
    worse = np.array([c.step for c in crossings(curve(*(1.3 * noisy)), 1.0)])
    assert (worse >= sizes[1]).all()
    assert (worse > sizes[1]).any()


def test_replicates_that_are_too_few_or_have_no_step_show_no_noise():
    gaps = [[1.0, math.nan, 0.1], [math.nan, 0.5, math.nan], [1.0, math.nan, 0.2]]
    assert curve(*gaps, n=np.array([10, 20, 40])).noise == 0
    assert curve([1.0, 0.5], [0.9, 0.1], n=np.array([10, 20])).noise == 0
    assert curve([1.0, 0.5], [0.9, 0.1], [1.0, 0.2], n=np.array([10, 20])).noise > 0


def test_noise_does_not_bias_the_crossing():
    """First crossings alone would come .1 early here; the Monte Carlo error of the mean is .005."""
    rng = stream("test", "unbiased crossings")
    n = np.geomspace(50, 3200, 13)
    star = 400 * 2 ** rng.uniform(-0.5, 0.5, 2000)
    noisy = 0.1 * (n / star[:, None]) ** -1 * np.exp(0.2 * rng.standard_normal((2000, 13)))
    found = np.array([c.n for c in crossings(curve(*noisy, n=n), 0.1)])
    assert abs(np.mean(np.log(found / star))) < 0.02
    first = n[np.argmax(noisy <= 0.1, axis=1)]
    assert np.abs(np.mean(np.log(found / star))) < np.abs(np.mean(np.log(first / star)))


@pytest.mark.parametrize("level", [0.0, -1.0, math.nan])
def test_a_level_that_is_not_positive_is_an_error(level):
    with pytest.raises(UsageError, match="level must be positive"):
        crossings(curve([1, 0.5, 0.2, 0.1, 0.05]), level)


def observed(log_stars, largest):
    """N* of replicates in narrow ranges, right-censored beyond the largest size."""
    found = (n_star(r, *((n, None) if n < largest else (largest, "right"))) for r, n in enumerate(np.exp(log_stars)))
    return n_stars(*(replace(of, lo=of.lo / 1.05, hi=of.hi * 1.05) if of.censored is None else of for of in found))


def test_the_worst_replicate_getting_worse_never_lowers_n_star_or_improves_its_rank():
    rng = stream("test", "worse")
    for _ in range(150):
        log_stars, largest = (
            np.log(300) + rng.standard_normal(rng.choice([3, 4, 5, 8])),
            300 * math.exp(rng.uniform(-1, 2)),
        )
        worse = log_stars + rng.exponential() * (log_stars == log_stars.max())
        before, after = observed(log_stars, largest), observed(worse, largest)
        assert after.rank >= before.rank * (1 - 1e-4)
        if before.right < len(log_stars) > after.right:
            assert after.interval.mean >= before.interval.mean * (1 - 1e-4)


def test_censored_replicates_do_not_bias_n_star():
    """1,000 experiments of 5 replicates, a quarter beyond the largest size: their median comes .2 early."""
    rng = stream("test", "censored n star")
    found = [observed(0.5 * rng.standard_normal(5), math.exp(0.34)) for _ in range(1000)]
    known = [math.log(of.interval.mean) for of in found if of.right < 5]
    assert abs(np.mean(known)) < 0.04


def test_thresholds_are_flat_records():
    curves = [curve(0.1 * (N / star) ** -1, 0.2 * (N / star) ** -1) for star in (130.0, 1000.0)]
    low, high, *_ = thresholds(curves, (0.1, 0.001))
    assert low.as_dict() == {
        "task": "t", "d": 10, "label": "a", "metric": "nmse", "level": 0.1, "replicates": 2, "censored": 0,
        "n_star": pytest.approx(low.interval.mean), "lo": pytest.approx(low.interval.lo),
        "hi": pytest.approx(low.interval.hi),
        "ill_behaved": 0, "last": pytest.approx(low.interval.mean),
    }  # fmt: skip
    record = high.as_dict()
    assert (record["level"], record["replicates"], record["censored"]) == (0.001, 2, 2)
    assert math.isnan(record["n_star"])
    assert (record["lo"], record["hi"]) == (N[-1], math.inf)  # the size itself, not exp(log n)


@pytest.mark.parametrize(
    ("found", "size", "lo", "hi"),
    [
        ([n_star(r, 50.0, "left") for r in range(3)], math.nan, 0, 50),
        ([n_star(0, 1600.0, "right"), n_star(1, 900.0, "right")], math.nan, 900, math.inf),
        ([n_star(0, 50.0, "left"), n_star(1, 900.0, "right")], math.nan, 0, math.inf),
        ([replace(n_star(0, 1), lo=200.0, hi=400.0)], math.sqrt(200 * 400), 200, 400),
        ([], math.nan, math.nan, math.nan),
    ],
)
def test_a_frame_has_the_bounds_of_sizes_that_are_not_known(found, size, lo, hi):
    record = n_stars(*found).as_dict()
    assert (record["n_star"], record["lo"], record["hi"]) == pytest.approx((size, lo, hi), nan_ok=True)


def test_replicates_that_were_tried_at_few_of_the_sizes_have_no_threshold():
    """One that was added at the largest size only would be censored there, and hide the mean of the others."""
    n = [10, 20, 40, 80]
    power = [[9.0 / size for size in n]] * 3
    alone = [[math.nan, math.nan, math.nan, 9.0 / 80]]
    tried = np.array([[True] * 4] * 3 + [[False, False, False, True]])
    added = replace(curve(*power, *alone, n=n), tried=tried)
    assert [crossing.replicate for crossing in crossings(added, 0.3)] == [0, 1, 2]
    failed = replace(added, tried=np.ones((4, 4), dtype=bool))
    assert len(crossings(failed, 0.3)) == 4, "it was tried everywhere and failed"
    begun = replace(
        curve(*power, [0.9, 0.45, 0.225, math.nan], n=n), tried=np.array([[True] * 4] * 3 + [[True] * 3 + [False]])
    )
    assert len(crossings(begun, 0.3)) == 4


def test_error_rates_of_0_are_below_levels_that_half_of_a_test_point_is_above():
    rates = np.array([[0.1, 0.0, 0.0]] * 3)
    few = Curve("t", 5, "a", "error_rate", np.array([10, 20, 40]), (0, 1, 2), rates, floors=0.5 / 44, test_points=44,
                test_pool=178)  # fmt: skip
    assert [n_star.censored for n_star in threshold(few, 0.01).replicates] == [None] * 3
    assert (few.worst[-1], few.median[-1]) == (0, 0)
