"""Gaussian inputs that lack one coordinate."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bfc_bench.tasks.base import Float, InputLaw, Inputs


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
