"""Base class of learners that solve ridge regressions of all sizes and ridges on a sample together."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from pydantic import NonNegativeFloat

from bfc_bench.learner import BatchLearner, Capabilities, Context, Cost, Data, DataSpec, Failure, Job, Predictor
from bfc_bench.toolkit.groups import in_groups

if TYPE_CHECKING:
    from torch import Tensor

    from bfc_bench.toolkit.function_space import Space

CALLS_SECONDS = 1e-3
"""Seconds that the calls of a fit take at any size."""


def entry_flops(depth: int) -> float:
    """Work per entry of the kernel matrix of a network of ``depth`` layers besides products, in flops of products.

    Of n^2 entries, half are computed: 11 ns at depth 1 and 18 ns at depth 2, at 4e10 flops a second, with the first
    access to memory (``python -m benchmarks kernel_matrices``).
    """
    return 120.0 + 300.0 * depth


class RidgeLearner(BatchLearner):
    """Minimises ``sum_i (y_i - mean y - f(x_i))^2 + ridge |f|^2`` over a space of functions f; float64.

    Classes are fitted as C labels, 1 for the class and 0 for the others; the prediction of each label is the class's
    score. Subclasses return the space for their options.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        labels=frozenset({"real", "binary", "class"}),
        arrays=("torch",),
        devices=frozenset({"cpu", "cuda"}),
        max_n=60_000,
        libraries=frozenset({"scipy"}),
    )
    smoke: ClassVar[Mapping[str, Any]] = MappingProxyType({"ridge": 1e-3})

    ridge: NonNegativeFloat = 1e-6
    """Penalty on |f|^2, which is added to the diagonal of the kernel matrix at every n."""
    center: bool = True
    """Whether the mean of the training labels is subtracted before the fit and added to predictions."""

    @abstractmethod
    def space(self, x: Tensor, ctx: Context) -> Space:
        """The space of functions for fits to prefixes of x (n, d), float64 on the context's device."""

    def space_key(self, train: Data, ctx: Context) -> Hashable:
        """Jobs of one batch and device with equal values share a space; by default all of them do."""
        return None

    def batch_key(self, train: DataSpec) -> Hashable:
        """All sizes and ridges on one sample share what is computed from its points."""
        return train.sample, *self.model_dump(exclude={"ridge"}).items()

    def dual_cost(self, n: int, matrix: float, bytes: float, products: float | None = None) -> Cost:
        """Cost of a fit in n unknowns: a matrix, half a matrix for predictions at n/4 points (tuning), and a factor."""
        flops = matrix + matrix / 2 + n**3 / 3 + 4.0 * n**2
        counted = (matrix if products is None else products) + n**3 / 3 + 4.0 * n**2
        return Cost(flops, bytes, "products", CALLS_SECONDS, counted, n)

    def primal_cost(self, features: int, products: float, bytes: float) -> Cost:
        """Cost of a fit in features: products and an eigendecomposition."""
        flops = products + 9.0 * features**3 + 4.0 * features**2
        return Cost(flops, bytes, "products", CALLS_SECONDS, parameters=features)

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Fit jobs on prefixes of one sample; those whose system cannot be solved in float64 fail.

        Equal to ``fit`` up to rounding: relative 1e-8 in the predictions if the system's condition is below 1e8.
        """
        return fit_ridges(jobs)

    @classmethod
    def predict_batch(cls, predictors: Sequence[Predictor], xs: Sequence[Tensor]) -> Sequence[Tensor]:
        """Predictors of one space share what is computed from equal test inputs."""
        fitted = cast("Sequence[RidgePredictor]", predictors)  # that is what fit_batch gives
        pairs = list(zip(fitted, xs, strict=True))
        return in_groups(pairs, lambda pair: id(pair[0].space), _predict_pairs)


@dataclass(frozen=True)
class RidgePredictor(Predictor):
    """``f + offset`` for the function f with the given weights."""

    space: Space
    weights: Tensor
    """(k,), or (k, C) for classes."""
    offset: Tensor
    """Scalar, or (C,)."""
    info: Mapping[str, Any] = field(default_factory=dict)

    def predict(self, x: Tensor) -> Tensor:
        """Predictions (m,), or scores (m, C), at x (m, d)."""
        return _predict([self], x)[0]


def fit_ridges(jobs: Sequence[Job[RidgeLearner]]) -> list[RidgePredictor | Failure]:
    """One result per job, in order, for jobs of one batch key; jobs that share a space are fitted together."""
    return in_groups(jobs, lambda job: (job.ctx.device, job.learner.space_key(job.train, job.ctx)), _fit_prefixes)


def _fit_prefixes(jobs: Sequence[Job[RidgeLearner]]) -> list[RidgePredictor | Failure]:
    """Fit jobs that share a space."""
    import torch

    from bfc_bench.toolkit.precision import torch_device

    longest = max(jobs, key=lambda job: job.train.n)
    learner = longest.learner
    device = torch_device(longest.ctx.device)
    x, y = (torch.as_tensor(a, dtype=torch.float64, device=device) for a in (longest.train.x, longest.train.y))
    if longest.train.kind == "class":
        y = torch.nn.functional.one_hot(y.long(), longest.train.classes).to(y.dtype)
    sizes_by_ridge: dict[float, list[int]] = defaultdict(list)
    for ridge, n in sorted({(job.learner.ridge, job.train.n) for job in jobs}):
        sizes_by_ridge[ridge].append(n)
    space = learner.space(x, longest.ctx)
    solved = space.solve(x, y, sizes_by_ridge, learner.center)
    results: list[RidgePredictor | Failure] = []
    for job in jobs:
        ridge, n = job.learner.ridge, job.train.n
        if (solution := solved.get((ridge, n))) is None:
            reason = (
                f"{learner.name}: the system with ridge {ridge:g} must be positive definite; at n = {n} it is not in "
                "float64, whatever small jitter is added. Use a larger ridge, or look for inputs that are not finite."
            )
            results.append(Failure("failed", reason))
        else:
            info = {**space.info, "ridge": ridge, **solution.info}
            results.append(RidgePredictor(space, solution.weights, solution.offset, info))
    return results


def _predict_pairs(pairs: Sequence[tuple[RidgePredictor, Tensor]]) -> list[Tensor]:
    """Predictions of predictors of one space, each at its own x (m, d)."""
    import torch

    def first_equal(pair: tuple[RidgePredictor, Tensor]) -> int:
        """Where x comes first."""
        return next(i for i, (_, x) in enumerate(pairs) if x is pair[1] or torch.equal(x, pair[1]))

    return in_groups(pairs, first_equal, lambda same: _predict([predictor for predictor, _ in same], same[0][1]))


def _predict(predictors: Sequence[RidgePredictor], x: Tensor) -> list[Tensor]:
    """Predictions of predictors of one space at the same x (m, d), computed in one pass."""
    import torch

    like = predictors[0].weights
    shape = like.shape[1:]  # predictors of one space are fits to the same labels
    weights = like.new_zeros(max(len(p.weights) for p in predictors), len(predictors), *shape)
    for column, predictor in enumerate(predictors):
        weights[: len(predictor.weights), column] = predictor.weights
    offsets = torch.stack([predictor.offset for predictor in predictors])
    points = torch.as_tensor(x, dtype=like.dtype, device=like.device)
    values = predictors[0].space.evaluate(points, weights.flatten(1))
    return list((values.reshape(len(points), len(predictors), *shape) + offsets).unbind(1))
