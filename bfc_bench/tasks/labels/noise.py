"""Labels with independent noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, FiniteFloat

from bfc_bench.tasks.base import Float, Labelling, Labels


class Noise(Labels):
    """y = G*(x) + e with Gaussian e, independent of x, whose standard deviation is ``sd`` times the target's."""

    kind: ClassVar[str] = "noise"
    sd: Annotated[FiniteFloat, Field(ge=0)]
    """Standard deviation of e over that of the target."""

    @property
    def facts(self) -> Mapping[str, object]:
        """``opt`` = sd^2."""
        return {"opt": self.sd**2}

    @property
    def noise_variance(self) -> float:
        """sd^2."""
        return self.sd**2

    def label(self, rng: np.random.Generator, seen: Float, values: Float, labelling: Labelling) -> Float:
        """The noisy target values, (m,)."""
        return values + self.sd * labelling.deviation * rng.standard_normal(len(values))
