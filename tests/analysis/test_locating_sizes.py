"""Which sizes locate N*: on synthetic curves, whose N* is known, of one replicate after another."""

import math
from dataclasses import replace

import numpy as np
import pytest

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.locating import MOST, Ladder, sizes_to_run
from bfc_bench.analysis.thresholds import crossings, threshold
from bfc_bench.seeds import stream

LEVEL = 0.1
LADDER = Ladder(16, 16 * 1024)


def steep(x):
    return LEVEL * np.where(x < 0, 3.0, 0.3)


def shallow(x):
    return LEVEL * np.exp(-x / 2)


def plateau(x):
    return LEVEL * np.where(x < 0, 1.3, 0.1)


def humped(x):
    """Below the level from N* on for a factor of 2.5, and then above it up to 10 N*."""
    return LEVEL * np.where((x < 0) | ((x > math.log(2.5)) & (x < math.log(10))), 5.0, 0.2)


def located(shape, stars, noise=0.0, factor=1.1, levels=(LEVEL,), ladder=LADDER, failing=(), given=()):
    """The curve after all rounds, and the sets of sizes that were asked for in each."""
    rng, n = stream("test", "resolving", shape.__name__, noise), np.array(ladder.fine)
    values = shape(np.log(n) - np.log(np.array(stars))[:, None])
    values *= np.exp(noise * rng.standard_normal(values.shape))
    values[:, np.isin(n, failing)] = math.nan
    tried = np.isin(np.broadcast_to(n, values.shape), [*ladder.upward[:2], *given])
    curve = Curve("t", 8, "a", "nmse", n, tuple(range(len(stars))), values)
    rounds = []
    while True:
        kept = tried.any(axis=0)
        seen = replace(curve, n=n[kept], values=np.where(tried, values, math.nan)[:, kept], tried=tried[:, kept])
        wanted = sizes_to_run(seen, levels, factor, ladder)
        if not wanted:
            return seen, rounds
        rounds.append(wanted)
        for replicate, sizes in wanted.items():
            assert sizes <= set(ladder.fine)
            assert not tried[replicate, np.isin(n, [*sizes])].any(), "no cell is asked for twice"
            tried[replicate] |= np.isin(n, [*sizes])


def sizes(curve, replicate=0):
    return curve.n[curve.tried[replicate]].tolist()


def added(curve):
    """How many sizes each replicate has beside those upward."""
    return curve.tried[:, ~np.isin(curve.n, LADDER.upward)].sum(axis=1).tolist()


@pytest.mark.parametrize("shape", [steep, shallow])
@pytest.mark.parametrize("factor", [1.1, 1.5])
def test_without_noise_n_star_lies_within_the_factor_after_few_cells(shape, factor):
    stars = [40.0, 300.0, 301.0, 2000.0]
    curve, _ = located(shape, stars, factor=factor)
    for star, crossing in zip(stars, crossings(curve, LEVEL), strict=True):
        assert abs(math.log(crossing.n / star)) <= math.log(factor)
        below, above = max(n for n in curve.n if n < star), min(n for n in curve.n if n >= star)
        assert above / below <= factor
    upward = [sum(16 * 2**k < 4 * star for k in range(11)) for star in stars]
    inside = 3 if factor == 1.1 else 1
    assert curve.tried.sum(axis=1).tolist() == [count + inside for count in upward]


def test_sizes_go_up_by_factors_of_2_until_two_neighbours_are_at_most_the_level_and_no_further():
    curve, rounds = located(steep, [300.0], factor=2.0)
    assert sizes(curve) == [16, 32, 64, 128, 256, 512, 1024]
    assert rounds == [{0: {64, 128}}, {0: {256, 512}}, {0: {1024}}]
    assert sizes(located(steep, [5.0])[0]) == [16, 32], "N* lies below the smallest size"
    assert sizes(located(steep, [1e9])[0]) == LADDER.upward


def test_at_several_levels_each_has_its_own_sizes():
    levels = [0.1, 0.03]
    curve, _ = located(shallow, [200.0], levels=levels)
    assert curve.tried.sum() > located(shallow, [200.0])[0].tried.sum()
    for level, star in zip(levels, [200.0, 200 * (10 / 3) ** 2], strict=True):
        assert threshold(curve, level).interval.mean == pytest.approx(star, rel=0.01)


def test_a_rise_above_the_level_is_confirmed_on_both_sides_and_the_first_crossing_is_located():
    """Of the sizes upward, 512 alone is at most the level before 4096."""
    curve, rounds = located(humped, [260.0])
    assert {0: {431, 609, 861, 1218}} in rounds
    (crossing,) = crossings(curve, LEVEL)
    assert crossing.last is not None
    assert 260 / 1.1 <= crossing.n <= 260 * 1.1


def test_noise_neither_ends_the_way_up_nor_costs_more_cells_than_are_allowed():
    """Two errors of the plateau above the level are often at most the level by noise alone."""
    curve, _ = located(plateau, [3000.0] * 20, noise=0.3)
    assert all(curve.tried[c.replicate, -1] for c in crossings(curve, LEVEL) if c.censored == "right")
    assert max(added(curve)) == MOST


def test_errors_beside_the_step_that_are_close_to_the_level_are_checked_again():
    curve, _ = located(shallow, [200.0, 500.0, 900.0, 900.0], noise=0.3)
    for found in crossings(curve, LEVEL):
        if added(curve)[found.replicate] < MOST:
            near = np.abs(np.log(curve.n / found.step[1]) - math.log(1.5) / 2) <= math.log(1.5) / 2 + 1e-9
            errors = curve.log_values[found.replicate, near & curve.tried[found.replicate]]
            assert len(errors) >= 3 or math.log(LEVEL) - errors.mean() >= 3 * curve.noise


def test_three_sizes_close_to_the_level_on_each_side_of_the_step_are_enough():
    n = np.array([16, 32, 64, 128, 181, 215, 235, 256, 279, 332, 512])
    noisy = np.exp(0.3 * stream("test", "beside").standard_normal((20, len(n))))
    values = np.vstack([LEVEL * np.where(n < 256, 1.1, 0.9), noisy])
    for left_out, beside in (([], set()), ([181, 332], {166, 197, 304, 362})):
        kept = ~np.isin(n, left_out)
        curve = Curve("t", 8, "a", "nmse", n[kept], tuple(range(21)), values[:, kept])
        assert sizes_to_run(curve, [LEVEL], 1.1, LADDER).get(0, set()) == beside


def test_sizes_that_failed_are_not_tried_again_and_those_of_the_suite_are_used():
    curve, _ = located(steep, [300.0], failing=(256, 304))
    assert {256, 304} <= {*sizes(curve)}
    assert crossings(curve, LEVEL)[0].n == pytest.approx(300, rel=0.15)
    ladder = replace(LADDER, given=LADDER.fine)
    dense, _ = located(steep, [300.0], ladder=ladder, given=LADDER.fine)
    assert sizes(dense) == LADDER.fine


def test_a_ladder_has_whole_sizes_from_first_to_last():
    ladder = Ladder(3, 50)
    assert ladder.upward == [3, 6, 12, 24, 48, 50]
    assert ladder.fine[:6] == [3, 4, 5, 6, 7, 8]
    assert ladder.fine[-1] == 50
    assert {*ladder.upward} <= {*ladder.fine}
    assert Ladder(7, 7).fine == [7]
