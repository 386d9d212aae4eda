"""One pass of stochastic gradient descent of a two-layer ReLU network, and a ridge regression on its units."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field, PositiveFloat

from bfc_bench.learner import BatchLearner, Capabilities, Cost, Data, DataSpec, Failure, Job, Predictor
from bfc_bench.seeds import stream

RIDGES = 10.0 ** np.arange(-8, 1)
"""Ridges of the regression on the units, in units of the mean eigenvalue of their second moments."""


class OnePassNetwork(BatchLearner):
    """f(x) = mean_j a_j relu(w_j . x + b_j), one gradient step on (f(x) - y)^2 / 2 for each training point in order.

    A step moves w_j and b_j by ``rate`` / d and a_j by ``rate`` / d times the gradient of its unit, which has no factor
    1 / width (mean-field scaling). Weights begin at w_j ~ N(0, I / d), b_j ~ U(-1, 1), a_j = -1 or 1. Such a pass
    learns a target of leap k under Gaussian inputs or on the hypercube with n ~ d^max(k - 1, 1) points up to logarithms
    (Abbe, Boix-Adsera and Misiakiewicz 2023, arXiv 2302.11055; for one direction Ben Arous, Gheissari and Jagannath
    2021, arXiv 2003.10409).

    The theorems train the first layer first, and the second one afterwards. Here, too, the prediction is a ridge
    regression on the units, fitted to the training points with the ridge that generalised cross-validation takes.
    """

    name: ClassVar[str] = "one-pass-network"
    capabilities: ClassVar[Capabilities] = Capabilities(labels=frozenset({"real", "binary"}))
    smoke: ClassVar[Mapping[str, Any]] = {"width": 16, "rate": 0.1}
    search: ClassVar[Mapping[str, Sequence[Any]]] = {"rate": [0.01, 0.03, 0.1, 0.3, 1.0]}

    width: Annotated[int, Field(ge=1)] = 64
    """Number of units."""
    rate: PositiveFloat = 0.3
    """Size of a step, times d."""

    def batch_key(self, train: DataSpec) -> Hashable:
        """All sizes and rates on one sample are one loop over its points."""
        return train.sample, self.width

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Fit jobs on prefixes of one sample. Jobs of one rate and seed are one path, from which each takes its n."""
        paths = list(dict.fromkeys((job.learner.rate, job.ctx.seed) for job in jobs))
        path_of_job = [paths.index((job.learner.rate, job.ctx.seed)) for job in jobs]
        ends: dict[int, list[int]] = {}
        for j, job in enumerate(jobs):
            ends.setdefault(job.train.n, []).append(j)
        longest = max(jobs, key=lambda job: job.train.n).train
        outcomes: dict[int, Predictor | Failure] = {}
        with np.errstate(over="ignore", invalid="ignore"):  # a path that diverges is a failure of its jobs
            for i, (w, b) in enumerate(_steps(longest, paths, jobs[0].learner.width), start=1):
                for j in ends.get(i, ()):
                    outcomes[j] = _read_out(jobs[j], w[path_of_job[j]].copy(), b[path_of_job[j]].copy())
        return [outcomes[j] for j in range(len(jobs))]

    def cost(self, n: int, d: int) -> Cost:
        """About twelve calls per point, which the fits of a batch share; then the units' second moments."""
        flops = 8.0 * n * self.width * (d + 2) + 2.0 * n * self.width * (d + self.width) + 20.0 * self.width**3
        bytes = 8.0 * (n * (d + 2 * self.width) + 4 * self.width * (d + self.width))
        return Cost(flops, bytes, "steps", 5e-5 * n, parameters=self.width * (d + 2) + 1)


def _steps(points: Data, paths: Sequence[tuple[float, int]], width: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """After each point, w (p, width, d) and b (p, width) of p networks, which have a rate and a seed each."""
    draws = [stream(seed, "one-pass-network") for _, seed in paths]
    w = np.stack([rng.standard_normal((width, points.d)) / points.d**0.5 for rng in draws])
    b = np.stack([rng.uniform(-1, 1, width) for rng in draws])
    a = np.stack([rng.choice([-1.0, 1.0], width) for rng in draws])
    rates = np.array([[rate / points.d] for rate, _ in paths])
    for x, y in zip(points.x, points.y, strict=True):
        before = w @ x + b
        active = before.clip(0)
        residual = np.einsum("pj,pj->p", a, active)[:, None] / width - y
        size = rates * residual
        change = size * a * (before > 0)
        a -= size * active
        b -= change
        w -= change[:, :, None] * x
        yield w, b


@dataclass(frozen=True)
class UnitsPredictor(Predictor):
    """offset + c . relu(W x + b), for W (width, d), b and c (width,)."""

    w: np.ndarray
    b: np.ndarray
    c: np.ndarray
    offset: float
    info: Mapping[str, Any] = field(default_factory=dict)

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Predictions (m,) at x (m, d)."""
        return np.asarray((x @ self.w.T + self.b).clip(0) @ self.c + self.offset)


def _read_out(job: Job[OnePassNetwork], w: np.ndarray, b: np.ndarray) -> Predictor | Failure:
    """The ridge regression on the units that generalised cross-validation takes."""
    if not (np.isfinite(w).all() and np.isfinite(b).all()):
        return Failure("diverged", f"{job.learner.name}: rate = {job.learner.rate:g} is too large.")
    x, y, n = job.train.x, job.train.y, job.train.n
    units = (x @ w.T + b).clip(0)
    center, offset = units.mean(axis=0), float(y.mean())
    values, vectors = np.linalg.eigh((units - center).T @ (units - center))
    values = values.clip(0)
    moments = vectors.T @ ((units - center).T @ (y - offset))
    total = float(np.sum((y - offset) ** 2))
    best = (np.inf, 0.0, np.zeros_like(moments))
    for ridge in RIDGES * max(float(values.mean()), np.finfo(float).tiny):
        shrunk = moments / (values + ridge)
        residual = total - float(shrunk @ (moments + ridge * shrunk))
        score = max(residual, 0.0) / max(1e-12, 1 - (1 + float(np.sum(values / (values + ridge)))) / n) ** 2
        if score < best[0]:
            best = (score, float(ridge), shrunk)
    c = vectors @ best[2]
    return UnitsPredictor(w, b, c, offset - float(center @ c), {"ridge": best[1]})
