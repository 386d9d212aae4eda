"""Linear regression over a prescribed feature map, the learner of BFC Theorem I.3."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from bfc_plugins.kernels.kernel_ridge import KernelRidge, missing_on_the_sphere
from bfc_plugins.kernels.parity import parity_caution
from pydantic import Field, PositiveFloat

from bfc_bench.learner import Capabilities, Context, Cost, Data, TaskFacts
from bfc_bench.toolkit.ridge_learner import RidgeLearner
from bfc_bench.toolkit.square_features import nominal_square_norm, square_mean, with_squares

if TYPE_CHECKING:
    from torch import Tensor

    from bfc_bench.toolkit.function_space import Space


LIMITS: Mapping[str, Any] = {"fourier": "rbf", "relu": "nngp", "polynomial": "poly"}
"""The kernel of ``kernel-ridge`` that each map tends to."""


class RandomFeatures(RidgeLearner):
    """Minimises ``sum_i (y_i - mean y - w.phi(x_i))^2 + ridge |w|^2`` over w in R^D; float64.

    phi(x) in R^D is drawn from the seed, independently of the data. As D grows, phi(x).phi(z) tends to a kernel of
    ``kernel-ridge`` with the same gamma and degree: ``fourier`` to ``rbf``, ``relu`` to ``nngp`` of depth 1,
    ``polynomial`` to ``poly``. Up to a factor, a map with fewer features is the beginning of one with more. Theorem
    I.3: at any n, D < C(d, 2^(L-1)) / 1000 features miss a constant fraction of the target's highest layer.
    """

    name: ClassVar[str] = "random-features"
    capabilities: ClassVar[Capabilities] = replace(RidgeLearner.capabilities, max_n=None)
    smoke: ClassVar[Mapping[str, Any]] = {"features": 30, "ridge": 1e-3}
    search: ClassVar[Mapping[str, Sequence[Any]]] = KernelRidge.search

    map: Literal["fourier", "relu", "polynomial"] = "fourier"
    """Type of the features: cosines, ReLU units, or products of projections."""
    features: Annotated[int, Field(ge=1)] = 1000
    """Number of features D."""
    degree: Annotated[int, Field(ge=1)] = 2
    """Degree of ``polynomial``."""
    gamma: PositiveFloat = 1.0
    """Inverse squared length in units of 1 / E|x|^2 under the input law; for ``relu`` it only rescales ``ridge``."""
    with_squares: bool = True
    """Whether the input is (x, x^2 - E x^2) instead of x."""

    def space_key(self, train: Data, ctx: Context) -> Hashable:
        """Seed and scale; if the input law is unknown the scale depends on the sample: only jobs of one size agree."""
        return ctx.seed, square_mean(train.x, ctx).tobytes()

    def space(self, x: Tensor, ctx: Context) -> Space:
        """The span of the features; sizes n <= D are solved in the dual, larger ones in the primal."""
        from bfc_bench.toolkit.feature_maps import make_map
        from bfc_bench.toolkit.function_space import FeatureSpace

        mean = square_mean(x, ctx)
        gamma = self.gamma / (nominal_square_norm(mean, self.with_squares) or 1.0)
        p = x.shape[1] * (2 if self.with_squares else 1)
        feature_map = make_map(self.map, self.features, p, gamma, degree=self.degree, seed=ctx.seed, like=x)
        transform = partial(with_squares, square_mean=mean) if self.with_squares else None
        return FeatureSpace(feature_map, transform, {"gamma": gamma})

    def caution(self, task: TaskFacts, n: int) -> str | None:
        """Name degrees of the target that features of x alone lack on the sphere, as their limit kernel does."""
        if self.with_squares or not task.degrees or self.skip(task, n):
            return None
        limit = KernelRidge(kernel=LIMITS[self.map], degree=self.degree, ridge=1.0, with_squares=False)
        lacking = missing_on_the_sphere(limit)
        who = f"{self.name} with map = {self.map!r} on x alone"
        remedy = "set with_squares = true or take another map"
        return parity_caution(who, lambda degree: degree not in lacking, task, remedy)

    def cost(self, n: int, d: int) -> Cost:
        """The features, their products, and a Cholesky factorisation (n <= D) or an eigendecomposition (n > D)."""
        p, small = (2 * d if self.with_squares else d), min(n, self.features)
        factors = self.degree if self.map == "polynomial" else 1
        products = 2.0 * n * self.features * (p * factors + small)
        bytes = 8.0 * (n * (self.features + p) + 3 * small**2 + self.features * p * factors) + 2**24
        if n <= self.features:
            return self.dual_cost(n, products, bytes)
        return self.primal_cost(self.features, products, bytes)
