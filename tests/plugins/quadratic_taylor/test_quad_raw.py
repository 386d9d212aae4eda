"""Quad-Raw: which degrees its gates give, what it learns, and that the scale of inputs and labels does not matter."""

import re

import numpy as np
import pytest
import torch
from bfc_plugins.quadratic_taylor.model import QuadraticTaylor
from bfc_plugins.quadratic_taylor.quad_raw import QuadRaw
from fit_samples import on_sphere, sphere_error, sphere_facts, sphere_sample

from bfc_bench.errors import BenchError
from bfc_bench.learner import Context, Data, Job

D = 4
CTX = Context(square_mean=np.full(D, 1 / D))


def saddle(x):
    return 3 * x[:, 0] * x[:, 1] - x[:, 2] ** 2


@pytest.mark.parametrize(
    ("gate", "bias"), [("constant", False), ("constant", True), ("relu", True), ("indicator", True)]
)
def test_learns_a_quadratic(gate, bias):
    fitted = QuadRaw(gate=gate, bias=bias, width=64, regularization=1e-6).fit(sphere_sample(saddle), CTX)
    assert sphere_error(fitted, saddle) < 1e-2


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("gate", ["indicator", "relu", "constant"])
def test_parity(gate, bias):
    """A random member of the model has a part of even degree above 2, or of odd degree above 3, just where it says."""
    learner = QuadRaw(gate=gate, bias=bias)
    x = on_sphere(3000, 3)
    features = learner.represent(x, 1.0, CTX).features
    model = QuadraticTaylor.draw(2, len(features(x)[0]), gate, seed=5, like=x)
    weights = torch.from_numpy(np.random.default_rng(1).standard_normal((2, len(features(x)[0]))))
    plus, minus = (model(weights, features(sign * x)) for sign in (1, -1))
    assert (beyond((plus + minus) / 2, x, 2) > 1e-3) == learner.has_degree(4) == learner.has_degree(6)
    assert (beyond((plus - minus) / 2, x, 3) > 1e-3) == learner.has_degree(5) == learner.has_degree(7)
    assert (beyond((plus - minus) / 2, x, 1) > 1e-3) == learner.has_degree(3)
    assert (float((plus - minus).abs().max()) > 1e-3) == learner.has_degree(1)


def beyond(part, x, degree):
    """Root mean square of what an even or odd function on the sphere has above ``degree``, of the same parity.

    The monomials of a degree span, on the sphere, all harmonics of its parity up to it.
    """
    monomials = x[:, torch.cartesian_prod(*[torch.arange(x.shape[1])] * degree).reshape(-1, degree)].prod(-1).numpy()
    fit = monomials @ np.linalg.lstsq(monomials, part.numpy(), rcond=1e-10)[0]
    return float(np.sqrt(np.mean((part.numpy() - fit) ** 2)))


@pytest.mark.parametrize(
    ("options", "caution"),
    [
        ({"gate": "indicator", "bias": False}, "no part of degree 4, .*; take bias = true"),
        ({"gate": "constant"}, "no part of degree 3 or 4, .*; take gate = 'relu' and bias = true"),
    ],
)
def test_a_parity_trap_is_named(options, caution):
    assert re.search(caution, QuadRaw(**options).caution(sphere_facts(3, 4), 600))
    assert QuadRaw(**options).caution(sphere_facts(), 600) is None


def test_units_of_inputs_and_labels_change_nothing():
    """Predictions for c x and s y + t are s times those for x and y, plus t."""
    data = sphere_sample(saddle, n=60)
    learner = QuadRaw(width=30, gate="constant", iterations=500, tolerance=1e-10)
    one = learner.fit(data, CTX)
    moved = Data(sample="m", n=60, d=D, x=10 * data.x, y=5 * data.y + 3)
    other = learner.fit(moved, Context(square_mean=100 * CTX.square_mean))
    x = on_sphere(50, D, seed=3)
    torch.testing.assert_close(other.predict(10 * x), 5 * one.predict(x) + 3, rtol=1e-4, atol=1e-4)


def test_lambdas_of_one_sample_share_their_path_and_come_out_as_alone():
    """Bitwise, also next to another sample, size or seed."""
    data = sphere_sample(saddle, n=60)
    jobs = [Job(QuadRaw(width=20, regularization=value), data, CTX) for value in (1e-4, 1e-2, 3e-5)]
    assert len({job.learner.batch_key(data) for job in jobs}) == 1
    jobs += [
        Job(QuadRaw(width=20), sphere_sample(saddle, n=40), CTX),
        Job(QuadRaw(width=20), data, Context(seed=1, square_mean=CTX.square_mean)),
    ]
    x = on_sphere(20, D, seed=5)
    values = [predictor.predict(x) for predictor in QuadRaw.fit_batch(jobs)]
    for job, value in zip(jobs, values, strict=True):
        assert torch.equal(value, job.learner.fit(job.train, job.ctx).predict(x))
    assert len({tuple(value.tolist()) for value in values}) == len(jobs)


def test_a_margin_loss_for_real_labels_is_refused():
    learner = QuadRaw(loss="logistic")
    assert "binary" in learner.skip(sphere_facts(), 100)
    with pytest.raises(BenchError, match="quad-raw: loss = 'logistic' needs binary labels"):
        learner.fit(sphere_sample(saddle, n=20), CTX)
