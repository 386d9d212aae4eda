"""Kernel ridge regression, the non-hierarchical baseline of Backward Feature Correction (Theorems 1 and I.1)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from bfc_plugins.kernels.parity import HIGHEST_DEGREE, missing_degrees, parity_caution
from pydantic import Field, NonNegativeFloat, PositiveFloat

from bfc_bench.errors import UsageError
from bfc_bench.learner import Context, Cost, Data, LabelKind, Predictor, TaskFacts, Theory
from bfc_bench.toolkit.libraries import missing
from bfc_bench.toolkit.ridge_learner import RidgeLearner, entry_flops
from bfc_bench.toolkit.square_features import nominal_square_norm, square_mean, with_squares

if TYPE_CHECKING:
    from torch import Tensor

    from bfc_bench.toolkit.function_space import Space
    from bfc_bench.toolkit.kernels.base import Kernel


class KernelRidge(RidgeLearner):
    """Minimises ``sum_i (y_i - mean y - f(x_i))^2 + ridge |f|^2`` over the kernel's Hilbert space; float64.

    With ``loss = "weighted"`` the squares are divided by 1 + (y_i / s)^2, as in networks; the mean is weighted alike.

    Kernels are scaled to 1 at a point of typical norm, so a ridge means the same for all of them. ``ntk`` and ``nngp``
    belong to a ReLU network with ``depth`` hidden layers.

    By default the kernel reads (x, x^2 - E x^2), so that ``poly`` of degree 2, labelled ``kernel-poly2`` in suites, has
    degree 4 in x. With ``with_squares = false`` it reads x.
    """

    name: ClassVar[str] = "kernel-ridge"
    search: ClassVar[Mapping[str, Sequence[Any]]] = {"ridge": [10.0**k for k in range(-8, 1)], "gamma": [0.03, 1.0]}

    kernel: Literal["rbf", "laplace", "poly", "harmonic", "ntk", "nngp"] = "rbf"
    """Family of the kernel."""
    depth: Annotated[int, Field(ge=1)] = 1
    """Number of hidden layers of ``ntk`` and ``nngp``."""
    bias_variance: NonNegativeFloat = 0.0
    """Variance of the biases of ``ntk`` and ``nngp``."""
    degree: Annotated[int, Field(ge=1)] = 2
    """Degree of ``poly``, ((1 + gamma <x, z>) / 2)^degree, and of ``harmonic``, which has the homogeneous
    harmonic polynomials of this degree alone. With squares, ``poly`` has twice this degree in x."""
    gamma: PositiveFloat = 1.0
    """Inverse squared length in units of 1 / E|x|^2 under the input law, so that one value serves every d; for
    ``harmonic``, and for ``ntk`` and ``nngp`` without bias, it only rescales ``ridge``."""
    loss: Literal["square", "weighted"] = "square"
    """Loss of real labels."""
    with_squares: bool = True
    """Whether the input is (x, x^2 - E x^2) instead of x."""

    def space_key(self, train: Data, ctx: Context) -> Hashable:
        """The kernel's scale: if the input law is unknown it depends on the sample, so only jobs of one size agree."""
        return square_mean(train.x, ctx).tobytes()

    def space(self, x: Tensor, ctx: Context) -> Space:
        """The kernel's Hilbert space over x (n, d)."""
        from bfc_bench.toolkit.function_space import KernelSpace

        mean = square_mean(x, ctx)
        gamma = self.gamma / (nominal_square_norm(mean, self.with_squares) or 1.0)
        transform = partial(with_squares, square_mean=mean) if self.with_squares else None
        kernel = self.scaled_kernel(gamma, x.shape[1] * (2 if self.with_squares else 1))
        return KernelSpace.on(x, kernel, transform, label_weights if self.loss == "weighted" else None, gamma=gamma)

    def scaled_kernel(self, gamma: float, dimension: int) -> Kernel:
        """The kernel of these options with inverse squared length ``gamma`` for points of ``dimension`` features."""
        from bfc_bench.toolkit.kernels.by_name import make_kernel

        options = self.model_dump(include={"depth", "degree", "bias_variance"})
        return make_kernel(self.kernel, gamma, dimension=dimension, **options)

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Fit to x (n, d) and y (n,). Raises ``UsageError`` for what the options do not allow."""
        if reason := self._refusal(train.kind, train.d):
            raise UsageError(f"{self.name}: {reason}.")
        return super().fit(train, ctx)

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """Skip what the options do not allow."""
        return self._refusal(task.kind, task.d) or super().skip(task, n)

    def _refusal(self, kind: LabelKind, d: int) -> str | None:
        if self.loss == "weighted" and kind != "real":
            return f"loss = 'weighted' must be used with real labels. Got {kind} labels"
        if self.kernel == "harmonic" and d == 1 and not self.with_squares:
            return "kernel = 'harmonic' must have inputs of at least 2 dimensions. Got d = 1"
        return None

    def theory(self, task: TaskFacts) -> Theory | None:
        """Only for the sphere and without squares, which break rotation invariance."""
        if self.with_squares or self.loss != "square" or not task.shares or missing(self.libraries()):
            return None
        from bfc_bench.toolkit.kernels.ridge_theory import sphere_theory

        return sphere_theory(self.scaled_kernel(self.gamma, task.d), self.ridge, task)

    def caution(self, task: TaskFacts, n: int) -> str | None:
        """Name degrees of the target that a kernel on x alone lacks on the sphere.

        With squares the kernel is not a function of <x, z>, and products of x_i and x_j^2 supply the odd degrees.
        """
        if self.with_squares or not task.degrees or missing(self.libraries()):
            return None
        lacking = missing_on_the_sphere(self.model_copy(update={"ridge": 1.0}))
        who = f"{self.name} with kernel = {self.kernel!r} on x alone"
        remedy = "set with_squares = true or take another kernel"
        return parity_caution(who, lambda degree: degree not in lacking, task, remedy)

    def cost(self, n: int, d: int) -> Cost:
        """A kernel matrix and a Cholesky factorisation, both held in memory; with weights another matrix."""
        p, matrices = (2 * d if self.with_squares else d), (2 if self.loss == "square" else 3)
        bytes = 8.0 * matrices * n**2 + 16.0 * n * p + 2**24
        return self.dual_cost(n, n**2 * (p + entry_flops(self.depth)), bytes, 2.0 * n**2 * p)


def label_weights(y: Tensor) -> Tensor:
    """1 / (1 + (y / s)^2), (n,), for labels (n,), s the .9 quantile of |y - median y| as in networks."""
    import torch

    scale = torch.quantile((y - torch.quantile(y, 0.5)).abs(), 0.9)
    return 1 / (1 + (y / scale) ** 2) if scale else torch.ones_like(y)


@lru_cache(maxsize=64)
def missing_on_the_sphere(learner: KernelRidge) -> frozenset[int]:
    """Degrees that the kernel lacks on the sphere, computed from its values along a great circle."""
    from bfc_bench.toolkit.kernels.spectrum import profile

    if learner.kernel == "harmonic":  # not the restriction of one function of <x, z> to every dimension
        return frozenset(range(1, HIGHEST_DEGREE + 1)) - {learner.degree}
    return missing_degrees(partial(profile, learner.scaled_kernel(learner.gamma, 2)))
