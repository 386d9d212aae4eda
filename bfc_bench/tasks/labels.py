"""Ways of labelling."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, FiniteFloat

from bfc_bench.tasks.base import Float, Labels


class Clean(Labels):
    """y = G*(x)."""

    kind: ClassVar[str] = "clean"

    def label(self, rng: np.random.Generator, x: Float, values: Float, scale: float) -> Float:
        """The target values, (m,)."""
        return values


class Noise(Labels):
    """y = G*(x) + e with Gaussian e, independent of x, whose standard deviation is ``sd`` times the target's."""

    kind: ClassVar[str] = "noise"
    sd: Annotated[FiniteFloat, Field(ge=0)]

    def label(self, rng: np.random.Generator, x: Float, values: Float, scale: float) -> Float:
        """The noisy target values, (m,)."""
        return values + self.sd * scale * rng.standard_normal(len(values))


LABELS: tuple[type[Labels], ...] = (Clean, Noise)
"""The built-in ways of labelling."""
