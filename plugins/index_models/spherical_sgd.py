"""One pass of stochastic gradient descent of one neuron on the sphere."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from bfc_plugins.index_models.read_out import read_out
from pydantic import Field, PositiveFloat, field_validator

from bfc_bench.learner import BatchLearner, Capabilities, Context, Cost, DataSpec, Failure, Job, Predictor
from bfc_bench.seeds import stream
from bfc_bench.utils.hermite import hermite

AVERAGED = 0.25
"""Share of the pass over whose end w is averaged."""


class SphericalSgd(BatchLearner):
    """w <- v / |v|, v = w + delta / d y s'(w . x) (x - (w . x) w), once for each training point in order.

    This is stochastic gradient descent on the sphere, on the correlation of the neuron s(w . x) with the label (Ben
    Arous, Gheissari and Jagannath 2021, arXiv 2003.10409, section 1). With delta ~ d^(-(k-2)/2) it finds a direction of
    information exponent k > 2 with n ~ d^(k-1) points, up to logarithms, and of k <= 2 with n ~ d. It starts at a
    random direction. The direction is that of the mean of w over the last quarter of the pass, which a constant step
    needs.

    The prediction is a polynomial of w . x, of the activation's degree, fitted to the training points by least squares.
    The learner is told the link, which is its activation s. Inputs must have E x = 0 and E x x^T = I.
    """

    name: ClassVar[str] = "spherical-sgd"
    capabilities: ClassVar[Capabilities] = Capabilities(labels=frozenset({"real", "binary"}))
    smoke: ClassVar[Mapping[str, Any]] = {"rate": 0.3, "link": (0.0, 1.0)}
    search: ClassVar[Mapping[str, Sequence[Any]]] = {"rate": [0.01, 0.03, 0.1, 0.3, 1.0]}

    link: Annotated[tuple[float, ...], Field(min_length=2)] = (0.0, 0.0, 0.0, 1.0)
    """Coefficients s_0, s_1, ... of the activation s = sum_k s_k he_k."""
    rate: PositiveFloat = 0.1
    """delta in units of d^(-(k-2)/2) for k > 2, and of 1 for k <= 2, where s_k is the first of s_1, s_2, ... that is
    not 0."""

    @field_validator("link")
    @classmethod
    def _depends_on_the_input(cls, link: tuple[float, ...]) -> tuple[float, ...]:
        if not link[-1]:
            raise ValueError("the last coefficient must not be 0")
        return link

    def batch_key(self, train: DataSpec) -> Hashable:
        """All sizes and rates on one sample are one loop over its points."""
        return train.sample, self.link

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Fit jobs on prefixes of one sample, one row of W (jobs, d) each."""
        longest = max(jobs, key=lambda job: job.train.n).train
        order = sorted(range(len(jobs)), key=lambda j: -jobs[j].train.n)  # rows still to be trained are the first ones
        rows = np.stack([_start(jobs[j].ctx, longest.d) for j in order])
        rates = np.array([jobs[j].learner.step(longest.d) for j in order])
        last = [jobs[j].train.n for j in order]
        averaged = np.array([n - max(1, round(AVERAGED * n)) for n in last])
        sums = np.zeros_like(rows)
        link, active = jobs[0].learner.link, len(jobs)
        slope = np.sqrt(np.arange(1, len(link))) * link[1:]  # he_k' = sqrt(k) he_{k-1}
        for i, (x, y) in enumerate(zip(longest.x, longest.y, strict=True)):
            while last[active - 1] <= i:
                active -= 1
            w = rows[:active]
            p = w @ x
            size = rates[:active] * y * (slope @ hermite(p, len(slope) - 1))
            w += size[:, None] * x - (size * p)[:, None] * w
            w /= np.sqrt(np.einsum("ij,ij->i", w, w))[:, None]
            sums[:active] += w * (averaged[:active] <= i)[:, None]
        sums /= np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
        sum_of = dict(zip(order, sums, strict=True))
        return [read_out(job.train.x, job.train.y, sum_of[j], len(link) - 1) for j, job in enumerate(jobs)]

    def step(self, d: int) -> float:
        """delta / d."""
        first = next(k for k, s in enumerate(self.link) if k and s)
        return float(self.rate * d ** -(1 + max(first - 2, 0) / 2))

    def assumes(self) -> Mapping[str, Any]:
        """The link."""
        return {"link": list(self.link)}

    def cost(self, n: int, d: int) -> Cost:
        """About ten calls per point, which the fits of a batch share, and operations on a row."""
        return Cost(12.0 * n * d, 8.0 * n * (d + 2 * len(self.link)), "steps", 3e-5 * n)


def _start(ctx: Context, d: int) -> np.ndarray:
    """A random direction of norm 1, from the context's seed."""
    start = stream(ctx.seed, "spherical-sgd").standard_normal(d)
    return np.asarray(start / np.linalg.norm(start))
