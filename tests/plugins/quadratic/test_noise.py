"""``ranks = "auto"`` is the network of full rank on clean labels, and that of selected ranks on noisy ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bfc_plugins.quadratic.predictor import QuadraticPredictor
from bfc_plugins.quadratic.quad_densenet import QuadDenseNet
from teacher_fits import nmse, problem

from bfc_bench.learner import Context, Job
from bfc_bench.seeds import stream

PROBLEM = problem(20, widths=(4, 2))
FEW, FITS_NOISE, MANY = 100, 400, 1600
"""Sizes at d = 20 and widths (20, 12), where ranks (4, 4) have 337 parameters and the network has 784 weights."""


def fitted(n: int, noise: float, ranks: str, **options) -> QuadraticPredictor:
    train = PROBLEM.train(n)
    y = train.y + noise * np.std(PROBLEM.test_y) * stream("test", "noise").standard_normal(n)
    context = Context(seed=0, square_mean=PROBLEM.square_mean)
    job = Job(QuadDenseNet(ranks=ranks, **options), replace(train, y=y), context)
    (predictor,) = QuadDenseNet.fit_batch([job])
    return predictor


def same(one: QuadraticPredictor, other: QuadraticPredictor) -> bool:
    return np.array_equal(one.predict(PROBLEM.test_x), other.predict(PROBLEM.test_x)) and one.info == other.info


@pytest.mark.parametrize("n", [FEW, FITS_NOISE, MANY])
def test_clean_labels_get_the_network_of_full_rank_bit_for_bit(n):
    assert same(fitted(n, 0.0, "auto"), fitted(n, 0.0, "given"))


@pytest.mark.parametrize("n", [FITS_NOISE, MANY])
def test_noisy_labels_get_selected_ranks_even_if_the_network_fits_the_noise(n):
    given, auto, selected = (fitted(n, 0.25, ranks) for ranks in ("given", "auto", "selected"))
    assert same(auto, selected)
    assert nmse(auto, PROBLEM) < nmse(given, PROBLEM) / 2


def test_with_fewer_points_than_parameters_ranks_stay_given():
    assert same(fitted(FEW, 0.25, "auto"), fitted(FEW, 0.25, "given"))


def test_checkpoints_need_given_ranks():
    with pytest.raises(ValueError, match="checkpoints need ranks"):
        QuadDenseNet(ranks="auto", checkpoints=(10,))
