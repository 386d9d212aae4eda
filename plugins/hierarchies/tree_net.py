"""Convolutions over patches that do not overlap, with a linear read-out of the top layer.

Letters: m points, s positions in a patch, q channels of a position, w channels of a layer, C outputs.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from bfc_bench.toolkit.arrays import NumpyOrJax


@dataclass(frozen=True)
class TreeNet:
    """h_l = relu(W_l (the s neighbours in h_{l-1}) + b_l), l = 1..depth; F = all of h_depth times R, plus a constant.

    Equal networks hash equal and share a compiled program.
    """

    positions: int
    """Number of positions of the input."""
    channels: int
    """q, numbers per position of the input."""
    branching: int
    """s."""
    width: int
    """w."""
    depth: int
    """Number of layers."""
    outputs: int
    """C; 1 output for labels -1 and +1."""

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """For each layer the number of its positions and of the numbers in a patch below."""
        channels = [self.channels, *[self.width] * (self.depth - 1)]
        return [
            (self.positions // self.branching**layer, self.branching * below) for layer, below in enumerate(channels, 1)
        ]

    def init(self, rng: np.random.Generator) -> dict[str, Any]:
        """W_l ~ N(0, 2 / fan-in) and a small read-out; biases are 0."""
        params: dict[str, Any] = {}
        for layer, (_, fan_in) in enumerate(self.sizes, 1):
            params[f"W{layer}"] = rng.standard_normal((fan_in, self.width)) * sqrt(2 / fan_in)
            params[f"b{layer}"] = np.zeros(self.width)
        fan_in = self.sizes[-1][0] * self.width
        params["R"] = rng.standard_normal((fan_in, self.outputs)) * sqrt(0.01 / fan_in)
        params["constant"] = np.zeros(self.outputs)
        return params

    def layers(self, params: dict[str, Any], z: NumpyOrJax) -> list[NumpyOrJax]:
        """h_1, ..., h_depth, each (m, positions w), at z (m, positions q)."""
        outputs: list[NumpyOrJax] = []
        for layer, (positions, fan_in) in enumerate(self.sizes, 1):
            sums = z.reshape(-1, positions, fan_in) @ params[f"W{layer}"]
            z = (sums + params[f"b{layer}"]).clip(0).reshape(-1, positions * self.width)
            outputs.append(z)
        return outputs

    def __call__(self, params: dict[str, Any], z: NumpyOrJax) -> NumpyOrJax:
        """F, (m,) for one output, or scores (m, C), at z (m, positions q)."""
        values: NumpyOrJax = self.layers(params, z)[-1] @ params["R"] + params["constant"]
        return values if self.outputs > 1 else values[:, 0]

    def flops(self) -> float:
        """Operations per point: two for each weight at each position that uses it."""
        filters = sum(positions * fan_in * self.width for positions, fan_in in self.sizes)
        return 2.0 * (filters + self.sizes[-1][0] * self.width * self.outputs)

    def weights(self) -> int:
        """Number of trained parameters."""
        filters = sum((fan_in + 1) * self.width for _, fan_in in self.sizes)
        return filters + (self.sizes[-1][0] * self.width + 1) * self.outputs

    def units(self) -> int:
        """Number of activations per point."""
        return sum(positions * self.width for positions, _ in self.sizes)
