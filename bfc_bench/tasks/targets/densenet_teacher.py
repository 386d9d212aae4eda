"""Quadratic DenseNets as target functions: the network for given weights, and the drawing of random weights."""

from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np

from bfc_bench.errors import UsageError
from bfc_bench.tasks.base import Float, InputLaw, Teacher
from bfc_bench.tasks.orthonormal import orthonormal_rows

PROBES = 16384
"""Number of points on which the size of a contribution is measured when a teacher is drawn."""


class DensenetTeacher(Teacher):
    """G*(x) for given weights, in float64.

    ``weights[l-2][j]`` is W_{l,j}, (k_l, k_j) with k_0 = k_1 = d; ``square_mean``, (d,), is subtracted from x^2 in G_1;
    ``readouts[l-2]``, (k_l,), is w_l in sum_l alpha_l w_l . G_l, by default all 1.
    """

    def __init__(
        self,
        weights: Sequence[Mapping[int, Float]],
        alphas: Sequence[float],
        square_mean: Float,
        readouts: Sequence[Float] | None = None,
    ) -> None:
        self.weights, self.alphas, self.square_mean = weights, alphas, square_mean
        widths = [next(iter(layer.values())).shape[0] for layer in weights]
        self.readouts = [np.ones(width) for width in widths] if readouts is None else readouts
        skips = [list(layer) for layer in weights]
        self.facts = {"alphas": list(alphas), "widths": widths, "skips": skips, "depth": len(weights) + 1}

    def __call__(self, x: Float) -> Float:
        """G*(x), (m,), for x (m, d)."""
        terms = zip(self.alphas, self._layers(x), self.readouts, strict=True)
        return np.asarray(sum(alpha * (s**2 @ readout) for alpha, s, readout in terms))

    def hidden(self, x: Float) -> Mapping[str, Float]:
        """sqrt(alpha_l) S_l(x), {"S2": (m, k_2), ...}."""
        layers = zip(self.alphas, self._layers(x), strict=True)
        return {f"S{i}": sqrt(alpha) * s for i, (alpha, s) in enumerate(layers, start=2)}

    def _layers(self, x: Float) -> list[Float]:
        """S_2, ..., S_L at x."""
        features, layers = _first_features(x, self.square_mean), []
        for weights in self.weights:
            layers.append(_weighted_sum(weights, features))
            features.append(layers[-1] ** 2)
        return layers


def draw_weights(
    rng: np.random.Generator,
    law: InputLaw,
    widths: Sequence[int],
    skips: Sequence[Sequence[int]],
    kind: str,
    condition: float = 1.0,
    share_skips: bool = False,
) -> list[dict[int, Float]]:
    """W_{l,j} for l = 2, 3, ... and j in J_l, as ``QuadraticDensenet`` defines them."""
    weights: list[dict[int, Float]] = []
    # Spawning draws nothing from rng, so that teachers of every kappa have the same orthonormal rows.
    stretches = rng.spawn(1)[0]
    features = _first_features(law.sample(rng, PROBES), law.square_mean)
    for layer, (width, below) in enumerate(zip(widths, skips, strict=True), start=2):
        weights.append({})
        shares = share_skips and layer >= 3
        for j in below:
            if shares and j == layer - 1:
                weights[-1][j] = weights[-1][layer - 3]
                continue
            w = orthonormal_rows(rng, width, features[j].shape[1])
            if condition > 1:
                w = _stretch(stretches, width, condition) @ w
            read = [j, layer - 1] if shares and j == layer - 3 else [j]
            deviation = sqrt(np.mean(np.var(_weighted_sum(dict.fromkeys(read, w), features), axis=0)) / len(read))
            if not deviation > 1e-12:
                raise UsageError(
                    f"target {kind!r}: the contribution of G_{j} to S_{layer} is constant under "
                    f"{law.inputs.kind!r} inputs in {law.d} dimensions. Take other inputs or drop {j} from skips."
                )
            weights[-1][j] = w / (deviation * sqrt(len(below)))
        features.append(_weighted_sum(weights[-1], features) ** 2)
    return weights


def _stretch(rng: np.random.Generator, width: int, condition: float) -> Float:
    """A random symmetric (width, width) matrix with eigenvalues log-uniform between 1 / condition and condition.

    Its eigenvectors are a Haar rotation; at condition 1 it is the identity.
    """
    vectors = orthonormal_rows(rng, width, width)
    return (vectors.T * condition ** rng.uniform(-1.0, 1.0, width)) @ vectors


def widest_skips(depth: int) -> list[list[int]]:
    """J_2, ..., J_L with every link that the index rule of BFC line 170 allows: J_l = {0, ..., l-3} and l-1."""
    return [[*range(layer - 2), layer - 1] for layer in range(2, depth + 1)]


def _first_features(x: Float, square_mean: Float) -> list[Float]:
    """G_0 and G_1."""
    centred = x**2
    centred -= square_mean
    return [x, centred]


def _weighted_sum(weights: Mapping[int, Float], features: Sequence[Float]) -> Float:
    """S_l = sum_j W_{l,j} G_j, (m, k_l)."""
    return np.asarray(sum(features[j] @ w.T for j, w in weights.items()))
