"""The neural tangent kernel of a random representation, NTK-Neural of "Benefits of Neural Representations"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from bfc_plugins.tangents.base import TangentLearner
from bfc_plugins.tangents.rectified import Gate
from pydantic import Field, model_validator

if TYPE_CHECKING:
    from bfc_plugins.tangents.sphere_tangents import RandomTangents, SphereTangent
    from torch import Tensor


class NtkNeural(TangentLearner):
    """``f(x) = m^-1/2 sum_r a_r s'(w_r . h) <u_r, h>`` with trained u_r, on h = D^-1/2 g(V x + b), V and b random.

    NR section 5. With the defaults, g the indicator and s = relu^2/2, its kernel tends to H_inf = k1(2 s) s / 2 with
    s = k0((1 + <x, x'>)/2) as m and D grow. Theorem 3: it needs d^p samples for a polynomial of degree p, as
    ``ntk-raw`` does: the representation gains nothing.
    """

    name: ClassVar[str] = "ntk-neural"

    inner: Gate = "indicator"
    """Activation g of the random representation."""
    features: Annotated[int, Field(ge=1)] | None = None
    """Number of inner units D; set it together with ``width``."""

    @model_validator(mode="after")
    def _both_finite(self) -> NtkNeural:
        if (self.width is None) != (self.features is None):
            raise ValueError(
                "width and features must both be given or both be left out (infinite). "
                f"Got width = {self.width} and features = {self.features}"
            )
        return self

    def kernel(self) -> SphereTangent:
        """H_inf, scaled to 1 on the diagonal."""
        from bfc_plugins.tangents.sphere_tangents import SphereTangent

        return SphereTangent(self.name, self.activation, self.bias, self.inner, self.depth)

    def tangents(self, seed: int, like: Tensor) -> RandomTangents:
        """s'(w_r . h) h."""
        from bfc_plugins.tangents.sphere_tangents import RandomTangents

        sizes: dict[str, Any] = {"width": self.width or 0, "features": self.features or 0}
        return RandomTangents.draw(
            self.name, seed, like, activation=self.activation, bias=self.bias, inner=self.inner, **sizes
        )

    def representation_size(self, d: int) -> int:
        """D."""
        return self.features or 0
