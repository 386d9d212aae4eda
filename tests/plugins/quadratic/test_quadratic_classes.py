"""Quadratic DenseNets as classifiers: sgn(x_0 + F(x)) finds sgn(x_0 + G*(x)) (BFC Theorem 4)."""

import numpy as np
import pytest
from bfc_plugins.quadratic.grow import Grow
from bfc_plugins.quadratic.layerwise import Layerwise
from bfc_plugins.quadratic.quad_densenet import QuadDenseNet
from teacher_fits import problem

from bfc_bench.learner import Context
from bfc_bench.tasks.labels import BeyondThreshold
from bfc_bench.toolkit.ensemble import cross_entropy_loss

SMALL = {"widths": (6, 4), "steps": 60, "batch_size": 32}


def fit(learner, p, n, *, told=True):
    return learner.fit(p.train(n), Context(seed=1, square_mean=p.square_mean, margin_column=0 if told else None))


def error_rate(predictor, p):
    return float(np.mean(np.sign(predictor.predict(p.test_x)) != p.test_y))


def test_the_loss_is_the_cross_entropy_of_the_paper():
    """-log 1 / (1 + e^{-y v z}) at margins z (BFC line 430)."""
    z, y = np.linspace(-2, 2, 20), np.resize([-1.0, 1.0, 1.0], 20)
    np.testing.assert_allclose(cross_entropy_loss(z, 3.0 * y), -np.log(1 / (1 + np.exp(-y * 3.0 * z))), rtol=1e-5)


@pytest.mark.parametrize("told", [True, False])
def test_classes_are_learned_and_layerwise_training_stops_short(told):
    p = problem(labels=BeyondThreshold())
    options = {"widths": (10, 6), "steps": 3000}
    joint, grown, frozen = (fit(cls(**options), p, 8000, told=told) for cls in (QuadDenseNet, Grow, Layerwise))
    assert error_rate(joint, p) <= 0.015
    assert error_rate(grown, p) <= 0.015
    assert error_rate(frozen, p) >= 1.5 * error_rate(joint, p)
    assert error_rate(grown.stages["layer2"], p) >= error_rate(frozen, p)
    known = np.mean(np.sign(p.test_x[:, 0] - p.test_x[:, 0].mean()) != p.test_y)
    assert known >= 0.1, "the linear term alone does not do"


@pytest.mark.parametrize("cls", [QuadDenseNet, Layerwise, Grow])
def test_a_prediction_is_the_known_column_plus_a_function_of_the_others(cls):
    p = problem(labels=BeyondThreshold())
    fitted = fit(cls(**SMALL), p, 300)
    shift = np.eye(7)[0] * 2.5
    np.testing.assert_allclose(fitted.predict(p.test_x + shift) - fitted.predict(p.test_x), 2.5, rtol=1e-6)
    np.testing.assert_array_equal(fitted.hidden(p.test_x + shift)["S2"], fitted.hidden(p.test_x)["S2"])
    rest = fitted.predict(p.test_x) - p.test_x[:, 0] - sum((h**2).sum(1) for h in fitted.hidden(p.test_x).values())
    np.testing.assert_allclose(rest, rest[0], atol=1e-6)
