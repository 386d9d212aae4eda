"""The DenseNet teacher of the talk, whose first layer is trained too."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import ValidationInfo, field_validator

from bfc_bench.tasks.base import InputLaw, Target
from bfc_bench.tasks.targets.densenet_options import Alphas, Widths, one_per_width, too_wide
from bfc_bench.tasks.targets.densenet_teacher import DensenetTeacher, draw_weights


class SlideDensenet(Target):
    """G = sum_l alpha_l w_l . G_l, l = 1..L, of degree 2^L. SLIDES, "Target network" and "Regularity condition".

    G_1 = (W_{1,0} x)^2, G_l = (W_{l,0} x + sum_{j<l} W_{l,j} G_j)^2, w_l in {-1, 1}^{k_l}. Each W_{l,j} is drawn as for
    ``quadratic-densenet``. Facts and hidden features count layers as there, where layer 1 is x^2: what the talk calls
    layer l is layer l + 1 (``S2`` is W_{1,0} x), and no layer reads layer 1.
    """

    kind: ClassVar[str] = "slide-densenet"
    swept: ClassVar[frozenset[str]] = frozenset({"alphas"})
    widths: Widths
    """k_1, ..., k_L, not increasing."""
    alphas: Alphas
    """alpha_1, ..., alpha_L, positive, not increasing; 1 > alpha_2 > ... in the talk."""
    signs: Literal["random", "positive"] = "random"
    """Whether entries of w_l are -1 or 1 with equal chance (``random``) or all 1 (``positive``), which a network of
    positive sums can express."""

    @field_validator("alphas")
    @classmethod
    def _one_alpha_per_width(cls, alphas: Alphas, info: ValidationInfo) -> Alphas:
        one_per_width(alphas, info)
        return alphas

    def check(self, d: int) -> str | None:
        """Orthonormal rows need k_1 <= d."""
        return too_wide(self.widths, d)

    def draw(self, rng: np.random.Generator, law: InputLaw) -> DensenetTeacher:
        """One teacher; its facts also have the ``readouts`` w_l."""
        skips = [[0, *range(2, layer)] for layer in range(2, len(self.widths) + 2)]
        weights = draw_weights(rng, law, self.widths, skips, self.kind)
        choices = [-1.0, 1.0] if self.signs == "random" else [1.0]
        readouts = [rng.choice(choices, size=width) for width in self.widths]
        teacher = DensenetTeacher(weights, self.alphas, law.square_mean, readouts)
        teacher.facts = {**teacher.facts, "readouts": [readout.tolist() for readout in readouts]}
        return teacher
