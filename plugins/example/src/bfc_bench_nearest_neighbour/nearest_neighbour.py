"""Nearest-neighbour regression: replace it with your algorithm."""

from typing import ClassVar

import numpy as np
from bfc_bench import Capabilities, Context, Cost, Data, Learner, Predictor
from pydantic import PositiveInt


class NearestNeighbour(Learner):
    """Averages the labels of the nearest training points (Cover and Hart 1967, IEEE Trans. Inf. Theory 13)."""

    name: ClassVar[str] = "nearest-neighbour"
    capabilities: ClassVar[Capabilities] = Capabilities(labels=frozenset({"real", "binary"}))
    smoke: ClassVar[dict[str, int]] = {"neighbours": 3}
    search: ClassVar[dict[str, list[int]]] = {"neighbours": [1, 3, 10]}

    neighbours: PositiveInt = 5
    """Number of training points to average, or n if that is smaller."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Keep the training points x (n, d) and their labels y (n,). Draw random numbers from ``ctx.seed`` alone."""
        return _Fitted(train.x.copy(), train.y.copy(), min(self.neighbours, train.n))

    def cost(self, n: int, d: int) -> Cost:
        """A fit copies the points."""
        return Cost(flops=n * (d + 1.0), bytes=8.0 * n * (d + 1), parameters=n * (d + 1))


class _Fitted(Predictor):
    def __init__(self, x: np.ndarray, y: np.ndarray, neighbours: int) -> None:
        self.x, self.y, self.neighbours = x, y, neighbours
        self.info = {"neighbours": neighbours}

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Mean labels (m,) of the training points nearest to x (m, d)."""
        squared_distance = (x**2).sum(1)[:, None] - 2 * x @ self.x.T + (self.x**2).sum(1)
        nearest = np.argpartition(squared_distance, self.neighbours - 1, axis=1)[:, : self.neighbours]
        labels: np.ndarray = self.y[nearest].mean(axis=1)
        return labels
