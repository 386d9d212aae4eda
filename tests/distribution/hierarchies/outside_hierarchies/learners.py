"""Learners: the commonest class, pairs of letters, least squares with a theory, one pass of stochastic gradients."""

from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np
from pydantic import PositiveFloat

from bfc_bench import Capabilities, Context, Data, Learner, Predictor, TaskFacts, Theory
from bfc_bench.learner import LabelKind

CLASSES: frozenset[LabelKind] = frozenset({"class"})


class Scores(Predictor):
    """Scores (m, C) by a function of x (m, d)."""

    def __init__(self, scores: Callable[[np.ndarray], np.ndarray]) -> None:
        self.scores = scores

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.scores(x)


class Commonest(Learner):
    """The commonest class."""

    name: ClassVar[str] = "commonest"
    capabilities: ClassVar[Capabilities] = Capabilities(labels=CLASSES)

    def fit(self, train: Data, ctx: Context) -> Predictor:
        counts = np.bincount(train.y.astype(int), minlength=train.classes)
        best = np.eye(train.classes)[counts.argmax()]
        return Scores(lambda x: np.tile(best, (len(x), 1)))


class Pairs(Learner):
    """Naive Bayes on pairs of neighbouring positions of a sequence."""

    name: ClassVar[str] = "pairs"
    capabilities: ClassVar[Capabilities] = Capabilities(labels=CLASSES)

    def skip(self, task: TaskFacts, n: int) -> str | None:
        return None if len(task.shape) == 2 else f"pairs learns from sequences; the inputs have shape {task.shape}"

    def fit(self, train: Data, ctx: Context) -> Predictor:
        length, alphabet = train.shape
        counts = np.full((train.classes, length // 2, alphabet**2), 0.1)
        coded = pairs(train.x, length, alphabet)
        for place in range(length // 2):
            np.add.at(counts[:, place], (train.y.astype(int), coded[:, place]), 1)
        logs = np.log(counts / counts.sum(axis=2, keepdims=True))
        places = np.arange(length // 2)
        return Scores(lambda x: logs[:, places, pairs(x, length, alphabet)].sum(axis=2).T)


def pairs(x: np.ndarray, length: int, alphabet: int) -> np.ndarray:
    """The number of each pair of letters, (m, length / 2)."""
    symbols = x.reshape(len(x), length, alphabet).argmax(axis=2).reshape(len(x), -1, 2)
    return symbols[..., 0] * alphabet + symbols[..., 1]


class LeastSquares(Learner):
    """Least squares without an intercept."""

    name: ClassVar[str] = "plain-least-squares"

    def fit(self, train: Data, ctx: Context) -> Predictor:
        w = np.linalg.lstsq(train.x, train.y, rcond=None)[0]
        return Scores(lambda x: x @ w)

    def theory(self, task: TaskFacts) -> Theory | None:
        """For Gaussian inputs and noise of variance size^2: size^2 d / (n - d - 1)."""
        if task.law != "hidden-coin":
            return None
        size, d = task.options["size"], task.d
        return Theory(lambda n: size**2 * d / (n - d - 1) if n > d + 1 else float("inf"), "Wishart's inverse mean")


class OnePass(Learner):
    """One pass of stochastic gradients over the points, from a random start and with a random dropout at each step."""

    name: ClassVar[str] = "one-pass"
    capabilities: ClassVar[Capabilities] = Capabilities(one_pass=True)

    rate: PositiveFloat = 0.05

    def fit(self, train: Data, ctx: Context) -> Predictor:
        rng = np.random.default_rng(ctx.seed)
        w = rng.standard_normal(train.d) / train.d
        stages: dict[str, Predictor] = {}
        for step in range(train.n):
            x = train.x[step] * (rng.random(train.d) < 0.9)
            w = w + self.rate * (train.y[step] - x @ w) * x
            if (step + 1) & step == 0 and step + 1 < train.n:
                stages[f"n{step + 1}"] = Linear(w, {})
        return Linear(w, stages)


class Linear(Predictor):
    """x @ w, with the weights after 1, 2, 4, ... points as stages."""

    def __init__(self, w: np.ndarray, stages: Mapping[str, Predictor]) -> None:
        self.w, self.kept = w, stages

    def predict(self, x: np.ndarray) -> np.ndarray:
        return x @ self.w

    @property
    def stages(self) -> Mapping[str, Predictor]:
        return self.kept
