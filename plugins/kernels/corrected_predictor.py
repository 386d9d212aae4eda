"""The predictor of sequential kernels with backward feature correction."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from bfc_plugins.kernels.feature_correction import Correction, CorrectionRound
from bfc_plugins.kernels.first_inputs import FirstInputs
from torch import Tensor

from bfc_bench.learner import Predictor

CHUNK = 4096
"""Number of points at which predictions are computed at once."""


@dataclass(frozen=True)
class CorrectedPredictor(Predictor):
    """The regression on the features of the last round, and the rounds before.

    Shapes: m points x, n training points, k_l features of layer l.
    """

    inputs: FirstInputs
    correction: Correction
    path: tuple[CorrectionRound, ...]
    mean: Tensor
    """Mean of the training labels, scalar."""
    spread: Tensor
    """Their standard deviation, scalar."""
    info: Mapping[str, Any] = field(default_factory=dict)
    stages: Mapping[str, Predictor] = field(default_factory=dict)
    """The predictor after each round: ``plain``, ``forward``, then ``round1``, ``round2``, ... of correction."""

    def predict(self, x: Tensor) -> Tensor:
        """The last round's predictions, (m,), at x (m, d)."""
        last = self.path[-1]
        centres = last.features.features(self.correction.z)[-1]
        parts = self.inputs(x).split(CHUNK)
        values = [last.kernel.matrix(last.features.features(z)[-1], centres) @ last.weights for z in parts]
        return torch.cat(values) * self.spread + self.mean

    def hidden(self, x: Tensor) -> Mapping[str, Tensor]:
        """Features by layer, each (m, k_l), at x (m, d): p_1, p_2, ... along the axes of their gradients.

        The axes are the eigenvectors of the average outer product of gradients at the training points, largest first.
        A feature p_j is multiplied by sqrt(c_j), c_j = (E (df/dp_j)^2 / E p_j^2)^(1/2) / 2, for which c_j p_j^2 has
        gradients of that size: if the layer's term is a sum of squares, it is that of the returned columns. With
        squares among the inputs p_1 is ``S2``, else ``S1``. Features are 0 at z = 0, as those of a target are.
        """
        last, z = self.path[-1], self.correction.z
        centres, at_x = last.features.features(z), last.features.features(self.inputs(x))
        origins = last.features.features(torch.zeros_like(z[:1]))
        slopes = last.features.slopes(centres, last.kernel.gradients(centres[-1], centres[-1], last.weights))
        layers = enumerate(zip(at_x, centres, origins, slopes, strict=True), start=2 if self.inputs.squares else 1)
        return {
            f"S{layer}": self._along_gradients(values - origin, seen - origin, slope * self.spread)
            for layer, (values, seen, origin, slope) in layers
        }

    @staticmethod
    def _along_gradients(values: Tensor, known: Tensor, slopes: Tensor) -> Tensor:
        """``values`` (m, k), turned and scaled as ``hidden`` says, given values and gradients at n points, (n, k)."""
        sizes, axes = torch.linalg.eigh(slopes.T @ slopes / len(slopes))
        squares = ((known @ axes) ** 2).mean(0)
        factors = (sizes.clamp(min=0) / torch.where(squares > 0, squares, 1.0)) ** 0.25 / 2**0.5
        turned: Tensor = ((values @ axes) * factors).flip(1)
        return turned
