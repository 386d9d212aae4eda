"""One block of spectral features, and how its directions are found from labelled features.

Shapes: n and m points; q inputs z, K directions and p units of a block.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import pi, sqrt
from typing import Literal, TypeAlias

import numpy as np
from bfc_plugins.spectral.penalties import RidgePath

Activation: TypeAlias = Literal["relu", "square"]
GAUSSIAN_MEANS = {"relu": (0.5, 1 / sqrt(2 * pi)), "square": (0.0, 2.0)}
"""E s'(h) and E h s'(h) of the activation s for a standard normal h."""
LARGE = 1024
"""With more inputs than this and than points, directions are sought in the span of the points, which holds them all."""


@dataclass(frozen=True)
class Block:
    """z -> s(h) / sqrt p, h = R^T V^T z / c + b."""

    directions: np.ndarray
    """V, (q, K)."""
    lifts: np.ndarray
    """R, (K, p)."""
    drawn: np.ndarray
    """Whether the row of R is drawn, (K,); other rows are written along a direction of the block above."""
    biases: np.ndarray
    """b, (p,)."""
    scale: float
    """c, the root of E |V^T z|^2 when the block was made."""
    activation: Activation

    @property
    def matrix(self) -> np.ndarray:
        """V R / c, (q, p)."""
        return np.asarray(self.directions @ self.lifts / self.scale)

    def units(self, z: np.ndarray) -> np.ndarray:
        """h (m, p) at z (m, q)."""
        return np.asarray(z @ self.directions @ (self.lifts / self.scale) + self.biases)

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """The inputs of the next block, (m, p), at z (m, q)."""
        h = self.units(z)
        return (np.maximum(h, 0) if self.activation == "relu" else h**2) / sqrt(h.shape[1])

    def slopes(self, z: np.ndarray) -> np.ndarray:
        """s'(h) / sqrt p, (m, p), at z (m, q)."""
        h = self.units(z)
        return np.where(h > 0, 1.0, 0.0) / sqrt(h.shape[1]) if self.activation == "relu" else 2 * h / sqrt(h.shape[1])

    def with_more(self, directions: np.ndarray, lifts: np.ndarray, drawn: bool) -> Block:
        """This block and further directions (q, r) with lifts (r, p)."""
        return replace(
            self,
            directions=np.hstack([self.directions, directions]),
            lifts=np.vstack([self.lifts, lifts]),
            drawn=np.append(self.drawn, np.full(len(lifts), drawn)),
        )

    def only(self, kept: np.ndarray) -> Block:
        """The directions of the given numbers alone."""
        return replace(self, directions=self.directions[:, kept], lifts=self.lifts[kept], drawn=self.drawn[kept])


def moment_directions(z: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """V, (q, at most k + 1), from the moments E[y z] and E[y z z^T] of labels y (n,)."""
    basis = span(z)
    z = z @ basis
    return np.asarray(basis @ leading_directions(z.T @ y, (z * y[:, None]).T @ z, k))


def span(z: np.ndarray) -> np.ndarray:
    """Orthonormal columns (q, r) whose span holds the points z (n, q): n of them, or all q of the identity."""
    return np.eye(z.shape[1]) if z.shape[1] <= max(len(z), LARGE) else np.asarray(np.linalg.qr(z.T)[0])


def regression_directions(z: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """V, (q, at most k + 1), from the linear and the quadratic part of ridge regression on both.

    The norm is that of the kernel (1 + <z, z'> / E|z|^2)^2. With its dual coefficients a_i the two parts are, up to
    factors, sum_i a_i z_i and sum_i a_i z_i z_i^T: the moments with a_i in the place of y_i.
    """
    q, size = z.shape[1], float(np.mean(np.sum(z**2, axis=1))) or 1.0
    first, second = np.triu_indices(q)
    factors = np.where(first == second, 1.0, sqrt(2)) / size
    path = RidgePath.of(np.hstack([sqrt(2 / size) * z, factors * z[:, first] * z[:, second]]), y)
    weights = path.weights[:, path.best]
    form = np.zeros((q, q))
    form[first, second] = weights[q:] * factors
    return leading_directions(weights[:q], form + form.T, k)


def leading_directions(linear: np.ndarray, form: np.ndarray, k: int) -> np.ndarray:
    """v_0 = ``linear`` / |``linear``| (q,) and the k eigenvectors of largest |eigenvalue| of P ``form`` P off v_0.

    P = I - v_0 v_0^T. Fewer if q has no more; where ``linear`` is 0, v_0 is the first coordinate.
    """
    norm = np.linalg.norm(linear)
    v = linear / norm if norm > 0 else np.eye(len(linear))[0]
    off = np.eye(len(v)) - np.outer(v, v)
    values, vectors = np.linalg.eigh(off @ form @ off)
    vectors = vectors[:, np.argsort(-np.abs(values))]
    vectors = vectors[:, np.abs(v @ vectors) < 0.5]  # v_0 itself is an eigenvector, of value 0
    return np.column_stack([v, vectors[:, : min(k, len(v) - 1)]])


def importance(block: Block, z: np.ndarray, y: np.ndarray, above: np.ndarray, signal: np.ndarray) -> np.ndarray:
    """How much each direction of a block moves the output along the labels, (K,).

    The mean over neurons i of (e <w_i, E[y g h^2]> c_iv + d <w_i, E[y g h]>)^2, h = v . z for the direction v of norm
    1, with d = E s', e = E h s', c_iv the lift of v to neuron i, and w_i what reads the neuron.

    Args:
        block: The block.
        z: Its inputs, (n, q).
        y: Labels, (n,).
        above: w_1, ..., w_p, (p, p'): the matrix of the block above, or the read-out, p' = 1.
        signal: g, (n, p'): the signal at the block above, or ones.
    """
    d, e = GAUSSIAN_MEANS[block.activation]
    h = z @ (block.directions / np.linalg.norm(block.directions, axis=0))
    weighted = signal * y[:, None] / len(y)
    first, second = above @ (weighted.T @ h), above @ (weighted.T @ h**2)  # each (p, K)
    return np.asarray(np.mean((e * second * block.lifts.T + d * first) ** 2, axis=0))
