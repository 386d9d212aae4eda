"""The hard instances for kernels and prescribed features, and for two-layer polynomial networks."""

from __future__ import annotations

from collections.abc import Mapping
from math import factorial
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bfc_bench.tasks.base import Float, InputLaw
from bfc_bench.tasks.targets.densenet_teacher import DensenetTeacher, widest_skips
from bfc_bench.tasks.targets.options import Alphas, OfSquares


class HardDensenet(OfSquares):
    """A DenseNet whose weights are fixed, or whose first weights are sparse."""

    swept: ClassVar[frozenset[str]] = frozenset({"alphas"})
    alphas: Alphas
    """alpha_2, ..., alpha_L, positive, not increasing; the theorems for kernels have alpha_L < .1."""


class HardKernel(HardDensenet):
    """A DenseNet of width 1 on sparse random sums. BFC Theorems I.1 and I.3 (lines 2574-2663).

    W_{l,0} and W_{l,1} are independent, uniform on S_p = {w: p = 2^{L-1} entries 1/sqrt(p), the others 0}; every other
    W_{l,j} is 1. J_l is as large as the index rule allows, and J_2 = {0, 1}, which the proof uses: so G* contains
    ``alpha_L top_coefficient`` prod_{i in S} x_i, S the support of W_{2,0}, and no other product of p different
    coordinates. Kernels with N <= C(d, p)/1000 points, and linear regression on as many features, miss that term.

    At d = 100 with alphas (1, .09), the term has 8e-4 of the variance on uniform inputs and 2e-5 on Gaussian ones. On
    Gaussian inputs, the other errors of a kernel hide its error in the term. Compare its whole error E(K - G*)^2 with
    the variance of the term, as the theorems do.
    """

    kind: ClassVar[str] = "hard-kernel"

    @property
    def sparsity(self) -> int:
        """p = 2^{L-1}."""
        return int(2 ** len(self.alphas))

    def check(self, d: int) -> str | None:
        """The support needs p coordinates."""
        p = self.sparsity
        return f"hard-kernel with {len(self.alphas)} alphas needs d >= {p}, not {d}" if d < p else None

    def check_teacher(self, other: Self) -> str | None:
        """The number of alphas decides p, and so what is drawn; their values do not."""
        mine, its = len(self.alphas), len(other.alphas)
        if mine != its:
            return f"both need the same number of alphas, which decides the size of the support. Got {mine} and {its}"
        return super().check_teacher(other)

    def draw(self, rng: np.random.Generator, law: InputLaw) -> HardKernelTeacher:
        """One teacher; its facts also have ``support`` (S) and ``top_coefficient`` (p!/p^{p/2})."""
        _, *above = widest_skips(len(self.alphas) + 1)
        weights = [
            {j: self._row(rng, law.d) if j < 2 else np.ones((1, 1)) for j in skips} for skips in ([0, 1], *above)
        ]
        return HardKernelTeacher(weights, self.alphas, law)

    def _row(self, rng: np.random.Generator, d: int) -> Float:
        """A uniform element of S_p, (1, d)."""
        row = np.zeros((1, d))
        row[0, rng.choice(d, size=self.sparsity, replace=False)] = self.sparsity**-0.5
        return row


class HardKernelTeacher(DensenetTeacher):
    """G* with its hard term, ``alphas[-1] top_coefficient`` prod_{i in support} x_i, as the part ``product``."""

    def __init__(self, weights: list[dict[int, Float]], alphas: tuple[float, ...], law: InputLaw) -> None:
        super().__init__(weights, alphas, law.square_mean)
        support = np.flatnonzero(weights[0][0]).tolist()
        p = len(support)
        self.facts: dict[str, Any] = {**self.facts, "support": support, "top_coefficient": factorial(p) / p ** (p / 2)}
        self.is_part = law.inputs.independent

    def part_errors(self, x: Float, prediction: Float) -> Mapping[str, float]:
        """The error in the product over the product's variance, {"product": 1.0} for a predictor without any of it.

        It is (c / c*)^2 for the component c of F - G* along prod x_i, from the mean over all pairs of points i != j:
        unbiased, of standard deviation about 2 sqrt(v) |c / c*| + sqrt(2) v, v = E(F - G*)^2 / (m c*^2 E[prod x_i^2]).
        Empty unless the coordinates of x are independent with mean 0.
        """
        if not self.is_part:
            return {}
        support, m = self.facts["support"], len(x)
        terms = (prediction - self(x)) * np.prod(x[:, support], axis=1)
        pairs = (terms.sum() ** 2 - terms @ terms) / (m * (m - 1))
        size = self.alphas[-1] * self.facts["top_coefficient"] * np.prod(self.square_mean[support])
        return {"product": float(pairs / size**2)}


class HardPoly(HardDensenet):
    """A fixed DenseNet with dense sums as weights. BFC Theorems I.6 and I.7 (lines 2665-2718).

    ``theorem = "I.6"``: k_2 = d, the other k_l = 1; W_{2,1} = I; W_{l,0} = W_{l,1} = W_{l,2} = (1, ..., 1)/sqrt(d) for
    l >= 3. Two-layer networks on (x, S_1) with activations of degree 2^{L-1} need d^{2^{Omega(L)}} units.
    ``theorem = "I.7"``: all k_l = 1 and W_{l,0} = W_{l,1} = (1, ..., 1)/sqrt(d). The same for networks on x and degree
    2^L. Every other W_{l,j} is 1, and J_l is as large as the index rule allows. Nothing is random.
    """

    kind: ClassVar[str] = "hard-poly"
    theorem: Literal["I.6", "I.7"] = "I.6"
    """The theorem whose widths and weights are used."""

    def draw(self, rng: np.random.Generator, law: InputLaw) -> DensenetTeacher:
        """The teacher in d dimensions."""
        dense, one = np.full((1, law.d), law.d**-0.5), np.ones((1, 1))
        first, below = (np.eye(law.d), 3) if self.theorem == "I.6" else (dense, 2)
        _, *above = widest_skips(len(self.alphas) + 1)
        weights = [{1: first}, *({j: dense if j < below else one for j in skips} for skips in above)]
        return DensenetTeacher(weights, self.alphas, law.square_mean)
