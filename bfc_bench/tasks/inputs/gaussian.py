"""Gaussian inputs with independent coordinates: of one variance, with one coordinate missing, or of a power law."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, FiniteFloat

from bfc_bench.tasks.base import Float, InputLaw, Inputs


class Gaussian(Inputs):
    """x ~ N(mean, I), by default of mean 0. BFC section 5; SLIDES' correction example has E[x_i] = 1."""

    kind: ClassVar[str] = "gaussian"
    mean: FiniteFloat = 0.0
    """E[x_i], the same for every coordinate."""

    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> Float:
        """m independent points, (m, d)."""
        x = rng.standard_normal((m, law.d))
        return x + self.mean if self.mean else x

    def square_mean(self, law: InputLaw) -> Float:
        """E[x_i^2] = 1 + mean^2, (d,)."""
        return np.full(law.d, 1 + self.mean**2)

    @property
    def independent(self) -> bool:
        """True if the mean is 0."""
        return not self.mean


class GaussianDropped(Inputs):
    """A mixture of d laws: in the i-th x_i = 0, and the other coordinates are independent N(0, 1). BFC line 522.

    None of the d laws is degree-preserving, eq. (5.4); their mixture is, for degrees up to d - 1.
    """

    kind: ClassVar[str] = "gaussian-dropped"

    def check(self, d: int) -> str | None:
        """One coordinate must remain."""
        return "gaussian-dropped inputs need d >= 2" if d < 2 else None

    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> Float:
        """m independent points, (m, d), each with one zero."""
        x = rng.standard_normal((m, law.d))
        x[np.arange(m), rng.integers(law.d, size=m)] = 0
        return x

    def square_mean(self, law: InputLaw) -> Float:
        """E[x_i^2] = 1 - 1/d, (d,)."""
        return np.full(law.d, 1 - 1 / law.d)


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
