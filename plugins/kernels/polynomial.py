"""The polynomial kernel, with gradients of ``sum_i w_i k(u, v_i)``.

Shapes: m points u and n points v with k coordinates.
"""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Poly:
    """((1 + <u, v>) / (1 + square_norm))^degree, 1 on the diagonal at points of a typical norm."""

    degree: int
    square_norm: float = 1.0
    """|u|^2 of a typical point."""

    def matrix(self, u: Tensor, v: Tensor) -> Tensor:
        """k(u, v), (m, n)."""
        return self._base(u, v) ** self.degree

    def gradients(self, u: Tensor, v: Tensor, weights: Tensor) -> Tensor:
        """Gradients (m, k) at u of sum_i w_i k(u, v_i): sum_i w_i degree (...)^(degree - 1) v_i / (1 + square_norm)."""
        slope = self.degree / (1 + self.square_norm)
        return slope * (self._base(u, v) ** (self.degree - 1) * weights) @ v

    def _base(self, u: Tensor, v: Tensor) -> Tensor:
        return (1 + u @ v.T) / (1 + self.square_norm)
