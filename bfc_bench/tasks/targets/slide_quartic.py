"""The "super simple example" of the talk."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, FiniteFloat

from bfc_bench.tasks.base import InputLaw
from bfc_bench.tasks.targets.densenet_teacher import DensenetTeacher
from bfc_bench.tasks.targets.toy import Toy


class SlideQuartic(Toy):
    """x_1^2 + x_2^2 + alpha (x_1^4 + x_2^4). SLIDES, "a super simple example", with d = 1000 and alpha = .3.

    Layers are counted as in ``slide-densenet``: S_2 = (x_1, x_2), S_3 = (x_1^2, x_2^2), J_2 = {0} and J_3 = {2}.
    """

    kind: ClassVar[str] = "slide-quartic"
    swept: ClassVar[frozenset[str]] = frozenset({"alpha"})
    coordinates: ClassVar[int] = 2
    alpha: Annotated[FiniteFloat, Field(gt=0)] = 0.3
    """Weight of the higher layer."""

    def network(self, law: InputLaw) -> DensenetTeacher:
        """The network on (x_1, x_2)."""
        return DensenetTeacher([{0: np.eye(2)}, {2: np.eye(2)}], (1.0, self.alpha), np.zeros(2))
