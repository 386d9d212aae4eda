"""Inputs on the corners of the hypercube."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bfc_bench.tasks.base import Float, InputLaw, Inputs


class Hypercube(Inputs):
    """x uniform on {-1, +1}^d, so that E[x x^T] = I. Every x_i^2 is constant: it breaks BFC's (5.4) at degree 2."""

    kind: ClassVar[str] = "hypercube"

    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> Float:
        """m independent points, (m, d), with entries -1.0 and +1.0."""
        return 2.0 * rng.integers(0, 2, (m, law.d)) - 1.0

    @property
    def independent(self) -> bool:
        """True."""
        return True
