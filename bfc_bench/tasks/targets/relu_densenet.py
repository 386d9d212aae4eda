"""A hierarchy of ReLU layers, the first generalisation that the slides of BFC name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import ClassVar

import numpy as np

from bfc_bench.tasks.base import Float, InputLaw, Teacher
from bfc_bench.tasks.orthonormal import orthonormal_rows
from bfc_bench.tasks.targets.densenet_teacher import PROBES
from bfc_bench.tasks.targets.options import RandomDensenet


class ReluDensenet(RandomDensenet):
    """G* = sum_l alpha_l sum relu(S_l), l = 1..L, with S_l = W_l x + V_l relu(S_{l-1}), S_1 = W_1 x. SLIDES, line 550.

    It is ``quadratic-densenet`` with relu(t) instead of t^2. W_l and V_l are orthonormal rows times a positive number,
    such that each contribution to S_l has an equal share of a variance of 1 per coordinate (mean over coordinates).
    """

    kind: ClassVar[str] = "relu-densenet"

    def draw(self, rng: np.random.Generator, law: InputLaw) -> ReluTeacher:
        """One teacher."""
        x = law.sample(rng, PROBES)
        weights: list[tuple[Float, Float]] = []
        g = np.zeros((len(x), 0))
        for width in self.widths:
            parts = []
            for below in (x, g):
                w = orthonormal_rows(rng, width, below.shape[1]) if below.shape[1] else np.zeros((width, 0))
                deviation = sqrt(np.mean(np.var(below @ w.T, axis=0))) or 1.0
                parts.append(w / (deviation * sqrt(2 if g.shape[1] else 1)))
            weights.append((parts[0], parts[1]))
            g = np.maximum(x @ parts[0].T + g @ parts[1].T, 0)
        return ReluTeacher(weights, self.alphas)


class ReluTeacher(Teacher):
    """G*(x) for pairs of weights W_l, (k_l, d), and V_l, (k_l, k_{l-1}) with k_0 = 0."""

    def __init__(self, weights: Sequence[tuple[Float, Float]], alphas: Sequence[float]) -> None:
        self.weights, self.alphas = weights, alphas
        self.facts = {"alphas": list(alphas), "widths": [len(w) for w, _ in weights]}

    def __call__(self, x: Float) -> Float:
        """G*(x), (m,), for x (m, d)."""
        layers = zip(self.alphas, self.hidden(x).values(), strict=True)
        return np.asarray(sum(alpha * np.maximum(s, 0).sum(1) for alpha, s in layers))

    def hidden(self, x: Float) -> Mapping[str, Float]:
        """S_l(x), {"S1": (m, k_1), ...}: directions without a scale."""
        layers, g = {}, np.zeros((len(x), 0))
        for i, (w, v) in enumerate(self.weights, start=1):
            layers[f"S{i}"] = x @ w.T + g @ v.T
            g = np.maximum(layers[f"S{i}"], 0)
        return layers
