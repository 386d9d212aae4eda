"""Spaces of functions in which ridge regressions on prefixes of one sample are solved together.

Shapes: N points, m points to predict at, d inputs, D features, r functions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import Tensor

from bfc_bench.toolkit.band import banded_sizes
from bfc_bench.toolkit.feature_maps import FeatureMap
from bfc_bench.toolkit.kernels.base import Kernel, PreparedPoints
from bfc_bench.toolkit.ridge import RidgeCurve

CHUNK = 2048
"""Number of points whose features are computed together in prediction."""

Wanted: TypeAlias = Mapping[float, Sequence[int]]
"""Sizes in ascending order, by ridge."""
Transform: TypeAlias = Callable[[Tensor], Tensor]
"""A function that is applied to inputs (m, d) first."""
Weigh: TypeAlias = Callable[[Tensor], Tensor]
"""Positive weights (n,) of the squared errors at n points, from their labels (n,)."""


@dataclass(frozen=True)
class Solution:
    """One fit: ``f + offset``."""

    weights: Tensor
    """(n,) of kernel functions, or (D,) of features; (n, r) or (D, r) for labels (N, r)."""
    offset: Tensor
    """Scalar, or (r,)."""
    info: Mapping[str, Any]


class Space(ABC):
    """Functions f with a squared norm |f|^2."""

    info: Mapping[str, Any]
    """Plain facts, for the predictors' info."""

    @abstractmethod
    def solve(self, x: Tensor, y: Tensor, wanted: Wanted, center: bool) -> dict[tuple[float, int], Solution]:
        """Minimisers of sum_i (y_i - offset - f(x_i))^2 + ridge |f|^2, by ridge and size; none where float64 fails."""

    @abstractmethod
    def evaluate(self, x: Tensor, weights: Tensor) -> Tensor:
        """The functions with weights (k, r), zeros for missing points, at x (m, d): (m, r)."""


@dataclass(frozen=True)
class KernelSpace(Space):
    """f = sum_i weights_i k(., x_i) over the sample's points, |f|^2 the norm of the kernel's Hilbert space."""

    kernel: Kernel
    points: PreparedPoints
    """The sample."""
    transform: Transform | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    weigh: Weigh | None = None
    """Weights of the squared errors; by default all count alike."""

    @classmethod
    def on(
        cls, x: Tensor, kernel: Kernel, transform: Transform | None = None, weigh: Weigh | None = None, **info: Any
    ) -> KernelSpace:
        """The space over a sample."""
        return cls(kernel, kernel.points(transform(x) if transform else x), transform, info, weigh)

    def solve(self, x: Tensor, y: Tensor, wanted: Wanted, center: bool) -> dict[tuple[float, int], Solution]:
        """Uses one kernel matrix, or one per size with weights."""
        gram = self.kernel.gram(self.points, mirror=False)
        if self.weigh:
            return _solve_weighted(gram, y, wanted, center, self.weigh)
        return _solve_prefixes(gram, y, wanted, center)

    def evaluate(self, x: Tensor, weights: Tensor) -> Tensor:
        """See ``Space.evaluate``."""
        points = self.kernel.points(self.transform(x) if self.transform else x)
        return self.kernel.matmul(points, self.points[: len(weights)], weights)


@dataclass(frozen=True)
class FeatureSpace(Space):
    """f = weights . phi for a feature map phi: R^d -> R^D, |f|^2 = |weights|^2."""

    map: FeatureMap
    transform: Transform | None = None
    info: Mapping[str, Any] = field(default_factory=dict)

    def features(self, x: Tensor) -> Tensor:
        """phi, (m, D), at inputs x (m, d)."""
        return self.map(self.transform(x) if self.transform else x)

    def solve(self, x: Tensor, y: Tensor, wanted: Wanted, center: bool) -> dict[tuple[float, int], Solution]:
        """Uses n x n systems (dual) for sizes n <= D, D x D systems (primal) for larger ones."""
        phi = self.features(x)
        solved = {}
        for name, solve in (("dual", solve_dual), ("primal", solve_primal)):
            part = {
                ridge: own_sizes
                for ridge, sizes in wanted.items()
                if (own_sizes := [n for n in sizes if (n <= phi.shape[1]) == (name == "dual")])
            }
            if not part:  # do not allocate a D x D matrix
                continue
            for (ridge, n), weights in solve(phi, y, part, center).items():
                solved[ridge, n] = Solution(weights, _offset(y, n, center), {"solved": name})
        return solved

    def evaluate(self, x: Tensor, weights: Tensor) -> Tensor:
        """See ``Space.evaluate``."""
        return torch.cat([self.features(part) @ weights for part in x.split(CHUNK)])


def _solve_weighted(
    gram: Tensor, y: Tensor, wanted: Wanted, center: bool, weigh: Weigh
) -> dict[tuple[float, int], Solution]:
    """Minimisers of sum_i w_i (y_i - offset - f(x_i))^2 + ridge |f|^2, with the weighted mean as offset.

    With R = diag(sqrt w) the coefficients are R b for (R K R + ridge I) b = R (y - offset). Weights may depend on all n
    labels, so each size has its own matrix.
    """
    solved: dict[tuple[float, int], Solution] = {}
    for n in sorted({n for sizes in wanted.values() for n in sizes}):
        weights = weigh(y[:n])
        root = weights.sqrt()
        offset = weights @ y[:n] / weights.sum() if center else y.new_zeros(())
        ridges = {ridge: [n] for ridge, sizes in wanted.items() if n in sizes}
        prefixes = _solve_prefixes(
            gram[:n, :n] * torch.outer(root, root), root * (y[:n] - offset), ridges, center=False
        )
        for key, solution in prefixes.items():
            solved[key] = Solution(root * solution.weights, offset, solution.info)
    return solved


def _solve_prefixes(gram: Tensor, y: Tensor, wanted: Wanted, center: bool) -> dict[tuple[float, int], Solution]:
    """Minimisers over sum_i weights_i k(., x_i), by ridge and size: by one band per size, or one factor per ridge.

    Args:
        gram: Kernel matrix (N, N); only its lower triangle is read.
        y: Labels, (N,) or (N, r) for r functions.
        wanted: Sizes by ridge.
        center: Whether the offset is the mean of the first n labels; else it is 0.
    """
    curve, targets = RidgeCurve(gram), y.reshape(len(y), -1)
    solved: dict[tuple[float, int], Solution] = {}
    for n in [] if gram.is_cuda else banded_sizes(wanted, targets.shape[1]):
        ridges = [ridge for ridge, sizes in wanted.items() if n in sizes]
        centred = targets[:n] - _offset(targets, n, center)
        for ridge, weights in curve.band(n).solve(centred, ridges).items():
            solved[ridge, n] = _solution(y, weights, center, 0.0)
    for ridge, sizes in wanted.items():
        if unsolved := [n for n in sizes if (ridge, n) not in solved]:
            coefficients = curve.solve(targets, unsolved, ridge, center)
            for k, (n, jitter) in enumerate(zip(unsolved, coefficients.jitters, strict=True)):
                if jitter is not None:
                    solved[ridge, n] = _solution(y, coefficients.weights[:n, k], center, jitter)
    return solved


def _solution(y: Tensor, weights: Tensor, center: bool, jitter: float) -> Solution:
    """A fit to the first n labels with weights (n, r), in the shape of the labels."""
    n = len(weights)
    return Solution(weights.reshape(n, *y.shape[1:]).clone(), _offset(y, n, center), {"jitter": jitter})


def solve_dual(phi: Tensor, y: Tensor, wanted: Wanted, center: bool) -> dict[tuple[float, int], Tensor]:
    """Weights phi^T (phi phi^T + ridge I)^-1 (y - offset), (D,) or (D, r), by ridge and size; one factor per ridge."""
    largest = max(sizes[-1] for sizes in wanted.values())
    solved = _solve_prefixes(phi[:largest] @ phi[:largest].T, y[:largest], wanted, center)
    return {(ridge, n): phi[:n].T @ solution.weights for (ridge, n), solution in solved.items()}


def solve_primal(phi: Tensor, y: Tensor, wanted: Wanted, center: bool) -> dict[tuple[float, int], Tensor]:
    """Weights (phi^T phi + ridge I)^-1 phi^T (y - offset), (D,) or (D, r), by ridge and size.

    One eigendecomposition per size serves all ridges. Directions in which phi^T phi + ridge I is zero up to rounding
    are left out.
    """
    solved: dict[tuple[float, int], Tensor] = {}
    every_size = sorted({n for sizes in wanted.values() for n in sizes})
    gram, done = phi.new_zeros(phi.shape[1], phi.shape[1]), 0
    for n in every_size:
        gram.addmm_(phi[done:n].T, phi[done:n])
        done = n
        target = phi[:n].T @ (y[:n] - _offset(y, n, center))
        if not (gram.isfinite().all() and target.isfinite().all()):
            break
        eigenvalues, vectors = torch.linalg.eigh(gram)
        rounding = eigenvalues[-1].abs() * len(gram) * torch.finfo(gram.dtype).eps
        target = vectors.T @ target
        for ridge in (ridge for ridge, sizes in wanted.items() if n in sizes):
            denominator = (eigenvalues + ridge).reshape(-1, *[1] * (y.ndim - 1))
            solved[ridge, n] = vectors @ torch.where(denominator > rounding, target / denominator, 0.0)
    return solved


def _offset(y: Tensor, n: int, center: bool) -> Tensor:
    return y[:n].mean(0) if center else y.new_zeros(y.shape[1:])
