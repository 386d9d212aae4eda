"""One pass of stochastic gradient descent on sketched features."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil, log2
from typing import Any, ClassVar, Literal, Self

import numpy as np
from bfc_plugins.power_laws.sketch import LinearPredictor, SketchedLearner, sketch_key, sketched
from bfc_plugins.power_laws.theory import SketchedProblem, theory_of
from pydantic import PositiveFloat

from bfc_bench.learner import Cost, Failure, Job, Predictor, TaskFacts, Theory
from bfc_bench.toolkit.groups import in_groups
from bfc_bench.toolkit.square_features import square_mean


class SketchedSgd(SketchedLearner):
    """v <- v + gamma_t (y - v . z) z, once for each training point in order, from v = 0; z = S x has M features.

    With ``schedule = "geometric"``, gamma_t = gamma_0 / 2^l in the l-th part of the pass, whose parts have n / log2(n)
    points (Lin et al. 2024, arXiv 2406.08466). For a spectrum i^-a and the prior E w w^T = I, the excess risk
    is of the order M^-(a-1) + (n / log n)^-((a-1)/a). With ``schedule = "constant"``, gamma_t = gamma_0
    (Paquette et al. 2024, arXiv 2405.15074).

    Rows count 4 n M operations, those of the steps, as these papers do.
    """

    name: ClassVar[str] = "sketched-sgd"
    smoke: ClassVar[Mapping[str, Any]] = {"features": 40}

    rate: PositiveFloat = 0.5
    """gamma_0 times the expected squared norm of z, tr(S H S^T)."""
    schedule: Literal["geometric", "constant"] = "geometric"
    """Whether the step size is halved after each n / log2(n) points, or constant."""

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Fit jobs on prefixes of one sample; those with the same sketch are one loop over its points."""
        return in_groups(jobs, sketch_key, _fit_one_sketch)

    def lengths(self, n: int) -> list[int]:
        """Number of points in each stage of a pass over n points; the step size is halved from stage to stage."""
        stages = 1 if self.schedule == "constant" else ceil(log2(max(n, 2)))
        ends = [min(n, ceil(n * (stage + 1) / log2(max(n, 2)))) for stage in range(stages - 1)]
        return [end - start for start, end in pairwise([0, *ends, n])]

    def steps(self, n: int) -> np.ndarray:
        """The step sizes of a pass over n points, times the expected squared norm of z, (n,)."""
        lengths = self.lengths(n)
        return np.repeat(self.rate * 0.5 ** np.arange(len(lengths)), lengths)

    def theory(self, task: TaskFacts) -> Theory | None:
        """The expected risk, by the exact recursion of its second moments (``SketchedProblem.after_sgd``)."""

        def error(problem: SketchedProblem, n: float) -> float:
            return problem.after_sgd(self.rate, self.lengths(max(1, round(n))))

        return theory_of(task, self.size(task.d), error)

    def cost(self, n: int, d: int) -> Cost:
        """The features of all points, and about four calls a point."""
        features = self.size(d)
        products = 2.0 * n * d * features
        return Cost(
            flops=products + 4.0 * n * features,
            bytes=8.0 * (n * features + 2 * d * features),
            work="products",
            seconds=6e-6 * n,
            counted=4.0 * n * features,
            parameters=features,
        )


def _fit_one_sketch(jobs: Sequence[Job[SketchedSgd]]) -> list[Predictor | Failure]:
    sketch, z, y = sketched(jobs)
    return [
        LinearPredictor(v @ sketch, {"features": len(v)})
        if np.isfinite(v).all()
        else Failure("diverged", "the weights are not finite; use a smaller rate")
        for v in one_pass(z, y, [_steps(job, sketch) for job in jobs])
    ]


def one_pass(z: np.ndarray, y: np.ndarray, steps: Sequence[np.ndarray]) -> np.ndarray:
    """Weights (J, M) after J passes over features z (N, M), each with ``steps`` (n,) of its own."""
    longest_first = sorted(range(len(steps)), key=lambda j: -len(steps[j]))  # rows still to be trained are the first
    weights = np.zeros((len(steps), z.shape[1]))
    gammas = np.zeros((len(z), len(steps)))
    for row, j in enumerate(longest_first):
        gammas[: len(steps[j]), row] = steps[j]
    with np.errstate(over="ignore", invalid="ignore"):
        start = 0
        for active in range(len(steps), 0, -1):
            rows, end = weights[:active], len(steps[longest_first[active - 1]])
            for t in range(start, end):
                rows += (gammas[t, :active] * (y[t] - rows @ z[t]))[:, None] * z[t]
            start = end
    return weights[np.argsort(longest_first)]


def _steps(job: Job[SketchedSgd], sketch: np.ndarray) -> np.ndarray:
    """The step sizes of a job, (n,)."""
    norm = float(square_mean(job.train.x, job.ctx) @ np.sum(sketch**2, axis=0))
    return job.learner.steps(job.train.n) / (norm or 1.0)
