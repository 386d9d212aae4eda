"""Quad-Raw: that its gates give all degrees, and what it learns."""

import numpy as np
import pytest
import torch
from bfc_plugins.quadratic_taylor import fit as taylor
from bfc_plugins.quadratic_taylor.model import QuadraticTaylor
from bfc_plugins.quadratic_taylor.quad_raw import QuadRaw
from fit_samples import on_sphere, sphere_error, sphere_facts, sphere_sample

from bfc_bench.errors import BenchError
from bfc_bench.learner import Context, Job

D = 4
CTX = Context(square_mean=np.full(D, 1 / D))


def saddle(x):
    return 3 * x[:, 0] * x[:, 1] - x[:, 2] ** 2


@pytest.mark.parametrize("gate", ["indicator", "relu"])
def test_learns_a_quadratic(gate):
    fitted = QuadRaw(gate=gate, width=64, regularization=1e-6).fit(sphere_sample(saddle), CTX)
    assert sphere_error(fitted, saddle) < 1e-2


@pytest.mark.parametrize("gate", ["indicator", "relu"])
def test_the_constant_coordinate_gives_all_degrees(gate):
    """A random member of the model has a part of even degree above 2, and of odd degree above 3."""
    x = on_sphere(3000, 3)
    features = QuadRaw(gate=gate).represent(x, 1.0, CTX).features
    model = QuadraticTaylor.draw(2, 4, gate, seed=5, like=x)
    weights = torch.from_numpy(np.random.default_rng(1).standard_normal((2, 4)))
    plus, minus = (model(weights, features(sign * x)) for sign in (1, -1))
    assert beyond((plus + minus) / 2, x, 2) > 1e-3
    assert beyond((plus - minus) / 2, x, 3) > 1e-3


def beyond(part, x, degree):
    """Root mean square of what an even or odd function on the sphere has above ``degree``, of the same parity.

    The monomials of a degree span, on the sphere, all harmonics of its parity up to it.
    """
    monomials = x[:, torch.cartesian_prod(*[torch.arange(x.shape[1])] * degree).reshape(-1, degree)].prod(-1).numpy()
    fit = monomials @ np.linalg.lstsq(monomials, part.numpy(), rcond=1e-10)[0]
    return float(np.sqrt(np.mean((part.numpy() - fit) ** 2)))


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


def test_the_minimum_at_each_lambda_is_where_the_next_one_starts(monkeypatch):
    starts, ends, minimise = [], [], taylor.minimise

    def recorded(risk, weights, **options):
        starts.append(weights)
        ends.append(minimise(risk, weights, **options))
        return ends[-1]

    monkeypatch.setattr(taylor, "minimise", recorded)
    learner = QuadRaw(width=20, regularization=1e-4)
    learner.fit(sphere_sample(saddle, n=60), CTX)
    assert len(ends) == len(learner.schedule()) > 1
    assert all(start is end for start, end in zip(starts[1:], ends, strict=False))


def test_a_margin_loss_for_real_labels_is_refused():
    learner = QuadRaw(loss="logistic")
    assert "binary" in learner.skip(sphere_facts(), 100)
    with pytest.raises(BenchError, match="quad-raw: loss = 'logistic' needs binary labels"):
        learner.fit(sphere_sample(saddle, n=20), CTX)
