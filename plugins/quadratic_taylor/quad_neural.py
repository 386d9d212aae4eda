"""The quadratic Taylor model of a two-layer network on a random neural representation, Quad-Neural."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from bfc_plugins.quadratic_taylor.base import QuadraticTaylorLearner
from pydantic import Field

from bfc_bench.errors import UsageError
from bfc_bench.learner import Context, Cost, TaskFacts
from bfc_bench.utils.legendre import harmonics_dimension

if TYPE_CHECKING:
    from bfc_plugins.quadratic_taylor.model import Representation
    from torch import Tensor


class QuadNeural(QuadraticTaylorLearner):
    """Quad-h with h the whitened features g(x) = phi(V x + b) of a random layer (NR section 4, Algorithm 1).

    Sigma, the second moment of g, is estimated on the task's unlabeled inputs, or on the training inputs if it has
    none. Algorithm 1 exactly as printed is ``inner = "indicator", gate = "indicator", whitening = "exact"`` with a
    ``width`` of some hundreds. The defaults minimised validation error on pure degrees 3 and 4 at d = 8, 12, 16.
    """

    name: ClassVar[str] = "quad-neural"
    smoke: ClassVar[Mapping[str, Any]] = {"features": 20, "width": 12, "iterations": 20}

    width: Annotated[int, Field(ge=1)] = 24
    """Number of units m; gates that are not constant need some hundreds."""
    gate: Literal["indicator", "constant"] = "constant"
    """sigma'': ``indicator`` is the paper's 1{t >= 0}; ``constant`` is its mean 1/2, which makes f_W quadratic in h."""
    features: Annotated[int, Field(ge=1)] | None = None
    """Number of features D; None is 8 (16 for indicators) times the number (d-1)(d+2)/2 of harmonics of degree 2, which
    suffices for targets of degree 3 and 4."""
    inner: Literal["indicator", "relu2"] = "relu2"
    """Activation phi: ``indicator`` is the paper's 1{t >= 0}; ``relu2`` is relu(t)^2/2."""
    order: Annotated[int, Field(ge=1)] | None = None
    """k of NR Assumption 2: D is the number of harmonics of degree k, about d^k / k!, instead of ``features``, and rows
    have lambda_k, the least eigenvalue of Sigma of the first layer, as ``chosen.info.lambda_k``."""
    biases: bool = True
    """Whether the random layer has biases b; Assumption 2 cannot hold with them, see ``docs/representations.md``."""
    depth: Annotated[int, Field(ge=1)] = 1
    """Number of random layers; each is whitened, scaled to norm 1 and given to the next (NR section 6)."""
    whitening: Literal["exact", "ridge", "none", "regularizer"] = "ridge"
    """h is Sigma^(-1/2) g (exact), (Sigma + .3 tr(Sigma)/D I)^(-1/2) g (ridge), a multiple of g (none), or a multiple
    of g with the regulariser sum_r |Sigma^(1/2) w_r|^4 (regularizer, NR section 4.2)."""

    def dimension(self, d: int) -> int:
        """D at input dimension d."""
        if self.order is not None:
            return harmonics_dimension(d, self.order)
        return self.features or (16 if self.inner == "indicator" else 8) * max(harmonics_dimension(d, 2), 1)

    def represent(self, x: Tensor, scale: float, ctx: Context) -> Representation:
        """The whitened features. Raises ``UsageError`` if exact whitening has too few points."""
        import torch
        from bfc_plugins.quadratic_taylor.representation import RandomLayer, least_eigenvalue, represent, second_moment

        d = x.shape[1]
        points = x if ctx.unlabeled is None else torch.as_tensor(ctx.unlabeled, dtype=x.dtype, device=x.device)
        if reason := self._too_few(len(points), d):
            raise UsageError(f"{self.name}: {reason}.")
        size, below, inputs = self.dimension(d), None, points
        info: dict[str, Any] = {"n_0": len(points)}
        info["whitened_on"] = "training inputs" if ctx.unlabeled is None else "unlabeled inputs"
        for level in range(1, self.depth + 1):
            layer = RandomLayer.draw(size, inputs.shape[1], self.inner, ctx.seed, x, level=level, biased=self.biases)
            representation = represent(layer, scale, inputs, self.whitening, below)
            if self.order is not None and level == 1:
                info["lambda_k"] = least_eigenvalue(second_moment(layer, scale * points))
            below = representation.features
            if level < self.depth:
                inputs, scale = below(points), size**-0.5
        return replace(representation, info=info)

    def cost(self, n: int, d: int) -> Cost:
        """Each layer beyond the first takes another whitening, and a product with the features of each point."""
        first, size = super().cost(n, d), self.dimension(d)
        return replace(first, flops=first.flops + (self.depth - 1) * (20.0 * size**3 + 4.0 * n * size**2))

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """Skip exact whitening with fewer points than features, where Sigma is singular."""
        return super().skip(task, n) or self._too_few(task.unlabeled or n, task.d)

    def _too_few(self, points: int, d: int) -> str | None:
        size = self.dimension(d)
        if self.whitening in ("none", "ridge") or points >= size:
            return None
        return (
            f"whitening = {self.whitening!r} needs at least as many inputs without labels as features; there are "
            f"n_0 = {points} for D = {size}: take whitening = 'ridge', fewer features, or more unlabeled inputs"
        )
