"""The thought experiment on rich representations and their correction."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, FiniteFloat

from bfc_bench.tasks.base import InputLaw
from bfc_bench.tasks.targets.densenet_teacher import DensenetTeacher
from bfc_bench.tasks.targets.squares_toy import SquaresToy


class ToyRich(SquaresToy):
    """x_1^4 + x_2^4 + alpha ((x_1^4 + x_3)^2 + (x_2^4 + x_4)^2). BFC section 6.1, lines 543-572.

    S_2 = (x_1^2, x_2^2) and S_3 = (x_1^4 + x_3, x_2^4 + x_4), so J_2 = {1} and J_3 = {0, 2}. Two units of layer 2 may
    represent x_1^4 + x_2^4 in a basis of which layer 3 cannot be made; three units in random directions suffice.
    """

    kind: ClassVar[str] = "toy-rich"
    swept: ClassVar[frozenset[str]] = frozenset({"alpha"})
    coordinates: ClassVar[int] = 4
    alpha: Annotated[FiniteFloat, Field(gt=0)] = 0.3
    """Weight of the higher layer."""

    def network(self, law: InputLaw) -> DensenetTeacher:
        """The network on (x_1, ..., x_4)."""
        weights = [{1: np.eye(2, 4)}, {0: np.eye(2, 4, k=2), 2: np.eye(2)}]
        return DensenetTeacher(weights, (1.0, self.alpha), self.offset(law))
