"""The talk's example of the correction stage."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, FiniteFloat

from bfc_bench.tasks.base import InputLaw
from bfc_bench.tasks.targets.densenet_teacher import DensenetTeacher
from bfc_bench.tasks.targets.toy import Toy


class SlideCorrection(Toy):
    """x_1^2 + x_2^2 + alpha ((x_1^2 + x_3)^2 + (x_2^2 + x_4)^2). SLIDES, the "correction" stage, d = 1000, alpha = .3.

    The talk has E[x_i] = 1 (``inputs = { kind = "gaussian", mean = 1.0 }``): only then is x_1^2 x_3 correlated with the
    product x_1 x_3, to which layer 1 alone overfits as (x_1 + alpha x_3)^2. Layers are counted as in
    ``slide-densenet``: S_2 = (x_1, x_2), S_3 = (x_1^2 + x_3, x_2^2 + x_4), J_2 = {0} and J_3 = {0, 2}.
    """

    kind: ClassVar[str] = "slide-correction"
    swept: ClassVar[frozenset[str]] = frozenset({"alpha"})
    coordinates: ClassVar[int] = 4
    alpha: Annotated[FiniteFloat, Field(gt=0)] = 0.3
    """Weight of the higher layer."""

    def network(self, law: InputLaw) -> DensenetTeacher:
        """The network on (x_1, ..., x_4)."""
        weights = [{0: np.eye(2, 4)}, {0: np.eye(2, 4, k=2), 2: np.eye(2)}]
        return DensenetTeacher(weights, (1.0, self.alpha), np.zeros(4))
