"""The quadratic DenseNet teacher."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import sqrt
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, FiniteFloat, PositiveInt, ValidationInfo, field_validator, model_validator

from bfc_bench.errors import UsageError
from bfc_bench.tasks.base import Float, Inputs, Law, Target, Teacher
from bfc_bench.tasks.inputs.hypercube import Hypercube
from bfc_bench.tasks.orthonormal import orthonormal_rows

CHUNK = 8192
"""Points evaluated at a time, which bounds the memory of a teacher."""
PROBES = 16384
"""Points on which the size of a contribution is measured when a teacher is drawn."""

Skips = tuple[tuple[int, ...], ...]


class QuadraticDensenet(Target):
    """G* = sum_l alpha_l Sum(G_l), l = 2..L, of degree 2^L. BFC section 2 (lines 163-190).

    G_0 = x, G_1 = x^2 - E[x^2], S_l = sum_{j in J_l} W_{l,j} G_j (k_l-dimensional), G_l = S_l^2. Each W_{l,j} is a
    random matrix with orthonormal rows times one positive number, such that its contribution W_{l,j} G_j has a standard
    deviation of 1/sqrt(|J_l|) per coordinate (root mean square over the coordinates).
    """

    kind: ClassVar[str] = "quadratic-densenet"
    widths: tuple[PositiveInt, ...]
    """k_2, ..., k_L, not increasing."""
    alphas: tuple[Annotated[FiniteFloat, Field(gt=0)], ...]
    """alpha_2, ..., alpha_L, positive, not increasing. The information gap is a strict decrease."""
    skips: Skips = ()
    """J_2, ..., J_L: the layers that feed each layer. Without it J_2 = {1}, J_3 = {0, 2}, J_l = {0, l-1}."""

    @model_validator(mode="before")
    @classmethod
    def _default_skips(cls, values: Any) -> Any:
        if not isinstance(values, Mapping) or "skips" in values:
            return values
        widths = values.get("widths")
        depth = len(widths) + 1 if isinstance(widths, Sequence) else 1
        return {**values, "skips": [[1], *([0, layer - 1] for layer in range(3, depth + 1))][: depth - 1]}

    @field_validator("widths")
    @classmethod
    def _widths_do_not_increase(cls, widths: tuple[int, ...]) -> tuple[int, ...]:
        if not widths:
            raise ValueError("must have an entry per layer, k_2 at least")
        if any(after > before for before, after in pairwise(widths)):
            raise ValueError("must not increase (k_2 >= k_3 >= ...)")
        return widths

    @field_validator("alphas")
    @classmethod
    def _alphas_do_not_increase(cls, alphas: tuple[float, ...], info: ValidationInfo) -> tuple[float, ...]:
        _one_per_width(alphas, info)
        if any(after > before for before, after in pairwise(alphas)):
            raise ValueError("must not increase (alpha_2 >= alpha_3 >= ...)")
        return alphas

    @field_validator("skips")
    @classmethod
    def _skips_are_layers_below(cls, skips: Skips, info: ValidationInfo) -> Skips:
        _one_per_width(skips, info)
        for layer, below in enumerate(skips, start=2):
            _check_skip_set(layer, below)
        return tuple(tuple(sorted(below)) for below in skips)

    def check(self, d: int) -> str | None:
        """Orthonormal rows need k_2 <= d."""
        return f"widths[0] = {self.widths[0]} is above the input dimension {d}" if self.widths[0] > d else None

    def check_inputs(self, inputs: Inputs) -> str | None:
        """G_1 = x^2 - E[x^2] must not vanish."""
        return "x^2 is constant on hypercube inputs, so that G_1 = 0" if isinstance(inputs, Hypercube) else None

    def draw(self, rng: np.random.Generator, law: Law) -> DensenetTeacher:
        """One teacher. Raises ``UsageError`` when a contribution is constant under the law."""
        weights: list[dict[int, Float]] = []
        features = _first_features(law.sample(rng, PROBES), law.square_mean)
        for layer, (width, below) in enumerate(zip(self.widths, self.skips, strict=True), start=2):
            weights.append({})
            for j in below:
                w = orthonormal_rows(rng, width, features[j].shape[1])
                deviation = sqrt(np.mean(np.var(features[j] @ w.T, axis=0)))
                if not deviation > 1e-12:
                    raise UsageError(
                        f"target {self.kind!r}: the contribution of G_{j} to S_{layer} is constant under "
                        f"{law.inputs.kind!r} inputs in {law.d} dimensions. Take other inputs or drop {j} from skips."
                    )
                weights[-1][j] = w / (deviation * sqrt(len(below)))
            features.append(_weighted_sum(weights[-1], features) ** 2)
        return DensenetTeacher(weights, self.alphas, law.square_mean)


class DensenetTeacher(Teacher):
    """G*(x) for given weights, in float64.

    ``weights[l-2][j]`` is W_{l,j}, (k_l, k_j) with k_0 = k_1 = d; ``square_mean`` is E[x_i^2], (d,).
    """

    def __init__(self, weights: Sequence[Mapping[int, Float]], alphas: Sequence[float], square_mean: Float) -> None:
        self.weights, self.alphas, self.square_mean = weights, alphas, square_mean
        self.facts = {
            "alphas": list(alphas),
            "widths": [next(iter(layer.values())).shape[0] for layer in weights],
            "skips": [list(layer) for layer in weights],
        }

    def __call__(self, x: Float) -> Float:
        """G*(x), (m,), for x (m, d)."""
        values = [
            sum(alpha * np.sum(s**2, axis=1) for alpha, s in zip(self.alphas, self._layers(chunk), strict=True))
            for chunk in _chunks(x)
        ]
        return np.concatenate(values)

    def hidden(self, x: Float) -> Mapping[str, Float]:
        """sqrt(alpha_l) S_l(x), {"S2": (m, k_2), ...}."""
        parts = [self._layers(chunk) for chunk in _chunks(x)]
        layers = [np.concatenate(layer) for layer in zip(*parts, strict=True)]
        return {f"S{i}": sqrt(alpha) * s for i, (alpha, s) in enumerate(zip(self.alphas, layers, strict=True), start=2)}

    def _layers(self, x: Float) -> list[Float]:
        """S_2, ..., S_L at x."""
        features, layers = _first_features(x, self.square_mean), []
        for weights in self.weights:
            layers.append(_weighted_sum(weights, features))
            features.append(layers[-1] ** 2)
        return layers


def _chunks(x: Float) -> list[Float]:
    """x in pieces of at most ``CHUNK`` rows, at least one piece."""
    return [x[start : start + CHUNK] for start in range(0, max(len(x), 1), CHUNK)]


def _first_features(x: Float, square_mean: Float) -> list[Float]:
    """G_0 and G_1."""
    centred = x**2
    centred -= square_mean
    return [x, centred]


def _weighted_sum(weights: Mapping[int, Float], features: Sequence[Float]) -> Float:
    """S_l = sum_j W_{l,j} G_j, (m, k_l)."""
    total: Float = sum(features[j] @ w.T for j, w in weights.items())
    return total


def _one_per_width(values: Sequence[object], info: ValidationInfo) -> None:
    widths = info.data.get("widths")
    if widths is not None and len(values) != len(widths):
        raise ValueError(f"must have one entry per width, {len(widths)} in all")


def _check_skip_set(layer: int, below: tuple[int, ...]) -> None:
    """J_l is a subset of {0, ..., l-3} and l-1, with l-1 and, for l >= 3, one more. BFC line 170."""
    if len(set(below)) < len(below) or not set(below) <= set(range(layer)):
        raise ValueError(f"must list different layers of 0..{layer - 1} in J_{layer}, which is {list(below)}")
    if layer - 1 not in below:
        raise ValueError(f"must list layer {layer - 1} in J_{layer}, which is {list(below)}")
    if layer >= 3 and len(below) < 2:
        raise ValueError(f"must have a skip link besides layer {layer - 1} in J_{layer}, which is {list(below)}")
    if layer - 2 in below:
        warnings.warn(
            f"skips: J_{layer} = {list(below)} contains layer {layer - 2}, which the theory of the source forbids.",
            UserWarning,
            stacklevel=2,
        )
