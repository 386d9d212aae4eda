"""The predictor of a trained quadratic DenseNet, evaluated in float64 on the CPU, and measures of weight changes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from typing import Any

import numpy as np
from bfc_plugins.quadratic.net import Params, QuadraticNet

from bfc_bench.learner import Predictor

CHUNK = 4096
"""Number of points evaluated at once, so that the layers stay in cache."""


@dataclass(eq=False)
class QuadraticPredictor(Predictor):
    """F(x) = constant + sum_l alpha_l Sum(S_l(x)^2), or with one weight per unit instead of alpha_l.

    For binary labels the prediction is a margin, F(x) plus a linear term. The truncated activation is for training
    only (BFC Remark 2.1). Letters: m points, m_l width of layer l.
    """

    net: QuadraticNet
    params: Params
    """Parameters in the units of training, float64."""
    x: InitVar[np.ndarray]
    """Training inputs (n, d), for the principal directions."""
    y_scale: float = 1.0
    """Divisor of the labels in training."""
    input_scale: float = 1.0
    """Factor of the inputs in training."""
    readouts: Mapping[int, np.ndarray] = field(default_factory=dict)
    """{l: (m_l,)}, which replace alpha_l in the prediction, not in ``hidden``."""
    info: Mapping[str, Any] = field(default_factory=dict)
    stages: Mapping[str, QuadraticPredictor] = field(default_factory=dict, repr=False)
    """In the order of training."""

    def __post_init__(self, x: np.ndarray) -> None:
        self.net = replace(self.net, truncate=None)
        self.params = {key: np.asarray(value, np.float64) for key, value in self.params.items()}
        self.alphas = dict(zip(self.net.layers(), self.y_scale * np.exp(self.params["log_alpha"]), strict=True))
        """Output scale of each layer in the units of the labels."""
        self._constant = self.y_scale * float(self.params["constant"])
        self._linear = self.y_scale * self.input_scale * self.params.get("linear", np.zeros(self.net.d))
        widths = zip(self.net.layers(), self.net.widths, strict=True)
        given = {layer: self.y_scale * np.asarray(weights, np.float64) for layer, weights in self.readouts.items()}
        self._readouts = {layer: np.full(width, self.alphas[layer]) for layer, width in widths} | given
        self._rotations = {layer: principal_directions(s) for layer, s in self.pre_activations(x).items()}

    def pre_activations(self, x: np.ndarray) -> dict[int, np.ndarray]:
        """{l: S_l (m_l, m)} at x (m, d)."""
        return self.net.forward(self.params, self.input_scale * np.asarray(x, np.float64).T)[0]

    def predict(self, x: np.ndarray) -> np.ndarray:
        """F(x), (m,), at x (m, d)."""
        out: np.ndarray = np.asarray(x, np.float64) @ self._linear + self._constant
        for rows, pre in self._chunks(x):
            for layer, s in pre.items():
                out[rows] += self._readouts[layer] @ (s * s)
        return out

    def cut(self, ranks: Sequence[int]) -> Params:
        """Parameters with each W_l reduced to its first k_l principal directions, for ``ranks`` k_2..k_L."""
        reduced = {}
        for (layer, rotation), rank in zip(self._rotations.items(), ranks, strict=True):
            directions = rotation[:, :rank]
            reduced[f"W{layer}"] = directions @ (directions.T @ self.params[f"W{layer}"])
        return {**self.params, **reduced}

    def hidden(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """{"S2": (m, m_2), ...}: sqrt(alpha_l) S_l in its principal directions; squares sum to the layer's term."""
        turned = {layer: math.sqrt(self.alphas[layer]) * rotation for layer, rotation in self._rotations.items()}
        features = {layer: np.empty((len(x), rotation.shape[1])) for layer, rotation in turned.items()}
        for rows, pre in self._chunks(x):
            for layer, s in pre.items():
                np.matmul(s.T, turned[layer], out=features[layer][rows])
        return {f"S{layer}": values for layer, values in features.items()}

    def _chunks(self, x: np.ndarray) -> Iterator[tuple[slice, dict[int, np.ndarray]]]:
        """``pre_activations`` of ``CHUNK`` rows of x at a time."""
        for first in range(0, len(x), CHUNK):
            rows = slice(first, first + CHUNK)
            yield rows, self.pre_activations(x[rows])


def weight_correlation(before: np.ndarray, after: np.ndarray) -> float:
    """Mean over a layer's neurons, the rows w of W and w' of W' (m_l, q_l), of <w/|w|, w'/|w'|> (BFC Figure 9).

    Neurons that are zero are left out; the result is 0 if none is left.
    """
    sizes = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    cosines = np.sum(before * after, axis=1)[sizes > 0] / sizes[sizes > 0]
    return float(np.mean(cosines)) if len(cosines) else 0.0


def weight_alignment(before: np.ndarray, after: np.ndarray) -> float:
    """max_U <U W, W'> / (|W| |W'|) over orthogonal U, of W and W' (m_l, q_l); 0 if one of them is zero.

    Unlike ``weight_correlation`` it ignores rotations of W_l, which do not change Sum(S_l^2).
    """
    size = np.linalg.norm(before) * np.linalg.norm(after)
    return float(np.linalg.norm(after @ before.T, "nuc") / size) if size > 0 else 0.0


def principal_directions(s: np.ndarray) -> np.ndarray:
    """Orthogonal U (m_l, m_l): principal directions of pre-activations S (m_l, n), largest first.

    With S = W G these are the left singular vectors of W M^{1/2}, M the second moment of the layer's inputs G, so
    weights on inputs that vanish do not count.
    """
    return np.asarray(np.linalg.eigh(s @ s.T)[1][:, ::-1])
