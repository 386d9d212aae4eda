"""Linear targets whose coefficients follow a power law."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from bfc_bench.tasks.base import Float, InputLaw, Target, Teacher


class Linear(Target):
    """G*(x) = sum_i w_i x_i with w_i = s_i i^-decay for random s_i with E s s^T = I.

    With decay = 0 this is the isotropic prior E w w^T = I of Lin et al. (2024), arXiv 2406.08466; with decay = beta and
    signs it is the target of Paquette et al. (2024), arXiv 2405.15074, up to signs, which change no error where x_i and
    -x_i have the same law.
    """

    kind: ClassVar[str] = "linear"
    decay: Annotated[float, Field(ge=0, le=10)] = 0.0
    """Exponent of the coefficients."""
    prior: Literal["signs", "gaussian"] = "signs"
    """Whether s_i is -1 or 1, so that all teachers have equal variance if coordinates are independent, or standard
    normal."""

    def draw(self, rng: np.random.Generator, law: InputLaw) -> LinearTeacher:
        """One teacher."""
        s = rng.integers(2, size=law.d) * 2.0 - 1 if self.prior == "signs" else rng.standard_normal(law.d)
        return LinearTeacher(s * np.arange(1.0, law.d + 1) ** -self.decay)


class LinearTeacher(Teacher):
    """w . x, for w (d,)."""

    def __init__(self, w: Float) -> None:
        self.w = w

    def __call__(self, x: Float) -> Float:
        """G*(x), (m,), for x (m, d)."""
        return x @ self.w
