"""The base class of ridge learners, in the space of linear functions: batches equal single fits and the closed form."""

from typing import ClassVar

import numpy as np
import pytest
import torch

from bfc_bench.learner import Context, Data, Failure, Job
from bfc_bench.toolkit.function_space import KernelSpace
from bfc_bench.toolkit.kernels.by_name import make_kernel
from bfc_bench.toolkit.ridge_learner import RidgeLearner


class Linear(RidgeLearner):
    """f(x) = w.x + c, with the kernel (x.z + 1) / 2."""

    name: ClassVar[str] = "linear"

    def space(self, x, ctx):
        return KernelSpace.on(x, make_kernel("poly", 1.0, degree=1), scale=2)

    def cost(self, n, d):
        return self.dual_cost(n, 2.0 * n**2 * d, 8.0 * n**2)


def data(n, kind="real", classes=0):
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal((60, 3)))
    labels = x @ torch.tensor([1.0, -2.0, 0.5], dtype=x.dtype) + 3
    y = {"real": labels, "binary": torch.sign(labels - 3), "class": (labels > 3).long() + (labels > 4).long()}[kind]
    return Data(sample="s", n=n, d=3, x=x[:n], y=y[:n], kind=kind, classes=classes)


def jobs(sizes=(60, 10, 30), ridges=(1.0, 1e-3), **options):
    return [Job(Linear(ridge=ridge), data(n, **options), Context()) for n in sizes for ridge in ridges]


def expected(job, x):
    """By the normal equations of the augmented inputs."""
    y = job.train.y.double()
    if job.train.kind == "class":
        y = torch.stack([(job.train.y == c).double() for c in range(job.train.classes)], dim=1)
    phi, at = (torch.cat([z, torch.ones(len(z), 1, dtype=z.dtype)], dim=1) / 2**0.5 for z in (job.train.x, x))
    matrix = phi.T @ phi + job.learner.ridge * torch.eye(4, dtype=phi.dtype)
    return at @ torch.linalg.solve(matrix, phi.T @ (y - y.mean(0))) + y.mean(0)


@pytest.mark.parametrize("options", [{}, {"kind": "binary"}, {"kind": "class", "classes": 3}])
def test_every_job_of_a_batch_has_the_closed_form(options):
    batch = jobs(**options)
    one, two = data(60).x[:7] + 1, data(60).x[:9] - 1
    xs = [one, two, one.clone(), one, two.clone(), two]
    fitted = Linear.fit_batch(batch)
    for job, x, predictor, values in zip(batch, xs, fitted, Linear.predict_batch(fitted, xs), strict=True):
        assert (predictor.info["ridge"], predictor.info["scale"]) == (job.learner.ridge, 2)
        for found in (values, predictor.predict(x), job.learner.fit(job.train, job.ctx).predict(x)):
            torch.testing.assert_close(found, expected(job, x), rtol=1e-9, atol=1e-9)


def test_a_size_that_has_no_solution_fails_and_names_learner_ridge_and_size():
    batch = [Job(Linear(ridge=0.5), data(n), Context()) for n in (60, 20)]
    batch[0].train.x[40] = torch.nan
    failed, fitted = Linear.fit_batch(batch)
    assert isinstance(failed, Failure)
    assert failed.status == "failed"
    assert all(part in failed.reason for part in ("linear", "ridge 0.5", "n = 60"))
    x = data(5).x
    torch.testing.assert_close(fitted.predict(x), expected(batch[1], x))


def test_ridges_and_sizes_of_one_sample_are_one_batch():
    one, other, uncentred = Linear(ridge=1.0), Linear(ridge=2.0), Linear(center=False)
    assert one.batch_key(data(60)) == other.batch_key(data(10))
    assert one.batch_key(data(60)) != uncentred.batch_key(data(60))
    assert one.cost(60, 3).flops == pytest.approx(1.5 * 2.0 * 60**2 * 3 + 60**3 / 3 + 4 * 60**2)
