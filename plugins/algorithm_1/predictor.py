"""The predictor of a trained re-parameterised network, evaluated in float64 on the CPU."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from bfc_plugins.algorithm_1.net import DistilledNet
from bfc_plugins.quadratic.net import Params
from bfc_plugins.quadratic.predictor import CHUNK, principal_directions

from bfc_bench.learner import Predictor


@dataclass
class DistilledPredictor(Predictor):
    """F(x) computed with W; the hidden features are the S_l computed with the small K.

    A layer whose K_l has not joined shows W_l feed_l in its principal directions, a layer that has not started shows
    nothing. The truncated activation is for training only: the learned network is truly quadratic (BFC Remark 2.1).
    """

    net: DistilledNet
    params: Params
    """All parameters, trained and fixed."""
    x_scale: float
    """Factor of the inputs in training."""
    y_shift: float
    y_scale: float
    """Labels in training are (y - y_shift) / y_scale."""
    started: frozenset[str]
    """Names of the parameters that have joined training: ``W2``, ``K2``, ..."""
    points: np.ndarray = field(repr=False)
    """Training inputs (n, d), for the principal directions."""
    info: Mapping[str, Any] = field(default_factory=dict)
    stages: Mapping[str, DistilledPredictor] = field(default_factory=dict, repr=False)
    """``layer2`` and ``distilled2``, before and after INITIAL-DISTILL of K_2, then ``layer3``, ..."""

    def __post_init__(self) -> None:
        self.net = replace(self.net, truncate=None)
        self.params = {name: np.asarray(value, np.float64) for name, value in self.params.items()}
        self._rotations = {layer: principal_directions(s) for layer, s in self._features(self.points).items()}

    def predict(self, x: np.ndarray) -> np.ndarray:
        """F(x), (m,), at x (m, d)."""
        chunks = [x[first : first + CHUNK] for first in range(0, max(len(x), 1), CHUNK)]
        values = np.concatenate([self.net(self.params, self._columns(chunk)) for chunk in chunks])
        return self.y_shift + self.y_scale * values

    def hidden(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """{"S2": (m, k_2), ...} in principal directions, scaled so that squares sum to the layer's term."""
        scale = math.sqrt(self.y_scale)
        return {f"S{layer}": scale * s.T @ self._rotations[layer] for layer, s in self._features(x).items()}

    def _columns(self, x: np.ndarray) -> np.ndarray:
        return self.x_scale * np.asarray(x, np.float64).T

    def _features(self, x: np.ndarray) -> dict[int, np.ndarray]:
        features, feeds = self.net.forward(self.params, self._columns(x))
        shown = {}
        for layer in self.net.layers():
            kernel = self.params[f"K{layer}"]
            if f"K{layer}" in self.started:
                shown[layer] = features[layer][kernel.any(axis=1)]
            elif f"W{layer}" in self.started:
                shown[layer] = self.params[f"W{layer}"] @ feeds[layer]
        return shown
