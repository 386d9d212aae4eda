"""Base class of ``ntk-raw`` and ``ntk-neural``: ridge regression with a neural tangent kernel on the sphere."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from bfc_plugins.tangents.rectified import Activation
from pydantic import Field, model_validator

from bfc_bench.learner import Context, Cost, Data, TaskFacts, Theory
from bfc_bench.toolkit.ridge_learner import RidgeLearner, entry_flops

if TYPE_CHECKING:
    from bfc_plugins.tangents.sphere_tangents import RandomTangents, SphereTangent
    from torch import Tensor

    from bfc_bench.toolkit.function_space import Space


class TangentLearner(RidgeLearner):
    """The linear Taylor model of a wide network around its random initial weights, trained by ridge regression.

    Model NTK-h of NR. By default the width is infinite and the kernel has a closed form; a finite ``width`` draws the
    random tangent features themselves. Inputs must have norm 1.
    """

    search: ClassVar[Mapping[str, Sequence[Any]]] = {"ridge": [10.0**k for k in range(-8, 1)]}

    activation: Activation = "relu2"
    """Activation of the linearised network; ``relu2`` is relu^2/2, ``relu3`` is relu^3/6."""
    bias: bool = True
    """Whether the constant coordinate 1 is added to the inputs."""
    depth: Annotated[int, Field(ge=1)] = 1
    """Number of hidden layers of the linearised network, all of them trained."""
    width: Annotated[int, Field(ge=1)] | None = None
    """Number of units m; None is the infinitely wide limit."""

    @model_validator(mode="after")
    def _shallow_where_finite(self) -> TangentLearner:
        if self.width is not None and self.depth > 1:
            raise ValueError(f"width must be left out (infinite) where depth > 1. Got width = {self.width}")
        return self

    @abstractmethod
    def kernel(self) -> SphereTangent:
        """The kernel of the infinitely wide limit."""

    @abstractmethod
    def tangents(self, seed: int, like: Tensor) -> RandomTangents:
        """Random tangent features of ``width`` units, for inputs with the d, dtype and device of ``like`` (n, d)."""

    @abstractmethod
    def representation_size(self, d: int) -> int:
        """D, the input dimension of a unit of the linearised network when ``width`` is finite."""

    def space_key(self, train: Data, ctx: Context) -> Hashable:
        """Random features depend on the seed; samples larger than their number are fitted in the primal."""
        return None if self.width is None else (ctx.seed, self._primal(train.n, train.d))

    def space(self, x: Tensor, ctx: Context) -> Space:
        """The kernel's Hilbert space over x (n, d), or the span of m D random features if these are fewer than n."""
        from bfc_plugins.tangents.sphere_tangents import TangentProducts

        from bfc_bench.toolkit.function_space import FeatureSpace, KernelSpace

        if self.width is None:
            return KernelSpace.on(x, self.kernel())
        tangents = self.tangents(ctx.seed, x)
        return FeatureSpace(tangents) if self._primal(*x.shape) else KernelSpace.on(x, TangentProducts(tangents))

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """Skip tasks with inputs off the unit sphere, where the closed forms do not hold."""
        if task.inputs == "sphere":
            return None
        return f"{self.name} is defined on the unit sphere; the task has {task.inputs} inputs"

    def theory(self, task: TaskFacts) -> Theory | None:
        """Only for infinite width; random features of finite width are not rotation-invariant."""
        if self.width is not None or not task.shares:
            return None
        from bfc_bench.toolkit.kernels.ridge_theory import sphere_theory

        return sphere_theory(self.kernel(), self.ridge, task)

    def cost(self, n: int, d: int) -> Cost:
        """Kernel matrix and Cholesky factorisation; or features, their products and an eigendecomposition."""
        if self.width is None:
            matrix = n**2 * (2.0 * d + entry_flops(self.depth))
            return self.dual_cost(n, matrix, 16.0 * n**2 + 16.0 * n * d + 2**24, products=2.0 * n**2 * d)
        size = self.representation_size(d)
        made = 2.0 * n * size * (d + self.width)
        if not self._primal(n, d):
            factors = n * (size + self.width)
            return self.dual_cost(n, made + 2.0 * n * factors, bytes=16.0 * (n**2 + factors) + 2**24)
        count = size * self.width
        bytes = 8.0 * (2 * n * count + 3 * count**2) + 2**24
        return self.primal_cost(n, count, made + 2.0 * n * count**2, bytes)

    def _primal(self, n: int, d: int) -> bool:
        return self.width is not None and n > self.width * self.representation_size(d)
