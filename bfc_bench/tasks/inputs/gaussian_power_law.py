"""Gaussian inputs whose variances follow a power law."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from bfc_bench.tasks.base import Float, InputLaw, Inputs


class GaussianPowerLaw(Inputs):
    """x ~ N(0, H) with H = diag(1, 2^-a, ..., d^-a). Lin et al. (2024), arXiv 2406.08466.

    Paquette et al. (2024), arXiv 2405.15074, write a = 2 alpha.
    """

    kind: ClassVar[str] = "gaussian-power-law"
    a: Annotated[float, Field(gt=0, le=10)] = 2.0
    """Exponent of the spectrum: E[x_i^2] = i^-a."""

    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> Float:
        """m independent points, (m, d)."""
        x: Float = rng.standard_normal((m, law.d))
        x *= np.sqrt(self.square_mean(law))
        return x

    def square_mean(self, law: InputLaw) -> Float:
        """E[x_i^2] = i^-a, (d,)."""
        return np.asarray(np.arange(1.0, law.d + 1) ** -self.a)

    @property
    def independent(self) -> bool:
        """True."""
        return True
