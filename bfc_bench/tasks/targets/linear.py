"""Linear targets whose coefficients follow a power law."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from bfc_bench.tasks.base import Float, InputLaw, Target, Teacher


class Linear(Target):
    """G*(x) = sum_i w_i x_i with w_i = s_i i^-decay for random signs s_i.

    With decay = 0 this is an isotropic prior, E w w^T = I, as in Lin et al. (2024), arXiv 2406.08466; with decay = beta
    it is the target of Paquette et al. (2024), arXiv 2405.15074, up to signs, which change no error where x_i and -x_i
    have the same law. If coordinates are independent, all teachers have equal variance.
    """

    kind: ClassVar[str] = "linear"
    decay: Annotated[float, Field(ge=0, le=10)] = 0.0
    """Exponent of the coefficients."""

    def draw(self, rng: np.random.Generator, law: InputLaw) -> LinearTeacher:
        """One teacher."""
        signs = rng.integers(2, size=law.d) * 2.0 - 1
        return LinearTeacher(signs * np.arange(1.0, law.d + 1) ** -self.decay)


class LinearTeacher(Teacher):
    """w . x, for w (d,)."""

    def __init__(self, w: Float) -> None:
        self.w = w

    def __call__(self, x: Float) -> Float:
        """G*(x), (m,), for x (m, d)."""
        return x @ self.w
