"""The hard instances for two-layer polynomial networks."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from bfc_bench.tasks.base import InputLaw, Inputs, Target
from bfc_bench.tasks.targets.densenet_options import Alphas, constant_squares
from bfc_bench.tasks.targets.densenet_teacher import DensenetTeacher, widest_skips


class HardPoly(Target):
    """A fixed DenseNet with dense sums as weights. BFC Theorems I.6 and I.7 (lines 2665-2718).

    ``theorem = "I.6"``: k_2 = d, the other k_l = 1; W_{2,1} = I; W_{l,0} = W_{l,1} = W_{l,2} = (1, ..., 1)/sqrt(d) for
    l >= 3. Two-layer networks on (x, S_1) with activations of degree 2^{L-1} need d^{2^{Omega(L)}} units.
    ``theorem = "I.7"``: all k_l = 1 and W_{l,0} = W_{l,1} = (1, ..., 1)/sqrt(d). The same for networks on x and degree
    2^L. Every other W_{l,j} is 1, and J_l is as large as the index rule allows. Nothing is random.
    """

    kind: ClassVar[str] = "hard-poly"
    swept: ClassVar[frozenset[str]] = frozenset({"alphas"})
    alphas: Alphas
    """alpha_2, ..., alpha_L, positive, not increasing."""
    theorem: Literal["I.6", "I.7"] = "I.6"
    """The theorem whose widths and weights are used."""

    def check_inputs(self, inputs: Inputs) -> str | None:
        """G_1 = x^2 - E[x^2] must not vanish."""
        return constant_squares(inputs)

    def draw(self, rng: np.random.Generator, law: InputLaw) -> DensenetTeacher:
        """The teacher in d dimensions."""
        dense, one = np.full((1, law.d), law.d**-0.5), np.ones((1, 1))
        first, below = (np.eye(law.d), 3) if self.theorem == "I.6" else (dense, 2)
        _, *above = widest_skips(len(self.alphas) + 1)
        weights = [{1: first}, *({j: dense if j < below else one for j in skips} for skips in above)]
        return DensenetTeacher(weights, self.alphas, law.square_mean)
