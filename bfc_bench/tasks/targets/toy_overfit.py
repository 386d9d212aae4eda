"""The example against forward feature learning."""

from __future__ import annotations

from math import sqrt
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, FiniteFloat

from bfc_bench.tasks.base import InputLaw
from bfc_bench.tasks.targets.densenet_teacher import DensenetTeacher
from bfc_bench.tasks.targets.squares_toy import SquaresToy


class ToyOverfit(SquaresToy):
    """x_1^4 + 2 x_2^4 + alpha (x_1^4 + 2 x_2^4 + x_3^2)^2. BFC eq. (1.2), line 125, where alpha = .1.

    S_2 = (x_1^2, sqrt(2) x_2^2) and S_3 = x_1^4 + 2 x_2^4 + x_3^2, so J_2 = {1} and J_3 = {1, 2}. The best degree-4
    polynomial is not x_1^4 + 2 x_2^4: trained alone, layer 2 overfits to x_3^2.
    """

    kind: ClassVar[str] = "toy-overfit"
    swept: ClassVar[frozenset[str]] = frozenset({"alpha"})
    coordinates: ClassVar[int] = 3
    alpha: Annotated[FiniteFloat, Field(gt=0)] = 0.1
    """Weight of the higher layer."""

    def network(self, law: InputLaw) -> DensenetTeacher:
        """The network on (x_1, x_2, x_3)."""
        weights = [
            {1: np.array([[1.0, 0.0, 0.0], [0.0, sqrt(2), 0.0]])},
            {1: np.array([[0.0, 0.0, 1.0]]), 2: np.ones((1, 2))},
        ]
        return DensenetTeacher(weights, (1.0, self.alpha), self.offset(law))
