"""Ridge regression on sketched features, with the ridge that leave-one-out errors choose."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from bfc_plugins.power_laws.sketch import LinearPredictor, SketchedLearner, sketch_key, sketched
from bfc_plugins.power_laws.theory import theory_of
from pydantic import Field, PositiveFloat

from bfc_bench.learner import Cost, Failure, Job, Predictor, TaskFacts, Theory
from bfc_bench.toolkit.groups import in_groups


class SketchedRidge(SketchedLearner):
    """Ridge regression of y on M features z = S x, without an offset.

    The ridge is the one of ``ridges`` with the least leave-one-out error on the training points, which has a closed
    form. With noisy labels, a spectrum i^-a and the prior E w w^T = I, the best ridge has an excess risk of the order
    M^-(a-1) + n^-((a-1)/a); without noise the exponent of n is a - 1 as long as M does not limit the error (Cui et al.
    2021, arXiv 2105.15004; Defilippis et al. 2024, arXiv 2405.15699).

    Rows do not count the operations of the sketch, nor those that only serve the choice of the ridge.
    """

    name: ClassVar[str] = "sketched-ridge"
    smoke: ClassVar[Mapping[str, Any]] = {"features": 40}

    ridges: Annotated[tuple[PositiveFloat, ...], Field(min_length=1)] = tuple(10.0 ** (k / 2) for k in range(-20, 1))
    """The ridges to choose from, in units of the sum of the squared norms of the features of the n points."""

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Fit jobs on prefixes of one sample, which share the features of each sketch."""
        return in_groups(jobs, sketch_key, _fit_one_sketch)

    def theory(self, task: TaskFacts) -> Theory | None:
        """The deterministic equivalent of the risk at the best of ``ridges`` (``SketchedProblem.after_ridge``)."""
        return theory_of(task, self.size(task.d), lambda problem, n: problem.after_ridge(n, self.ridges))

    def cost(self, n: int, d: int) -> Cost:
        """The features of all points, a singular value decomposition, and the leave-one-out errors."""
        features = self.size(d)
        rank = min(n, features)
        products, decomposition = 2.0 * n * d * features, 6.0 * n * features * rank
        return Cost(
            flops=products + decomposition + 4.0 * n * rank * len(self.ridges),
            bytes=8.0 * (3 * n * features + 2 * d * features + 3 * n * len(self.ridges)),
            work="products",
            seconds=1e-3,
            counted=decomposition,
            parameters=features,
        )


def _fit_one_sketch(jobs: Sequence[Job[SketchedRidge]]) -> list[Predictor]:
    sketch, z, y = sketched(jobs)
    fitted: list[Predictor] = []
    for job in jobs:
        v, ridge, error = chosen_ridge(z[: job.train.n], y[: job.train.n], job.learner.ridges)
        fitted.append(LinearPredictor(v @ sketch, {"features": len(v), "ridge": ridge, "leave_one_out_error": error}))
    return fitted


def chosen_ridge(z: np.ndarray, y: np.ndarray, ridges: Sequence[float]) -> tuple[np.ndarray, float, float]:
    """The weights v (M,) with the least leave-one-out error, their ridge, and this mean squared error.

    Ridges are in units of the sum of squares of the features z (n, M). The residual at a point that is left out is that
    of the fit to all points, over 1 - h with the point's leverage h.
    """
    left, s, right = np.linalg.svd(z, full_matrices=False)
    total = float(s @ s) or 1.0
    along, absolute = left.T @ y, np.array(ridges) * total
    shrinkage = s[:, None] ** 2 / (s[:, None] ** 2 + absolute)  # (k, ridges)
    residuals = y[:, None] - left @ (shrinkage * along[:, None])
    outside = 1 - left**2 @ shrinkage
    errors = np.mean((residuals / np.maximum(outside, np.finfo(float).eps)) ** 2, axis=0)
    best = int(errors.argmin())
    return right.T @ (along * s / (s**2 + absolute[best])), float(ridges[best]), float(errors[best])
