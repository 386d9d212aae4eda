"""Quad-Neural: whitening, what it learns and from how many points, and that optimisers agree."""

import numpy as np
import pytest
import torch
from bfc_plugins.quadratic_taylor.quad_neural import QuadNeural
from convex_quadratic import convex_minimum
from fit_samples import on_sphere, sphere_facts, sphere_sample

from bfc_bench.errors import BenchError
from bfc_bench.learner import Context, Data
from bfc_bench.testing import check_learner
from bfc_bench.utils.legendre import zonal


def context(d, unlabeled=1000, seed=0):
    points = on_sphere(unlabeled, d, seed=1) if unlabeled else None
    return Context(seed=seed, square_mean=np.full(d, 1 / d), unlabeled=points)


def harmonic(d, p):
    beta = on_sphere(1, d, seed=2)[0]
    return lambda x: torch.from_numpy(zonal(d, p, (x @ beta).numpy()))


SMALL = {"features": 12, "width": 16, "regularization": 1e-2}


@pytest.mark.parametrize(("optimizer", "lr"), [("adam", None), ("noisy-sgd", 0.03)])
def test_keeps_the_contract_by_steps(optimizer, lr):
    check_learner(QuadNeural(**QuadNeural.smoke, optimizer=optimizer, steps=60, lr=lr))


def test_constant_gates_are_a_quadratic_form_in_h():
    """f(h) = f(-h), and f is additive in h h^T."""
    fitted = QuadNeural(**SMALL).fit(sphere_sample(harmonic(4, 2), 50), context(4))
    h = fitted.representation.features(on_sphere(20, 4, seed=5))

    def f(h):
        return fitted.model(fitted.weights, h)

    torch.testing.assert_close(f(-h), f(h))
    torch.testing.assert_close(f(h[:10] + h[10:]) + f(h[:10] - h[10:]), 2 * f(h[:10]) + 2 * f(h[10:]))


def test_units_of_inputs_and_labels_change_nothing():
    """Predictions for c x and s y + t are s times those for x and y, plus t."""
    data, ctx = sphere_sample(harmonic(4, 3), 60), context(4)
    learner = QuadNeural(**SMALL, iterations=500, tolerance=1e-10)
    one = learner.fit(data, ctx)
    moved = Data(sample="m", n=60, d=4, x=10 * data.x, y=5 * data.y + 3)
    other = learner.fit(moved, Context(square_mean=100 * ctx.square_mean, unlabeled=10 * ctx.unlabeled))
    x = on_sphere(50, 4, seed=3)
    torch.testing.assert_close(other.predict(10 * x), 5 * one.predict(x) + 3, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("optimizer", ["lbfgs", "adam", "noisy-sgd"])
def test_optimisers_and_starts_reach_the_convex_minimum(optimizer):
    """NR Theorem 1: every second-order stationary point is near-optimal."""
    target = harmonic(4, 3)
    data = sphere_sample(target, 80)
    learner = QuadNeural(**SMALL, optimizer=optimizer, iterations=500, tolerance=1e-8, steps=6000, batch_size=64)
    fits = [learner.model_copy(update={"init_scale": scale}).fit(data, context(4)) for scale in (0.2, 1.0)]
    h = fits[0].representation.features(data.x)
    y = (data.y - data.y.mean()) / data.y.std(correction=0)
    minimum = convex_minimum(h, y, 1e-2)
    reached = [fit.info["regularised_risk"] for fit in fits]
    assert reached == pytest.approx([minimum] * 2, rel=1e-6 if optimizer == "lbfgs" else 5e-3)
    assert minimum < 0.8


def test_a_whitened_regulariser_reaches_what_whitening_reaches():
    target = harmonic(4, 3)
    data = sphere_sample(target, 80)
    x = on_sphere(30, 4, seed=6)
    exact, other = (
        QuadNeural(**SMALL, whitening=kind, tolerance=1e-8, iterations=300).fit(data, context(4))
        for kind in ("exact", "regularizer")
    )
    torch.testing.assert_close(other.predict(x), exact.predict(x), rtol=1e-6, atol=1e-6)
    assert other.info["M_h_op"] > 1.5 * exact.info["M_h_op"]


@pytest.mark.parametrize("whitening", ["exact", "regularizer"])
def test_too_few_points_to_whiten_are_named(whitening):
    learner = QuadNeural(features=60, whitening=whitening)
    with pytest.raises(BenchError, match=r"n_0 = 59 for D = 60: take whitening = 'ridge'"):
        learner.fit(sphere_sample(harmonic(4, 2), 30), context(4, unlabeled=59))
    assert "n_0 = 59 for D = 60" in learner.skip(sphere_facts(unlabeled=59), 1000)
    assert learner.skip(sphere_facts(unlabeled=60), 10) is None
    assert learner.skip(sphere_facts(), 60) is None
    ridge = QuadNeural(features=60, width=4)
    assert ridge.skip(sphere_facts(), 2) is None
    given = sphere_sample(harmonic(4, 2), 30)
    fitted = ridge.fit(given, context(4, unlabeled=0))
    assert ((fitted.predict(given.x) - given.y) ** 2).mean() < 0.01 * given.y.var()
