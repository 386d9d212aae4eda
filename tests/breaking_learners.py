"""Learners that misbehave in every way that the framework must survive. Registered by the fixture ``faulty``."""

import os
import signal
import time
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from bfc_bench import Capabilities, Context, Cost, Data, Diverged, Failure, Job, Learner, Outline, Predictor, hookimpl


class Constant(Predictor):
    def __init__(self, value: float, shape: tuple[int, ...] | None = None) -> None:
        self.value, self.shape = value, shape

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.full(self.shape or len(x), self.value)


class Mean(Learner):
    """Predicts the mean of the training labels."""

    name: ClassVar[str] = "mean"
    shift: float = 0.0

    def fit(self, train: Data, ctx: Context) -> Predictor:
        return Constant(float(train.y.mean()) + self.shift)


class Slow(Mean):
    """Takes a while."""

    name: ClassVar[str] = "slow"
    seconds: float = 0.3

    def fit(self, train: Data, ctx: Context) -> Predictor:
        time.sleep(self.seconds)
        return super().fit(train, ctx)


class Faulty(Learner):
    """Fails in the way asked for, at the given size only."""

    name: ClassVar[str] = "faulty"
    how: str
    at: int = 0
    """Size at which it fails; 0 for all."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        if self.at in (0, train.n):
            return self._fail()
        return Constant(float(train.y.mean()))

    def _fail(self) -> Predictor:
        match self.how:
            case "raise":
                raise ZeroDivisionError("one over nothing")
            case "hang":
                while True:
                    time.sleep(0.01)
            case "exit":
                os._exit(7)
            case "signal":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "diverge":
                raise Diverged("loss is NaN at step 12")
            case "memory":
                raise MemoryError("cannot allocate 1 TB")
            case "nan":
                return Constant(float("nan"))
            case "infinite":
                return Constant(float("inf"))
            case "shape":
                return Constant(0.0, (3, 2))
            case "nothing":
                return None  # type: ignore[return-value]
        raise ValueError(self.how)


class Together(Faulty):
    """Fits all cells of a learner together; the batch shares the fate of its worst member."""

    name: ClassVar[str] = "together"

    def batch_key(self, train: Outline) -> Hashable:
        return "all"

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job]) -> Sequence[Predictor | Failure]:
        return [job.learner.fit(job.train, job.ctx) for job in jobs]


class Ridge(Learner):
    """Linear ridge regression; its ridge is searched by default."""

    name: ClassVar[str] = "linear-ridge"
    search: ClassVar[dict] = {"ridge": [1e-6, 1.0, 1e6]}
    ridge: float = 1.0

    def fit(self, train: Data, ctx: Context) -> Predictor:
        gram = train.x.T @ train.x + self.ridge * np.eye(train.d)
        return Linear(np.linalg.solve(gram, train.x.T @ train.y))


class Linear(Predictor):
    def __init__(self, w: np.ndarray) -> None:
        self.w = w

    def predict(self, x: np.ndarray) -> np.ndarray:
        return x @ self.w


class Spy(Learner):
    """Writes down what it is given."""

    name: ClassVar[str] = "spy"
    capabilities: ClassVar[Capabilities] = Capabilities(oracle=frozenset({"alphas"}))
    path: str
    ask: bool = False

    def oracle(self) -> frozenset[str]:
        return frozenset({"alphas"}) if self.ask else frozenset()

    def fit(self, train: Data, ctx: Context) -> Predictor:
        where = Path(self.path) / f"{train.n}-{ctx.seed}.npz"
        np.savez(where, x=train.x, y=train.y, square_mean=ctx.square_mean, oracle=str(dict(ctx.oracle)))
        return Constant(0.0)


class Huge(Mean):
    """Declares more memory than there is."""

    name: ClassVar[str] = "huge"

    def cost(self, n: int, d: int) -> Cost:
        return Cost(flops=1.0, bytes=n * 1e9)


class Unplannable(Mean):
    """Cannot say what it costs."""

    name: ClassVar[str] = "unplannable"

    def cost(self, n: int, d: int) -> Cost:
        raise KeyError("flops")


class Surroundings(Mean):
    """Notes the environment of the process that it runs in."""

    name: ClassVar[str] = "surroundings"

    def fit(self, train: Data, ctx: Context) -> Predictor:
        predictor = super().fit(train, ctx)
        predictor.info = dict(os.environ)
        return predictor


@hookimpl
def bfc_register_learners(register: Callable[[type[Learner]], None]) -> None:
    for learner in (Mean, Slow, Faulty, Together, Ridge, Spy, Huge, Unplannable, Surroundings):
        register(learner)
