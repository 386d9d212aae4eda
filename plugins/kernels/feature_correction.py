"""Kernel regression with backward feature correction: features found forward, then turned round by round.

1. Forward: a recursive feature machine on z gives the axes of layer 1, another one on the products of its features
   those of layer 2, and so on (``recursive_features.py``, ``feature_layers.py``).
2. Backward: rounds of ridge regression turn the axes of all layers (``tangent_correction.py``).
3. Again: the layers above the first are found anew from the corrected first layer and corrected with it, twice.

The leave-one-out error chooses ridges and shares, and ends the rounds. It is too small once the axes have been turned,
because they were turned with all labels. Widths are therefore chosen by that of a fit whose axes turn with it
(``Tangents.free_error``), and a kernel on z without features is the result where its error is not larger.

Shapes: n points z with p coordinates.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from bfc_plugins.kernels.feature_layers import FeatureLayers
from bfc_plugins.kernels.leave_one_out import ridge_fit
from bfc_plugins.kernels.polynomial import Poly
from bfc_plugins.kernels.recursive_features import leading_axes, recursive_rounds
from bfc_plugins.kernels.tangent_correction import Tangents
from torch import Tensor

EXACT = 1e-14
"""Leave-one-out error, over the variance of the labels, at which rounds end."""
PATIENCE = 9
"""Rounds without a gain after which rounds end."""
GAIN = 0.9
"""A round gains if its leave-one-out error is at most this times the least error of those before."""
SWEEPS = 2
"""How often the layers above the first are found anew."""
DEGREE = 4
"""Degree of kernels of features, a bound on the degree of a layer in the features below."""
PLAIN_DEGREES = (2, 3)
PLAIN_RIDGES = tuple(10.0**k for k in range(-8, 3, 2))
"""Choices of the kernel without features."""


@dataclass(frozen=True)
class CorrectionRound:
    """The features of one round, and the regression on them."""

    features: FeatureLayers
    kernel: Poly
    """The kernel of the features of the top layer."""
    ridge: float
    error: float
    """Mean square leave-one-out error; that of the last round lets the axes turn."""
    weights: Tensor
    """Weights of the regression, (n,)."""


@dataclass(frozen=True)
class Correction:
    """The points and choices of a fit."""

    z: Tensor
    """(n, p)."""
    y: Tensor
    """Labels of mean 0 and variance 1, (n,)."""
    rounds: int
    """Largest number of rounds after one forward pass."""
    ridges: Sequence[float]

    def path(self, choices: Sequence[Sequence[int]]) -> list[CorrectionRound]:
        """The kernel without features and, if better, rounds up to the one of least error; empty if neither fits."""
        best: list[CorrectionRound] = []
        for start in self._starts(FeatureLayers(), choices):
            best = min(best, self._corrected(start), key=_error)
            if _error(best) <= EXACT:
                break
        for _ in range(SWEEPS if len(choices) > 1 and best else 0):
            if _error(best) <= EXACT:
                break
            layers = best[-1].features.layers
            for start in self._starts(FeatureLayers(layers[:1]), [[layer.axes.shape[1]] for layer in layers[1:]]):
                best = min(best, best + self._corrected(start), key=_error)
        plain = self._plain()
        if _error(best) < plain.error:
            return [plain, *best]
        return [plain] if math.isfinite(plain.error) else []

    def _plain(self) -> CorrectionRound:
        """Ridge regression on z; its features are z."""
        layer, z = FeatureLayers().next_inputs(self.z)
        features = FeatureLayers().with_layer(layer, torch.eye(z.shape[1], dtype=z.dtype, device=z.device))
        square_norm = float((z**2).sum(1).mean())
        rounds = [self._fitted(features, Poly(degree, square_norm), PLAIN_RIDGES) for degree in PLAIN_DEGREES]
        return min(rounds, key=lambda each: each.error)

    def _starts(self, features: FeatureLayers, choices: Sequence[Sequence[int]]) -> Iterator[FeatureLayers]:
        """``features`` and further layers found forward, for all combinations of their widths."""
        if not choices:
            yield features
            return
        layer, phi = features.next_inputs(self.z)
        rounds = recursive_rounds(phi, self.y, Poly(DEGREE), self.ridges)
        for width in choices[0] if rounds else ():
            yield from self._starts(features.with_layer(layer, leading_axes(rounds[-1].outer, width)), choices[1:])

    def _corrected(self, features: FeatureLayers) -> list[CorrectionRound]:
        """Rounds from ``features`` on, up to the one of least error."""
        path = [self._measured(features)]
        best = 0
        while path[best].error > EXACT and len(path) <= self.rounds and len(path) - best <= PATIENCE:
            path.append(self._measured(self._tangents(path[-1]).corrected(self.y, self.ridges)))
            if path[-1].error <= GAIN * path[best].error:
                best = len(path) - 1
        last = path[best]
        error = max(last.error, self._tangents(last).free_error(self.y, last.ridge))
        return [*path[:best], replace(last, error=error)]

    def _tangents(self, each: CorrectionRound) -> Tangents:
        return Tangents(each.features, self.z, each.kernel, each.weights)

    def _measured(self, features: FeatureLayers) -> CorrectionRound:
        """The regression on learned ``features``."""
        return self._fitted(features, Poly(DEGREE, features.layers[-1].axes.shape[1]), self.ridges)

    def _fitted(self, features: FeatureLayers, kernel: Poly, ridges: Sequence[float]) -> CorrectionRound:
        top = features.features(self.z)[-1]
        fit = ridge_fit(kernel.matrix(top, top), self.y, ridges)
        return CorrectionRound(features, kernel, fit.ridge, fit.error, fit.weights)


def _error(path: Sequence[CorrectionRound]) -> float:
    return path[-1].error if path else math.inf
