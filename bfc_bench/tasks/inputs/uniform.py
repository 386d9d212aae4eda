"""Uniform inputs: in a cube, on the corners of the hypercube, and on the unit sphere."""

from math import sqrt
from typing import ClassVar

import numpy as np

from bfc_bench.tasks.base import Float, InputLaw, Inputs


class Uniform(Inputs):
    """x uniform on [-sqrt 3, sqrt 3]^d, so that E[x x^T] = I and degree-2^L targets keep light tails."""

    kind: ClassVar[str] = "uniform"
    independent: ClassVar[bool] = True

    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> Float:
        """m independent points, (m, d)."""
        return rng.uniform(-sqrt(3), sqrt(3), (m, law.d))


class Hypercube(Inputs):
    """x uniform on {-1, +1}^d, so that E[x x^T] = I. Every x_i^2 is constant: it breaks BFC's (5.4) at degree 2."""

    kind: ClassVar[str] = "hypercube"
    independent: ClassVar[bool] = True

    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> Float:
        """m independent points, (m, d), with entries -1.0 and +1.0."""
        return np.asarray(2.0 * rng.integers(0, 2, (m, law.d)) - 1.0)


class Sphere(Inputs):
    """x uniform on the unit sphere S^{d-1}, so that E[x x^T] = I/d. NR section 2."""

    kind: ClassVar[str] = "sphere"

    def check(self, d: int) -> str | None:
        """For d = 1 the sphere is two points, and every x_i^2 is constant."""
        return "sphere inputs need d >= 2" if d < 2 else None

    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> Float:
        """m independent points, (m, d), each of norm 1."""
        x = rng.standard_normal((m, law.d))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        return x

    def square_mean(self, law: InputLaw) -> Float:
        """E[x_i^2] = 1/d, (d,)."""
        return np.full(law.d, 1 / law.d)
