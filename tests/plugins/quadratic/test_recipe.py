"""The scaling rules: their values where they were set, and how they may change from there."""

from __future__ import annotations

from itertools import pairwise

import pytest
from bfc_plugins.quadratic import recipe

DIMENSIONS = [*range(1, 400), 512, 1000, 2000, 5000]


def test_values_at_small_dimension():
    assert recipe.learning_rate(20, "adam") == 0.01
    assert recipe.learning_rate(20, "sgd") == 1.0
    assert recipe.minibatch(20, 3, "adam") == 128
    assert recipe.training_steps(20, 3, "adam") == 3000


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5, 6])
def test_rates_fall_and_batches_and_steps_grow_with_dimension(depth, optimizer):
    for smaller, larger in pairwise(DIMENSIONS):
        assert recipe.learning_rate(larger, optimizer) <= recipe.learning_rate(smaller, optimizer)
        assert recipe.minibatch(larger, depth, optimizer) >= recipe.minibatch(smaller, depth, optimizer)
        assert recipe.training_steps(larger, depth, optimizer) >= recipe.training_steps(smaller, depth, optimizer)
    first, last = DIMENSIONS[0], DIMENSIONS[-1]
    assert recipe.learning_rate(last, optimizer) < recipe.learning_rate(first, optimizer) / 10
    assert recipe.minibatch(last, depth, optimizer) > 2 * recipe.minibatch(first, depth, optimizer)
    assert recipe.training_steps(last, depth, optimizer) > 2 * recipe.training_steps(first, depth, optimizer)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_each_layer_above_three_doubles_the_steps(optimizer):
    for d in DIMENSIONS:
        counts = [recipe.training_steps(d, depth, optimizer) for depth in range(1, 8)]
        assert counts[0] == counts[1] == counts[2]
        assert counts[3:] == pytest.approx([2 * count for count in counts[2:-1]], abs=1)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_rules_are_constant_up_to_their_reference_dimension_and_do_not_jump_there(optimizer):
    for at, rule in (
        (recipe.CONSTANT_RATE_D, lambda d: recipe.learning_rate(d, optimizer)),
        (recipe.CONSTANT_STEPS_D, lambda d: recipe.training_steps(d, 3, optimizer)),
    ):
        assert rule(at) == rule(1)
        assert rule(at + 1) == pytest.approx(rule(at), rel=1.5 / at)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_above_the_reference_the_rate_is_1_over_d_and_the_steps_sqrt_d(optimizer):
    rate, steps = recipe.learning_rate(200, optimizer), recipe.training_steps(200, 3, optimizer)
    assert recipe.learning_rate(800, optimizer) == pytest.approx(rate / 4)
    assert recipe.training_steps(800, 3, optimizer) == pytest.approx(2 * steps, abs=2)


def test_minibatches_are_powers_of_two_so_that_few_programs_are_compiled():
    sizes = {recipe.minibatch(d, 3, "adam") for d in DIMENSIONS}
    assert sizes == {128, 256, 512, 1024}


def test_only_a_learned_first_layer_changes_initial_scales():
    assert len(set(recipe.init_scales(4, "squares"))) == 1
    first, *above = recipe.init_scales(4, "learned")
    assert first == recipe.init_scales(1, "squares")[0]
    assert min(above) > first
