"""The finish takes clean labels to rounding, and leaves alone what it does not improve."""

from dataclasses import replace

import numpy as np
import pytest
from bfc_plugins.quadratic import gauss_newton
from bfc_plugins.quadratic.gauss_newton import LeastSquares, factors
from bfc_plugins.quadratic.net import QuadraticNet
from bfc_plugins.quadratic.quad_densenet import QuadDenseNet
from bfc_plugins.quadratic.setup import Setup
from teacher_fits import fit, nmse, problem

from bfc_bench.errors import UsageError
from bfc_bench.learner import Context, Job
from bfc_bench.seeds import stream
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Uniform
from bfc_bench.tasks.labels import Noise

FAST = {"widths": (10, 6), "steps": 1000}


@pytest.mark.parametrize(
    ("options", "target", "inputs"),
    [
        ({}, {}, Uniform),
        ({}, {}, Gaussian),
        ({"loss": "square"}, {}, Uniform),
        ({"widths": (8,)}, {"widths": (3,), "alphas": (1.0,)}, Uniform),
        ({"widths": (3, 2)}, {}, Uniform),
    ],
)
def test_clean_labels_are_learned_to_rounding(options, target, inputs):
    p = problem(inputs=inputs, **target)
    found = fit(QuadDenseNet(**{**FAST, **options, "finish": "gauss-newton"}), p, 400)
    assert nmse(found.stages["trained"], p) > 1e-12
    assert nmse(found, p) < 1e-26
    assert found.info["finish_loss"] < gauss_newton.ROUNDING


def test_the_ranks_of_the_least_error_are_taken_though_more_are_tried_after_them():
    found = fit(QuadDenseNet(**FAST, ranks="given", finish="gauss-newton"), problem(labels=Noise(sd=1e-3)), 300)
    assert found.info["finish"] == {"k2": 3, "k3": 2}


def test_the_trained_stage_is_the_network_without_the_finish():
    p = problem()
    plain, found = (
        fit(QuadDenseNet(**FAST, checkpoints=(500,), ranks="given", finish=finish), p, 300)
        for finish in ("none", "gauss-newton")
    )
    assert list(found.stages) == ["step500", "trained"]
    np.testing.assert_array_equal(found.stages["trained"].predict(p.test_x), plain.predict(p.test_x))


def test_a_network_that_needs_all_its_directions_keeps_them():
    """No few directions give the maximum of the inputs: cut to those of worth, the network is nearly twice as wrong."""
    p = problem()
    train, truth = p.train(1000), p.test_x.max(axis=1)
    job = Job(
        QuadDenseNet(**FAST, finish="gauss-newton"),
        replace(train, y=np.asarray(train.x).max(axis=1)),
        Context(seed=0, square_mean=p.square_mean),
    )
    (found,) = QuadDenseNet.fit_batch([job])
    assert found.info["finish"] == "no gain"
    assert np.mean((found.predict(p.test_x) - truth) ** 2) < 0.6 * np.var(truth)


@pytest.mark.parametrize(
    ("widths", "skips", "share"),
    [((4, 3), ((1,), (0, 2)), False), ((5, 3, 2), ((1,), (0, 2), (0, 1, 3)), False), ((6, 3), ((1,), (0, 2)), True)],
)
def test_derivatives_are_difference_quotients(widths, skips, share):
    net = QuadraticNet(6, widths, skips, share_skips=share)
    rng = stream("test", "derivatives", len(widths), share)
    params = net.init(rng, (1.0,) * len(widths), np.full(6, 1 / 3))
    params["log_alpha"] = rng.standard_normal(len(widths))
    x, y = rng.standard_normal((7, 6)), rng.standard_normal(7)
    setup = Setup(net, params, x, y, 1.0, 1.0, seed=0, kind="real", rates={})
    loss = LeastSquares(setup, setup.predictor(net, params), lambda y: 1 / (1 + y**2))
    parts = factors(params, (2,) * len(widths), net)
    _, gradient = loss.normal_equations(parts)
    step = 1e-6 * rng.standard_normal(len(gradient))
    pieces = np.split(step, np.cumsum([part.size for part in parts])[:-1])
    above, below = (
        loss.mean(loss.whole([p + sign * s.reshape(p.shape) for p, s in zip(parts, pieces, strict=True)]))
        for sign in (1, -1)
    )
    assert 7 * (above - below) / 2 == pytest.approx(2 * gradient @ step, rel=1e-6)


def test_steps_never_raise_the_loss_and_more_points_than_a_chunk_are_one_loss(monkeypatch):
    p = problem()
    trained = fit(QuadDenseNet(**FAST), p, 300)
    setup = QuadDenseNet(**FAST).setup(p.train(300), Context(seed=0, square_mean=p.square_mean))
    loss = LeastSquares(setup, trained, lambda y: 1 / (1 + y**2))
    parts = factors(trained.params, (3, 2), setup.net)
    whole = loss.normal_equations(parts)
    monkeypatch.setattr(gauss_newton, "CHUNK", 7)
    for one, other in zip(whole, loss.normal_equations(parts), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert loss.mean(loss.whole(loss.minimised(parts))) <= loss.mean(loss.whole(parts))


def test_classes_are_not_finished():
    p = problem()
    learner, train = QuadDenseNet(**FAST, finish="gauss-newton"), p.train(40)
    binary = replace(train, y=np.sign(train.y), kind="binary")
    with pytest.raises(UsageError, match="needs real labels"):
        QuadDenseNet.fit_batch([Job(learner, binary, Context(seed=0, square_mean=p.square_mean))])
