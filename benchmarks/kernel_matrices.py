"""Kernel matrices of wide ReLU networks against neural-tangents, jitted and warm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import sqrt
from typing import Any

import jax
import numpy as np
import torch

from benchmarks.measurement import Measurement, interleave
from bfc_bench.seeds import stream
from bfc_bench.toolkit.kernels.by_name import make_kernel
from bfc_bench.toolkit.neural_tangents import neural_tangents

DIMENSION = 30
GOALS = {("float64", 1): 1.8, ("float64", 2): 3.0, ("float32", 1): 3.0, ("float32", 2): 5.0}
TOLERANCE = {"float64": 1e-7, "float32": 1e-3}
"""Accepted difference relative to the kernel at one point; the opponent's diagonal is no more accurate."""


def measure(quick: bool) -> Iterator[Measurement]:
    """NTK and NNGP, n = 4000, 1 and 2 hidden layers, both precisions; the full matrix on both sides."""
    jax.config.update("jax_enable_x64", True)
    n = 1500 if quick else 4000
    x = stream("benchmarks", "kernel-matrices").standard_normal((n, DIMENSION))
    for (dtype, depth), goal in GOALS.items():
        for name in ("ntk", "nngp"):
            ours, theirs = _ours(name, depth, x.astype(dtype)), _neural_tangents(name, depth, x.astype(dtype))
            unit = depth + 1 if name == "ntk" else 1
            np.testing.assert_allclose(unit * ours().numpy(), np.asarray(theirs()), atol=TOLERANCE[dtype] * unit * 3)
            yield interleave(ours, theirs, 2 if quick else 4).measurement(
                f"{name.upper()}, n={n}, {depth} hidden layer{'s' * (depth > 1)}, {dtype}",
                "neural-tangents, jitted, warm",
                "s",
                goal=goal,
            )


def _ours(name: Any, depth: int, x: np.ndarray) -> Callable[[], torch.Tensor]:
    points = torch.tensor(x)

    def build() -> torch.Tensor:
        kernel = make_kernel(name, 1 / DIMENSION, depth=depth)
        return kernel.gram(kernel.points(points))

    return build


def _neural_tangents(name: str, depth: int, x: np.ndarray) -> Callable[[], Any]:
    stax = neural_tangents().stax
    layers = [layer for _ in range(depth) for layer in (stax.Dense(1, W_std=sqrt(2)), stax.Relu())]
    _, _, kernel = stax.serial(*layers, stax.Dense(1))
    compiled = jax.jit(lambda points: kernel(points, None, name))
    points = jax.device_put(x)
    return lambda: compiled(points).block_until_ready()
