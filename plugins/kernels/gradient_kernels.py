"""Kernels whose functions are differentiated: values, and gradients of ``sum_i w_i k(u, v_i)`` in closed form.

Shapes: m points u and n points v with k coordinates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import sqrt
from typing import Literal, TypeAlias

import torch
from torch import Tensor

GradientKernelName: TypeAlias = Literal["poly", "rbf", "laplace"]


class GradientKernel(ABC):
    """A kernel that is 1 on the diagonal at points of a typical norm, with its gradients."""

    @abstractmethod
    def matrix(self, u: Tensor, v: Tensor) -> Tensor:
        """k(u, v), (m, n)."""

    @abstractmethod
    def gradients(self, u: Tensor, v: Tensor, weights: Tensor) -> Tensor:
        """Gradients (m, k) of ``sum_i w_i k(u, v_i)`` at the points u.

        Args:
            u: points, (m, k).
            v: centres, (n, k).
            weights: w, (n,), or (m, n) if each point u has weights of its own.
        """


@dataclass(frozen=True)
class Poly(GradientKernel):
    """((1 + gamma <u, v>) / (1 + gamma square_norm))^degree."""

    degree: int
    gamma: float = 1.0
    square_norm: float = 1.0
    """|u|^2 of a typical point."""

    def matrix(self, u: Tensor, v: Tensor) -> Tensor:
        """The formula."""
        return self._base(u, v) ** self.degree

    def gradients(self, u: Tensor, v: Tensor, weights: Tensor) -> Tensor:
        """sum_i w_i degree (...)^(degree - 1) gamma v_i / (1 + gamma square_norm)."""
        slope = self.degree * self.gamma / (1 + self.gamma * self.square_norm)
        return slope * (self._base(u, v) ** (self.degree - 1) * weights) @ v

    def _base(self, u: Tensor, v: Tensor) -> Tensor:
        return (1 + self.gamma * (u @ v.T)) / (1 + self.gamma * self.square_norm)


@dataclass(frozen=True)
class Gauss(GradientKernel):
    """exp(-gamma |u - v|^2)."""

    gamma: float = 1.0

    def matrix(self, u: Tensor, v: Tensor) -> Tensor:
        """The formula."""
        return torch.exp(-self.gamma * _distances(u, v) ** 2)

    def gradients(self, u: Tensor, v: Tensor, weights: Tensor) -> Tensor:
        """-2 gamma sum_i w_i k(u, v_i) (u - v_i)."""
        return -2 * self.gamma * _pulls(u, v, self.matrix(u, v) * weights)


@dataclass(frozen=True)
class Laplace(GradientKernel):
    """exp(-sqrt(gamma) |u - v|)."""

    gamma: float = 1.0

    def matrix(self, u: Tensor, v: Tensor) -> Tensor:
        """The formula."""
        return torch.exp(-sqrt(self.gamma) * _distances(u, v))

    def gradients(self, u: Tensor, v: Tensor, weights: Tensor) -> Tensor:
        """-sqrt(gamma) sum_i w_i k(u, v_i) (u - v_i) / |u - v_i|, without centres at u, where there is no gradient."""
        distances = _distances(u, v)
        slopes = torch.where(distances > 0, self.matrix(u, v) / distances, 0.0)
        return -sqrt(self.gamma) * _pulls(u, v, slopes * weights)


def make_gradient_kernel(name: GradientKernelName, gamma: float, degree: int) -> GradientKernel:
    """A kernel for points with |u|^2 of about 1.

    Args:
        name: ``poly``, ``rbf`` or ``laplace``.
        gamma: Factor of inner products or distances.
        degree: Degree of ``poly``; the others have none.
    """
    return Poly(degree, gamma) if name == "poly" else Gauss(gamma) if name == "rbf" else Laplace(gamma)


def _distances(u: Tensor, v: Tensor) -> Tensor:
    """|u - v|, (m, n), from differences: squared norms less products would lose small distances to rounding."""
    distances: Tensor = torch.cdist(u, v, compute_mode="donot_use_mm_for_euclid_dist")
    return distances


def _pulls(u: Tensor, v: Tensor, weights: Tensor) -> Tensor:
    """sum_i w_i (u - v_i), (m, k), for weights (m, n)."""
    return weights.sum(1, keepdim=True) * u - weights @ v
