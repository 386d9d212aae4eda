"""Directions from the singular vectors of the unfolded moment tensor of the labels."""

from collections.abc import Mapping
from math import sqrt
from typing import Annotated, Any, ClassVar

import numpy as np
from bfc_plugins.index_models.read_out import read_out, read_out_of_all
from pydantic import Field

from bfc_bench.learner import Capabilities, Context, Cost, Data, Learner, Predictor
from bfc_bench.utils.hermite import hermite

BLOCK = 2048
"""Number of points whose tensors are formed together."""


class TensorUnfolding(Learner):
    """The direction w of T = mean y_i H_k(x_i), the moment tensor of order k of the labels, by unfolding; k = 1..4.

    H_k(x) is the tensor of Hermite polynomials with <H_k(x), w^k> = he_k(w . x) for |w| = 1. E T = c_k w^k for a target
    of w . x alone and Gaussian inputs, where c_k is its coefficient of he_k. T is unfolded to a matrix of d x d^(k-1)
    for k <= 3 and of d^2 x d^2 for k = 4, whose largest singular vector is w, or vec(w w^T), with n ~ d^(k/2) points
    (tensor PCA by unfolding: Richard and Montanari 2014, arXiv 1411.1076; n ~ d^(k/2) is the bound of Damian, Nichani,
    Ge and Lee 2023, arXiv 2305.10633). ``steps`` steps of tensor power iteration follow, w <- T(., w, ..., w) / |.|.

    The prediction is a polynomial of w . x, fitted to the training points by least squares. The learner is told k and
    the polynomial's degree. Inputs must be Gaussian with E x x^T = c I; uniform ones on the sphere are nearly so.
    """

    name: ClassVar[str] = "tensor-unfolding"
    capabilities: ClassVar[Capabilities] = Capabilities(labels=frozenset({"real", "binary"}))
    smoke: ClassVar[Mapping[str, Any]] = {"order": 1, "degree": 1}

    order: Annotated[int, Field(ge=1, le=4)] = 3
    """k, the order of the tensor: the information exponent of the target."""
    degree: Annotated[int, Field(ge=1)] = 3
    """Degree of the polynomial that is fitted to the projection."""
    steps: Annotated[int, Field(ge=0)] = 10
    """Number of steps of tensor power iteration."""
    rank: Annotated[int, Field(ge=1)] = 1
    """r, the number of directions. Each further one is found in the labels less the read-out of those before it
    (deflation), and the prediction is a sum of polynomials of the projections."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Fit to the n training points."""
        scale = 1.0 if ctx.square_mean is None else float(np.sqrt(np.mean(ctx.square_mean)))
        x, residual = train.x / scale, train.y
        directions: list[np.ndarray] = []
        for _ in range(self.rank):
            directions.append(self._direction(x, residual) / scale)
            fitted = read_out_of_all(train.x, train.y, directions, self.degree)
            residual = train.y - fitted.predict(train.x)
        return read_out(train.x, train.y, directions[0], self.degree) if self.rank == 1 else fitted

    def _direction(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The direction (d,) of the tensor of labels y (n,)."""
        d = x.shape[1]
        blocks = (slice(first, first + BLOCK) for first in range(0, len(x), BLOCK))
        matrix = sum((_unfolded(x[rows], y[rows], self.order) for rows in blocks), np.zeros(_shape(d, self.order)))
        left, *_ = np.linalg.svd(matrix, full_matrices=False)
        w = left[:, 0]
        if self.order == 4:
            values, vectors = np.linalg.eigh((w.reshape(d, d) + w.reshape(d, d).T) / 2)
            w = vectors[:, np.abs(values).argmax()]
        for _ in range(self.steps):
            w = _power_step(x, y, w, self.order)
        return np.asarray(w)

    def assumes(self) -> Mapping[str, Any]:
        """The information exponent and the degree of the link."""
        return {"information_exponent": self.order, "degree": self.degree}

    def cost(self, n: int, d: int) -> Cost:
        """The tensor, its decomposition, and the steps."""
        rows, columns = _shape(d, self.order)
        flops = 2.0 * n * rows * columns + 10.0 * rows * columns * min(rows, columns) + 6.0 * self.steps * n * d
        bytes = 8.0 * (3 * rows * columns + min(n, BLOCK) * columns + n * d)
        return Cost(self.rank * flops, bytes, work="products", seconds=1e-3)


def _shape(d: int, order: int) -> tuple[int, int]:
    return (d * d, d * d) if order == 4 else (d, d ** (order - 1))


def _unfolded(x: np.ndarray, y: np.ndarray, order: int) -> np.ndarray:
    """sum_i y_i H_k(x_i), unfolded, for x (m, d) and y (m,), up to the factor 1 / sqrt(k!)."""
    m, d = x.shape
    if order == 1:
        return np.asarray((y @ x)[:, None])
    weighted = y[:, None] * x
    second = weighted.T @ x - y.sum() * np.eye(d)
    if order == 2:
        return np.asarray(second)
    pairs = (x[:, :, None] * x[:, None, :]).reshape(m, d * d)
    if order == 3:
        third = (weighted.T @ pairs).reshape(d, d, d)
        patterns = ("a,bc->abc", "b,ac->abc", "c,ab->abc")
        third -= sum(np.einsum(pattern, y @ x, np.eye(d)) for pattern in patterns)
        return np.asarray(third.reshape(d, d * d))
    one = np.eye(d)
    fourth = ((y[:, None] * pairs).T @ pairs).reshape(d, d, d, d)
    moment = second + y.sum() * one / 2  # half of the last term with each of the two products
    for pattern in ("ab,cd->abcd", "ac,bd->abcd", "ad,bc->abcd", "bc,ad->abcd", "bd,ac->abcd", "cd,ab->abcd"):
        fourth -= np.einsum(pattern, moment, one)
    return np.asarray(fourth.reshape(d * d, d * d))


def _power_step(x: np.ndarray, y: np.ndarray, w: np.ndarray, order: int) -> np.ndarray:
    """T(., w, ..., w) / |.|, where T(., w, ..., w) = sqrt(1/k) mean y (he_{k-1}(p) x - sqrt(k-1) he_{k-2}(p) w)."""
    values = hermite(x @ w, order)
    step = (y * values[order - 1]) @ x
    if order > 1:
        step -= sqrt(order - 1) * (y @ values[order - 2]) * w
    norm = np.linalg.norm(step)
    return np.asarray(step / norm if norm > 0 else w)
