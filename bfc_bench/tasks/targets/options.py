"""Types and checks of options that targets share."""

from itertools import pairwise
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, Field, FiniteFloat, PositiveInt, ValidationInfo, field_validator

from bfc_bench.tasks.base import Inputs, Target
from bfc_bench.tasks.inputs.uniform import Hypercube


def _check_not_increasing(values: tuple[float, ...]) -> tuple[float, ...]:
    if not values:
        raise ValueError("must have an entry per layer, one at least")
    if any(after > before for before, after in pairwise(values)):
        raise ValueError("must not increase from one layer to the next")
    return values


Widths: TypeAlias = Annotated[tuple[PositiveInt, ...], AfterValidator(_check_not_increasing)]
"""Layer widths, not increasing."""
Alphas: TypeAlias = Annotated[tuple[Annotated[FiniteFloat, Field(gt=0)], ...], AfterValidator(_check_not_increasing)]
"""Layer scales alpha_l, positive, not increasing. The information gap is a strict decrease."""


class RandomDensenet(Target):
    """A DenseNet with random weights, of layers with widths and scales."""

    widths: Widths
    """Widths k_l of the layers, from the lowest with weights to L, not increasing."""
    alphas: Alphas
    """Scales alpha_l of these layers, positive, not increasing. The information gap is a strict decrease."""

    @field_validator("alphas", "skips", check_fields=False)
    @classmethod
    def _one_per_width(cls, values: tuple[Any, ...], info: ValidationInfo) -> tuple[Any, ...]:
        widths = info.data.get("widths")
        if widths is not None and len(values) != len(widths):
            raise ValueError(f"must have one entry per width, {len(widths)} in all")
        return values

    def check(self, d: int) -> str | None:
        """Why orthonormal rows of the first width do not exist in d dimensions, or None."""
        return f"widths[0] = {self.widths[0]} is above the input dimension {d}" if self.widths[0] > d else None


class OfSquares(Target):
    """A target of the squares x_i^2, which must not be constant."""

    def check_inputs(self, inputs: Inputs) -> str | None:
        """Why the target does not go with an input law, or None."""
        return "x^2 is constant on hypercube inputs, so that G_1 = 0" if isinstance(inputs, Hypercube) else None
