"""The kernel of an infinitely wide convolutional network, computed in tiles, and ridge regression with it.

Shapes: n training points, m points, d = c h w inputs, C classes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import torch
from bfc_plugins.convolutional.tiles import tile_of
from torch import Tensor

from bfc_bench.learner import Data, Predictor
from bfc_bench.toolkit.neural_tangents import neural_tangents
from bfc_bench.toolkit.precision import MATMUL_PRECISION, prepare_jax
from bfc_bench.toolkit.ridge import RidgeCurve


@dataclass(frozen=True)
class ConvolutionalKernel:
    """The kernel of wide 3 x 3 convolutions with ReLU and weights of variance 2 / fan-in, on images of one shape."""

    shape: tuple[int, ...]
    """Channels, height, width."""
    depth: int
    readout: str
    """``pool`` or ``flatten``."""
    kind: str = "nngp"
    """``nngp`` or ``ntk``."""

    def matrix(self, x: Tensor, z: Tensor, *, lower: bool = False) -> Tensor:
        """The kernel matrix (m, n), float64; ``lower`` leaves tiles above the diagonal 0."""
        import jax

        device = prepare_jax(x.device.type)
        size = tile_of(self.shape, self.readout)
        out = torch.zeros(len(x), len(z), dtype=torch.float64)
        with jax.enable_x64(True), jax.default_matmul_precision(MATMUL_PRECISION):
            program = _program(self)
            left, right = ([jax.device_put(tile, device) for tile in self._tiles(points, size)] for points in (x, z))
            for i, a in enumerate(left):
                for j, b in enumerate(right[: i + 1] if lower else right):
                    block = out[i * size : (i + 1) * size, j * size : (j + 1) * size]
                    block.copy_(torch.tensor(np.asarray(program(a, b)))[: block.shape[0], : block.shape[1]])
        return out.to(x.device)

    def _tiles(self, x: Tensor, size: int) -> list[np.ndarray]:
        """Images (size, h, w, c) of each tile; the last tile repeats images, so that all share a compiled program."""
        rows = x.numpy(force=True).astype(np.float64).reshape(-1, *self.shape).transpose(0, 2, 3, 1)
        return [np.resize(rows[i : i + size], (size, *rows.shape[1:])) for i in range(0, len(rows), size)]


@cache
def _program(kernel: ConvolutionalKernel) -> Any:
    """A compiled function of two sets of images (t, h, w, c). Call it with x64 enabled."""
    import jax

    stax = neural_tangents().stax
    layers = [stax.Conv(1, (3, 3), padding="SAME", W_std=2**0.5), stax.Relu()] * kernel.depth
    read = stax.GlobalAvgPool() if kernel.readout == "pool" else stax.Flatten()
    function = stax.serial(*layers, read, stax.Dense(1))[2]
    return jax.jit(lambda x, z: function(x, z, kernel.kind))


@dataclass(frozen=True)
class KernelPredictor(Predictor):
    """Kernel regression functions, one per class or a single one for binary labels."""

    kernel: ConvolutionalKernel
    scale: float
    """Divisor of the kernel."""
    x: Tensor
    """Training points (n, d)."""
    weights: Tensor
    """(n, C), or (n, 1) for binary labels."""
    offset: Tensor
    """(C,), or (1,)."""
    classes: int
    """C, or 0 for binary labels."""
    info: Mapping[str, Any] = field(default_factory=dict)

    def predict(self, x: Tensor) -> Tensor:
        """Scores (m, C), or margins (m,), at x (m, d)."""
        scores = self.kernel.matrix(x, self.x) / self.scale @ self.weights + self.offset
        return scores if self.classes else scores[:, 0]


def solve(
    kernel: ConvolutionalKernel, train: Data, wanted: Sequence[tuple[int, float]]
) -> list[KernelPredictor | None]:
    """Regressions for each (n, ridge), which share one kernel matrix; None where float64 cannot solve the system.

    Right-hand sides are +1 for a point's class and -1 for the others, (n, C), or binary labels, (n, 1).
    """
    x, y = train.x.to(torch.float64), train.y.to(torch.float64).unsqueeze(1)
    if train.classes:
        y = 2 * (y == torch.arange(train.classes, device=y.device)).to(y) - 1
    gram = kernel.matrix(x, x, lower=True)
    results: list[KernelPredictor | None] = []
    for n, ridge in wanted:
        scale = float(gram[:n, :n].diagonal().mean())
        solution = RidgeCurve(gram[:n, :n] / scale).solve(y[:n], [n], ridge, True)
        jitter = solution.jitters[0]
        info = {"ridge": ridge, "jitter": jitter}
        weights, offset = solution.weights[:n, 0], solution.offsets[0]
        fitted = KernelPredictor(kernel, scale, x[:n], weights, offset, train.classes, info)
        results.append(None if jitter is None else fitted)
    return results
