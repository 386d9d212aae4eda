"""Spherical Gaussian inputs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import FiniteFloat

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
