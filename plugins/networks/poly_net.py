"""Two-layer networks with polynomial activations, the learners of BFC Theorems I.6 and I.7."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from bfc_plugins.networks.base import NetworkLearner, NetworkShape, Params
from pydantic import Field

from bfc_bench.toolkit.arrays import NumpyOrJax


class PolyNet(NetworkLearner):
    """``h(x) = constant + sum_r s_r(w_r.z + b_r)`` with z = (x, x^2 - E x^2) or x and polynomials s_r of degree q.

    BFC Theorem I.6 is about q = 2^(L-1) with squares, Theorem I.7 about q = 2^L without. In both cases h has the degree
    2^L of the target, and still needs more than poly(d) units.
    """

    name: ClassVar[str] = "poly-net"
    smoke: ClassVar[Mapping[str, Any]] = {"width": 8, "degree": 2, "steps": 150, "batch_size": 32}
    search: ClassVar[Mapping[str, Sequence[Any]]] = {"lr": [1e-3, 3e-3, 1e-2]}

    width: Annotated[int, Field(ge=1)] = 200
    """Number of units, r in the paper."""
    degree: Annotated[int, Field(ge=1, le=32)] = 4
    """Degree q of the activation."""

    def network(self, p: int, classes: int = 0) -> NetworkShape:
        """The network on p inputs; it has a single output, so ``classes`` is ignored."""
        return PolynomialNet(p, self.width, self.degree)


@dataclass(frozen=True)
class PolynomialNet(NetworkShape):
    """constant + sum_{r,k} c_{rk} He_k(w_r.z + b_r) / sqrt(k!): Hermite polynomials, orthonormal for normal units."""

    p: int
    width: int
    degree: int

    def init(self, rng: np.random.Generator) -> Params:
        """W (r, p) ~ N(0, 1/p), so that units have about unit variance, and c (q, r) ~ N(0, 0.1/(q r)); others 0."""
        weights = rng.standard_normal((self.width, self.p)) / math.sqrt(self.p)
        scale = math.sqrt(0.1 / (self.degree * self.width))
        c = rng.standard_normal((self.degree, self.width)) * scale
        return {"W": weights, "b": np.zeros(self.width), "constant": np.zeros(()), "c": c}

    def flops(self) -> float:
        """Those of the first layer, and about four per unit and degree."""
        return 2.0 * self.width * (self.p + 2 * self.degree)

    def units(self) -> int:
        """All powers of all units."""
        return self.width * (self.degree + 1)

    def weights(self) -> int:
        """Those of the first layer, one per unit and degree, and the constant."""
        return self.width * (self.p + 1 + self.degree) + 1

    def __call__(self, params: Params, z: NumpyOrJax) -> NumpyOrJax:
        """h(z), (m,), at z (m, p)."""
        unit = z @ params["W"].T + params["b"]
        total, before, power = params["constant"] + unit @ params["c"][0], 1.0, unit
        for k in range(1, self.degree):
            before, power = power, (unit * power - math.sqrt(k) * before) / math.sqrt(k + 1)
            total = total + power @ params["c"][k]
        values: NumpyOrJax = total
        return values
