"""Uniform inputs with unit variance."""

from __future__ import annotations

from math import sqrt
from typing import ClassVar

import numpy as np

from bfc_bench.tasks.base import Float, InputLaw, Inputs


class Uniform(Inputs):
    """x uniform on [-sqrt 3, sqrt 3]^d, so that E[x x^T] = I and degree-2^L targets keep light tails."""

    kind: ClassVar[str] = "uniform"

    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> Float:
        """m independent points, (m, d)."""
        return rng.uniform(-sqrt(3), sqrt(3), (m, law.d))

    @property
    def independent(self) -> bool:
        """True."""
        return True
