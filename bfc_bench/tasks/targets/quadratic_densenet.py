"""The quadratic DenseNet teacher."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field, FiniteFloat, field_validator, model_validator

from bfc_bench.tasks.base import InputLaw
from bfc_bench.tasks.targets.densenet_teacher import DensenetTeacher, draw_weights
from bfc_bench.tasks.targets.options import OfSquares, RandomDensenet

Skips = tuple[tuple[int, ...], ...]


class QuadraticDensenet(OfSquares, RandomDensenet):
    """G* = sum_l alpha_l Sum(G_l), l = 2..L, of degree 2^L. BFC section 2 (lines 163-190).

    G_0 = x, G_1 = x^2 - E[x^2], S_l = sum_{j in J_l} W_{l,j} G_j (k_l-dimensional), G_l = S_l^2. Each W_{l,j} is a
    random matrix U Sigma V (Remark 3.1) times one positive number, such that its contribution W_{l,j} G_j has a
    standard deviation of 1/sqrt(|J_l|) per coordinate (root mean square over the coordinates). V has orthonormal rows,
    and the singular values in Sigma are log-uniform between 1 / kappa and kappa (``condition``): with kappa = 1 the
    rows of W_{l,j} are orthogonal. With ``share_skips``, the contribution of G_{l-1} + G_{l-3} has the share of two.
    """

    kind: ClassVar[str] = "quadratic-densenet"
    skips: Skips = ()
    """J_2, ..., J_L, the layers that feed each layer; by default J_2 = {1}, J_3 = {0, 2}, J_l = {0, l-1}. The source's
    theory has no l-2 in J_l."""
    condition: Annotated[FiniteFloat, Field(ge=1)] = 1.0
    """kappa: up to a common factor, the singular values of every W_{l,j} lie between 1 / kappa and kappa (property
    3)."""
    share_skips: bool = False
    """Whether W_{l,l-1} = W_{l,l-3} for l >= 3, as in a ResNet (footnote 4). Needs l-3 and l-1 in each of these J_l,
    and equal widths of the two: k_2 = d for l = 3."""

    @model_validator(mode="before")
    @classmethod
    def _default_skips(cls, values: Any) -> Any:
        if not isinstance(values, Mapping) or "skips" in values:
            return values
        widths = values.get("widths")
        depth = len(widths) + 1 if isinstance(widths, Sequence) else 1
        return {**values, "skips": [[1], *([0, layer - 1] for layer in range(3, depth + 1))][: depth - 1]}

    @field_validator("skips")
    @classmethod
    def _skips_are_layers_below(cls, skips: Skips) -> Skips:
        """J_l is a subset of 0..l-1, with l-1 and, for l >= 3, one more. BFC line 170, which also excludes l-2."""
        for layer, below in enumerate(skips, start=2):
            if len(set(below)) < len(below) or not set(below) <= set(range(layer)):
                raise ValueError(f"must list different layers of 0..{layer - 1} in J_{layer}, which is {list(below)}")
            if layer - 1 not in below:
                raise ValueError(f"must list layer {layer - 1} in J_{layer}, which is {list(below)}")
            if layer >= 3 and len(below) < 2:
                raise ValueError(
                    f"must have a skip link besides layer {layer - 1} in J_{layer}, which is {list(below)}"
                )
        return tuple(tuple(sorted(below)) for below in skips)

    def check(self, d: int) -> str | None:
        """Orthonormal rows need k_2 <= d, and layers that share weights must be there, with equal widths."""
        widths = (d, d, *self.widths)
        for layer, below in enumerate(self.skips[1:] if self.share_skips else (), start=3):
            if layer - 3 not in below:
                return f"share_skips needs layer {layer - 3} in J_{layer}, which is {list(below)}"
            if widths[layer - 1] != widths[layer - 3]:
                return (
                    f"share_skips needs layers {layer - 3} and {layer - 1} to have one width. "
                    f"They have {widths[layer - 3]} and {widths[layer - 1]}"
                )
        return super().check(d)

    def check_teacher(self, other: Self) -> str | None:
        """Layers are drawn from below, so one may be deeper; common layers need equal widths and skips."""
        common = min(len(self.widths), len(other.widths))
        if self.share_skips != other.share_skips:
            return "both need the same share_skips"
        if (self.widths[:common], self.skips[:common]) != (other.widths[:common], other.skips[:common]):
            return "both need the same widths and skips in the layers that both have"
        return None

    def draw(self, rng: np.random.Generator, law: InputLaw) -> DensenetTeacher:
        """One teacher. Raises ``UsageError`` when a contribution is constant under the law."""
        weights = draw_weights(rng, law, self.widths, self.skips, self.kind, self.condition, self.share_skips)
        return DensenetTeacher(weights, self.alphas, law.square_mean)
