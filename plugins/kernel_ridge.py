"""Kernel ridge regression, the non-hierarchical baseline of Backward Feature Correction (Theorems 1 and I.1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Field

from bfc_bench.errors import BenchError
from bfc_bench.learner import (
    Array,
    Capabilities,
    Context,
    Cost,
    Data,
    Failure,
    Job,
    Learner,
    Outline,
    Predictor,
    TaskFacts,
)

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from bfc_bench.toolkit.kernels import Kernel, Points

T = TypeVar("T")


class KernelRidge(Learner):
    """Minimises ``sum_i (y_i - f(x_i) - mean y)^2 + ridge |f|^2`` over the kernel's space; float64.

    Kernels are scaled to 1 at a point of typical norm, so a ridge means the same for all of them. ``ntk`` and ``nngp``
    are those of a ReLU network with ``depth`` hidden layers; ``compositional`` is the dual of any ``activation``
    composed with itself ``depth`` times, evaluated by neural-tangents (``toolkit.compositional``).
    """

    name: ClassVar[str] = "kernel-ridge"
    capabilities: ClassVar[Capabilities] = Capabilities(
        labels=frozenset({"real", "binary"}), arrays=("torch",), devices=frozenset({"cpu", "cuda"}), max_n=60_000
    )
    smoke: ClassVar[Mapping[str, Any]] = {"ridge": 1e-3}
    search: ClassVar[Mapping[str, Sequence[Any]]] = {
        "ridge": [10.0**k for k in range(-8, 1)],
        "gamma": [0.03, 1.0],
    }

    kernel: Literal["rbf", "poly", "ntk", "nngp", "compositional"] = "rbf"
    depth: Annotated[int, Field(ge=1)] = 1
    """Hidden layers, of ``ntk``, ``nngp`` and ``compositional``."""
    activation: Literal["relu", "erf", "gelu", "quadratic", "sin", "sigmoid"] = "relu"
    """Of ``compositional``; ``quadratic`` is t^2, ``sigmoid`` the error function moved and scaled to look like one."""
    bias_variance: Annotated[float, Field(ge=0)] = 0.0
    """Variance of every bias, of ``ntk`` and ``nngp``."""
    degree: Annotated[int, Field(ge=1)] = 2
    """Of ``poly``: ((coef0 + gamma <x, z>) / (coef0 + 1))^degree."""
    coef0: Annotated[float, Field(ge=0)] = 1.0
    """Constant of ``poly``."""
    gamma: Annotated[float, Field(gt=0)] = 1.0
    """Inverse squared length in units of 1 / E|x|^2 under the input law, so that one value serves every d. Changes only
    the meaning of ``ridge`` for ``ntk`` and ``nngp`` without bias."""
    with_squares: bool = True
    """Whether the input is (x, x^2 - E x^2) or x."""
    ridge: Annotated[float, Field(ge=0)] = 1e-6
    """Added to the diagonal of the kernel matrix, whatever n is."""
    center: bool = True
    """Whether the mean of the training labels is taken off before and added after."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Fit to the n training points. Raises ``BenchError`` when the system is indefinite in float64."""
        (result,) = self.fit_batch([Job(self, train, ctx)])
        if isinstance(result, Failure):
            raise BenchError(result.reason)
        return result

    def batch_key(self, train: Outline) -> Hashable:
        """All sizes and ridges of one sample and kernel share a kernel matrix, and sizes a factorisation."""
        return train.sample, *self.model_dump(exclude={"ridge"}).items()

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job]) -> Sequence[Predictor | Failure]:
        """Fit jobs that are prefixes of one sample: one kernel matrix, one factorisation per ridge.

        Equal to ``fit`` up to rounding: relative 1e-8 in the predictions where the system's condition is below 1e8.
        """
        results: dict[int, Predictor | Failure] = {}
        means = [_square_mean(job) for job in jobs]
        # Where the input law is unknown the training mean scales the kernel, and only jobs of one size share it.
        for members in group(range(len(jobs)), lambda i: (jobs[i].ctx.device, means[i].tobytes())):
            fitted = _fit_prefixes([jobs[i] for i in members], means[members[0]])
            results.update(zip(members, fitted, strict=True))
        return [results[i] for i in range(len(jobs))]

    @classmethod
    def predict_batch(cls, predictors: Sequence[Predictor], xs: Sequence[Array]) -> Sequence[Array]:
        """Predictors of one batch share the kernel between their sample and test inputs that are equal."""
        import torch

        results: dict[int, Array] = {}
        for members in group(range(len(predictors)), lambda i: id(predictors[i].support)):
            left = members
            while left:
                x = xs[left[0]]
                same = [i for i in left if xs[i] is x or torch.equal(xs[i], x)]
                results.update(zip(same, _predict([predictors[i] for i in same], x), strict=True))
                left = [i for i in left if i not in same]
        return [results[i] for i in range(len(predictors))]

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """A compositional kernel needs neural-tangents."""
        if self.kernel != "compositional":
            return None
        from bfc_bench.toolkit.tangents import unavailable

        return unavailable()

    def cost(self, n: int, d: int) -> Cost:
        """A Cholesky factorisation; kernel matrix and factor in memory."""
        p = 2 * d if self.with_squares else d
        return Cost(flops=n**3 / 3 + n**2 * (p + 40 * self.depth), bytes=16.0 * n**2 + 16.0 * n * p + 2**24)


@dataclass(frozen=True)
class Support:
    """What the predictors of one batch share: the sample's points and the kernel on them."""

    kernel: Kernel
    points: Points
    square_mean: np.ndarray
    squares: bool

    def prepare(self, x: Tensor) -> Points:
        """Points for the kernel from inputs (m, d)."""
        return self.kernel.points(_features(x, self.square_mean, self.squares))


@dataclass(frozen=True)
class KernelPredictor(Predictor):
    """``k(x, X_n) @ weights + offset``."""

    support: Support
    weights: Tensor
    """(n,)."""
    offset: Tensor
    """Scalar."""
    info: Mapping[str, Any] = field(default_factory=dict)

    def predict(self, x: Array) -> Array:
        """Predictions (m,) at x (m, d)."""
        return _predict([self], x)[0]


def _square_mean(job: Job) -> np.ndarray:
    from bfc_bench.toolkit.features import square_mean

    return square_mean(job.train.x, job.ctx)


def _features(x: Tensor, square_mean: np.ndarray, squares: bool) -> Tensor:
    from bfc_bench.toolkit.features import with_squares

    return with_squares(x, square_mean) if squares else x


def _fit_prefixes(jobs: Sequence[Job], square_mean: np.ndarray) -> list[Predictor | Failure]:
    import torch

    from bfc_bench.toolkit.features import nominal_square_norm
    from bfc_bench.toolkit.kernels import make_kernel
    from bfc_bench.toolkit.precision import torch_device
    from bfc_bench.toolkit.ridge import RidgeCurve

    longest = max(jobs, key=lambda job: job.train.n)
    options: KernelRidge = longest.learner
    device = torch_device(longest.ctx.device)
    x, y = (torch.as_tensor(a, dtype=torch.float64, device=device) for a in (longest.train.x, longest.train.y))
    gamma = options.gamma / (nominal_square_norm(square_mean, options.with_squares) or 1.0)
    kernel = make_kernel(
        options.kernel,
        gamma,
        depth=options.depth,
        degree=options.degree,
        coef0=options.coef0,
        bias_variance=options.bias_variance,
        activation=options.activation,
    )
    points = kernel.points(_features(x, square_mean, options.with_squares))
    support = Support(kernel, points, square_mean, options.with_squares)
    curve = RidgeCurve(kernel.gram(points, mirror=False))
    results: dict[tuple[float, int], Predictor | Failure] = {}
    for members in group(jobs, lambda job: job.learner.ridge):
        ridge = members[0].learner.ridge
        solution = curve.solve(y.unsqueeze(1), sorted({job.train.n for job in members}), ridge, options.center)
        for k, (n, jitter) in enumerate(zip(solution.sizes, solution.jitters, strict=True)):
            info = {"gamma": gamma, "ridge": ridge, "jitter": jitter}
            results[ridge, n] = (
                Failure("failed", _indefinite(options.kernel, ridge, n))
                if jitter is None
                else KernelPredictor(support, solution.weights[:n, k, 0].clone(), solution.offsets[k, 0], info)
            )
    return [results[job.learner.ridge, job.train.n] for job in jobs]


def _indefinite(kernel: str, ridge: float, n: int) -> str:
    return (
        f"kernel-ridge: the {kernel} kernel matrix + {ridge:g} I must be positive definite; at n = {n} it is not in "
        "float64, whatever small jitter is added. Use a larger ridge, or look for inputs that are not finite."
    )


def _predict(predictors: Sequence[KernelPredictor], x: Array) -> list[Array]:
    """Predictions of predictors of one support at the same x (m, d): one pass over the kernel."""
    import torch

    support = predictors[0].support
    weights = support.points.features.new_zeros(max(len(p.weights) for p in predictors), len(predictors))
    for column, predictor in enumerate(predictors):
        weights[: len(predictor.weights), column] = predictor.weights
    points = support.prepare(torch.as_tensor(x, dtype=weights.dtype, device=weights.device))
    values = support.kernel.matmul(points, support.points[: len(weights)], weights)
    return [values[:, column] + predictor.offset for column, predictor in enumerate(predictors)]


def group(items: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """Items of equal keys together, in the order in which they came."""
    groups: dict[Hashable, list[T]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return list(groups.values())
