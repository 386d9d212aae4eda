"""Layers join in order, whatever the objective does."""

import numpy as np
import pytest
from bfc_plugins.algorithm_1.printed import PrintedSchedule
from bfc_plugins.algorithm_1.schedule import Stall, ThresholdSchedule

from bfc_bench.seeds import stream


@pytest.mark.parametrize("alphas", [None, (1.0, 0.5, 0.25)])
@pytest.mark.parametrize("key", range(5))
def test_nothing_overtakes(alphas, key):
    schedule = ThresholdSchedule(4, alphas)
    trace = np.exp(np.cumsum(stream("objective", key).normal(-0.05, 0.5, 400)))
    joined = [part for objective in trace if (part := schedule.due(objective))]
    assert len(joined) >= 2
    assert joined == ["K2", "W3", "K3", "W4", "K4"][: len(joined)]


def joins_just_below(schedule, limits):
    for part, limit in limits.items():
        assert schedule.due(limit * 1.001) is None
        assert schedule.due(limit * 0.999) == part


def test_thresholds_are_the_formulas():
    schedule = ThresholdSchedule(4, (2.0, 1.0, 0.5))
    limits = {"K2": 1.2 * 0.5**2, "W3": 0.5**2, "K3": 1.2 * 0.5 * 0.25**2, "W4": 0.25**2, "K4": 0.01 * 0.25**2}
    joins_just_below(schedule, limits)
    assert schedule.due(0.0) is None


def falls(start, end, checks, flat):
    return [*np.geomspace(start, end, checks), *[end] * flat]


def test_alpha_is_estimated_where_the_objective_stops_falling():
    schedule = ThresholdSchedule(3, None)
    descent = falls(1.0, 0.02, 12, 20)
    check = next(i for i, objective in enumerate(descent) if schedule.due(objective))
    assert 12 <= check < 20
    assert schedule.alphas[3] ** 2 == pytest.approx(0.04)
    assert schedule.due(0.05) is None
    assert schedule.due(0.03) == "W3"
    assert schedule.due(0.0005) is None
    assert schedule.due(0.0003) == "K3"


@pytest.mark.parametrize("alphas", [None, (1.0, 0.1)])
def test_a_threshold_out_of_reach_is_waited_for_only_where_it_is_no_estimate(alphas):
    schedule = ThresholdSchedule(3, alphas)
    while schedule.waiting[0] == "K2":
        for objective in falls(1.0, 0.01, 12, 20):
            if schedule.due(objective):
                break
    # The regulariser of K_2 keeps the objective above alpha_3^2.
    above = [schedule.due(objective) for objective in falls(1.0, 0.5, 12, 20)]
    assert ("W3" in above) == (alphas is None)


def test_a_layer_that_has_learned_nothing_yet_has_not_stopped():
    schedule = ThresholdSchedule(3, None)
    assert [schedule.due(1.0) for _ in range(50)] == [None] * 50


def test_printed_thresholds_are_those_of_the_paper():
    """(4.1), with C = 3 and d = 16, relative to alpha_2."""
    limits = {"K2": 16 ** (-1 / 54), "W3": 16 ** (-1 / 27), "K3": 0.25**2 * 16 ** (-1 / 162)}
    joins_just_below(PrintedSchedule(3, (2.0, 0.5), 16), limits)


def test_training_stalls_where_the_loss_has_stopped_falling():
    stall = Stall()
    seen = [stall.seen(loss) for loss in falls(1.0, 0.1, 20, 25)]
    # The last ten are flat from check 30 on, and the first nine of them are compared with a higher loss.
    assert seen.index(True) == 28
    assert not any(Stall().seen(0.1) for _ in range(3))
    falling = Stall()
    assert not any(falling.seen(0.95**check) for check in range(200))
    rising = Stall()
    assert [rising.seen(1.0 + check) for check in range(22)].index(True) == 20


def test_a_loss_is_level_if_it_has_not_fallen_for_half_of_training():
    """That of noise fluctuates; that of a slow descent falls, though each of its steps may look like a stall."""
    noise = 1.0 + 0.1 * stream("level").standard_normal(60)
    for losses, level in ((noise, True), (noise * 0.99 ** np.arange(60), False)):
        stall = Stall()
        for loss in losses.tolist():
            stall.seen(loss)
        assert stall.level(120) is level
        assert not stall.level(121)
