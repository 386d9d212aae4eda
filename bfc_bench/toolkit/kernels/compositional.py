"""Neural compositional kernels: the dual of any activation composed with itself, evaluated by neural-tangents.

An activation s with E s(t)^2 = 1 for t ~ N(0, 1) has the dual s^(rho) = E[s(u) s(v)], (u, v) standard normal with
correlation rho (Daniely, Frostig & Singer 2016). Composed ``depth`` times it is the NNGP kernel of a deep network whose
weights keep the pre-activations' variance 1.

Shapes: m and n points, p input features.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from bfc_bench.toolkit.kernels.base import TILE, Kernel, PreparedPoints
from bfc_bench.toolkit.neural_tangents import neural_tangents
from bfc_bench.toolkit.precision import MATMUL_PRECISION, prepare_jax

Activation: TypeAlias = Literal["relu", "erf", "gelu", "quadratic", "sin", "sigmoid"]


@dataclass(frozen=True)
class Compositional(Kernel):
    """s^(s^(... gamma <x, z>)) where gamma |x|^2 = gamma |z|^2 = 1, and the NNGP kernel of that network elsewhere."""

    gamma: float
    activation: Activation = "relu"
    depth: int = 1

    def diagonal(self, points: PreparedPoints) -> Tensor:
        """The network's variance, without the rounding in products of equal points."""
        lengths = points.scale.sqrt().unsqueeze(1)
        return torch.cat([self._evaluate(part, part, "cov1")[: len(part)] for part in lengths.split(TILE)])

    def tile(self, x: PreparedPoints, z: PreparedPoints, scratch: Tensor, out: Tensor) -> None:
        """See ``Kernel.tile``."""
        rows = [
            torch.cat([self._evaluate(a, b, "nngp")[: len(a), : len(b)] for b in z.features.split(TILE)], dim=1)
            for a in x.features.split(TILE)
        ]
        out.copy_(torch.cat(rows))

    def _evaluate(self, x: Tensor, z: Tensor, get: str) -> Tensor:
        """What neural-tangents calls ``get``, at up to ``TILE`` points x (m, p) and z (n, p) repeated to ``TILE``."""
        import jax

        device = prepare_jax(x.device.type)
        scale = sqrt(self.gamma * x.shape[1])
        # Repeated to TILE rows, so that tiles of all sizes share one program.
        repeated = [np.resize(part.numpy(force=True), (TILE, part.shape[1])) for part in (x, z)]
        with jax.enable_x64(True), jax.default_matmul_precision(MATMUL_PRECISION):
            program = _program(self.activation, self.depth, get)
            values = program(*(jax.device_put(scale * part, device) for part in repeated))
            return torch.tensor(np.asarray(values), dtype=x.dtype, device=x.device)


@cache
def _program(activation: Activation, depth: int, get: str) -> Any:
    """A compiled function of two sets of points (TILE, p), whose products it divides by p. Called in float64."""
    import jax

    stax = neural_tangents().stax
    layer = {
        "relu": stax.Relu,
        "erf": stax.Erf,
        "gelu": stax.Gelu,
        "quadratic": lambda: stax.Monomial(2),
        "sin": stax.Sin,
        "sigmoid": stax.Sigmoid_like,
    }[activation]
    one = np.ones((1, 1))
    gain = 1 / sqrt(float(stax.serial(stax.Dense(1), layer())[2](one, None, "nngp")[0, 0]))
    hidden = [part for k in range(depth) for part in (stax.Dense(1, W_std=gain if k else 1.0), layer())]
    kernel = stax.serial(*hidden, stax.Dense(1, W_std=gain))[2]
    return jax.jit(lambda x, z: kernel(x, z, get))
