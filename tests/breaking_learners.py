"""Learners with every fault that the framework must survive. The fixture ``faulty`` installs them.

Those that take memory or end their process are in ``greedy_learners``, and those that read or write what is not theirs
in ``meddling_learners``.
"""

import math
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bfc_bench import hookimpl
from bfc_bench.errors import Diverged
from bfc_bench.learner import Capabilities, Cost, Failure, Learner, Predictor


def in_worker():
    """Whether this process is a worker, by a variable that only workers have."""
    return "JE_ARROW_MALLOC_CONF" in os.environ


class Constant(Predictor):
    def __init__(self, value, shape=None):
        self.value, self.shape = value, shape

    def predict(self, x):
        return np.full(self.shape or len(x), self.value)


class Mean(Learner):
    """Predicts the mean of the training labels."""

    name: ClassVar[str] = "mean"
    shift: float = 0.0

    def fit(self, train, ctx):
        return Constant(float(train.y.mean()) + self.shift)


def on(base, arrays):
    """A variant of a learner that gets arrays of another library."""
    own = {"name": f"{base.name}-{arrays}", "capabilities": Capabilities(arrays=(arrays,))}
    return type(f"{base.__name__}{arrays.title()}", (base,), {"__module__": base.__module__, **own})


class Slow(Mean):
    """Sleeps in fit."""

    name: ClassVar[str] = "slow"
    seconds: float = 0.3

    def fit(self, train, ctx):
        time.sleep(self.seconds)
        return super().fit(train, ctx)


class Artist(Mean):
    """Has artifacts, or fails to make them in the way that ``how`` names."""

    name: ClassVar[str] = "artist"
    how: str = "well"
    marker: str = ""

    def fit(self, train, ctx):
        return ArtistPredictor(self.how, train.n, self.marker)


PNG = b"\x89PNG\r\n\x1a\n"


FILES: dict[str, Callable[[int], Any]] = {
    "well": lambda n: {"features.png": PNG + bytes([n]) * n, "facts.json": b'{"n": 1}'},
    "raises": lambda n: 1 // 0,
    "exits": lambda n: sys.exit(0),
    "list": lambda n: [b""],
    "path": lambda n: {"../../out.png": PNG},
    "hidden": lambda n: {".png": PNG},
    "ending": lambda n: {"run.sh": b"true"},
    "text": lambda n: {"a.csv": "1,2"},
    "not-png": lambda n: {"a.png": b"GIF89a"},
    "not-json": lambda n: {"a.json": b"{NaN}"},
    "not-text": lambda n: {"a.csv": b"\xff"},
    "large": lambda n: {"a.csv": b"0" * 2_000_001, "b.csv": b"0" * 2_000_000},
    "many": lambda n: {f"{i}.csv": b"" for i in range(101)},
}
"""Functions of n that give the artifacts, by ``how``."""


class ArtistPredictor(Constant):
    def __init__(self, how, n, marker):
        super().__init__(0.0)
        self.how, self.n, self.marker = how, n, marker

    def artifacts(self):
        if self.marker and not Path(self.marker).exists():
            return {"features.png": PNG + b"of the first run", "more.csv": b"x"}
        return FILES[self.how](self.n)


def throw(error):
    raise error


def leave_a_child():
    if os.fork() == 0:
        time.sleep(60)  # the child holds its parent's ends of all pipes
    os._exit(0)


FAULTS: dict[str, Callable[[], Any]] = {
    "raise": lambda: throw(ZeroDivisionError("one over nothing")),
    "hang": lambda: time.sleep(3600),
    "exit": lambda: os._exit(7),
    "signal": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "diverge": lambda: throw(Diverged("loss is NaN at step 12")),
    "memory": lambda: throw(MemoryError("cannot allocate 1 TB")),
    "nan": lambda: Constant(math.nan),
    "infinite": lambda: Constant(math.inf),
    "shape": lambda: Constant(0.0, (3, 2)),
    "nothing": lambda: None,
    "leave": lambda: os._exit(0),
    "fork": leave_a_child,
    "close": lambda: (os.closerange(3, 1000), time.sleep(60)),
}
"""What a fit does, by ``how``."""


class Faulty(Learner):
    """Fails in the way that ``how`` names, at one size."""

    name: ClassVar[str] = "faulty"
    how: str
    at: int = 0
    """Size at which it fails; 0 for all."""

    def fit(self, train, ctx):
        return FAULTS[self.how]() if self.at in (0, train.n) else Constant(float(train.y.mean()))


class Together(Faulty):
    """Fits all cells in one batch, which fails if one of them does."""

    name: ClassVar[str] = "together"

    def batch_key(self, train):
        return "all"

    @classmethod
    def fit_batch(cls, jobs):
        return [job.learner.fit(job.train, job.ctx) for job in jobs]


class Unpicklable(Exception):
    """Cannot be pickled."""

    def __reduce__(self):
        raise RuntimeError("stays here")


class Unprintable(Exception):
    """Cannot be converted to a text."""

    def __str__(self):
        raise RuntimeError("lost for words")


RAISED: dict[str, Callable[[], BaseException]] = {
    "SystemExit": lambda: SystemExit(0),
    "KeyboardInterrupt": KeyboardInterrupt,
    "GeneratorExit": GeneratorExit,
    "unpicklable": lambda: Unpicklable("stays here"),
    "unprintable": Unprintable,
    "surrogates": lambda: ValueError("half \ud800, \x1b[31mred\x1b[0m, \u202eturned"),
    "long": lambda: ValueError("a" * 10_000_000 + "z"),
}


class Raising(Mean):
    """Raises an unusual exception in one method, at one size."""

    name: ClassVar[str] = "raising"
    what: str
    where: str = "fit"
    at: int = 20

    def batch_key(self, train):
        if self.where == "batch_key" and train.n == self.at and in_worker():
            raise RAISED[self.what]()

    def fit(self, train, ctx):
        if train.n != self.at:
            return super().fit(train, ctx)
        if self.where == "fit":
            raise RAISED[self.what]()
        return RaisingPredictor(self.what, self.where)


class RaisingPredictor(Constant):
    def __init__(self, what, where):
        super().__init__(0.0)
        self.what, self.where = what, where

    def _reach(self, place):
        if place == self.where:
            raise RAISED[self.what]()
        return {}

    def predict(self, x):
        self._reach("predict")
        return super().predict(x)

    def hidden(self, x):
        return self._reach("hidden")

    @property
    def info(self):
        return self._reach("info")

    @property
    def stages(self):
        return self._reach("stages")


CIRCLE: list[object] = []
CIRCLE.append(CIRCLE)
FACTS: dict[str, Callable[[], object]] = {
    "digits": lambda: 10**5000,
    "object": Unprintable,
    "itself": lambda: CIRCLE,
    "much": lambda: ["0123456789"] * 400_000,
}
"""Facts that no row can hold, by ``what``."""
GIVEN: dict[str, Callable[[], Any]] = {
    "status": lambda: Failure("exploded", "of its own accord"),
    "reason": lambda: Failure("failed", None),
    "huge": lambda: Constant(1e200),
}
"""Results of a fit that no row can hold, by ``what``."""


class Talkative(Mean):
    """Returns info, failures and predictions that no row can hold."""

    name: ClassVar[str] = "talkative"
    what: str

    def fit(self, train, ctx):
        if train.n == 20 and self.what in GIVEN:
            return GIVEN[self.what]()
        predictor = super().fit(train, ctx)
        if train.n == 20:
            predictor.info = {"fact": FACTS[self.what]()}
        return predictor


class Ridge(Learner):
    """Linear ridge regression; its ridge is searched by default."""

    name: ClassVar[str] = "linear-ridge"
    search: ClassVar[dict] = {"ridge": [1e-6, 1.0, 1e6]}
    ridge: float = 1.0

    def fit(self, train, ctx):
        gram = train.x.T @ train.x + self.ridge * np.eye(train.d)
        return Linear(np.linalg.solve(gram, train.x.T @ train.y))


class Linear(Predictor):
    def __init__(self, w):
        self.w = w

    def predict(self, x):
        return x @ self.w


class Huge(Mean):
    """Declares more memory than there is."""

    name: ClassVar[str] = "huge"

    def cost(self, n, d):
        return Cost(flops=1.0, bytes=n * 1e9)


class OnTensors(Mean):
    """Needs a library that takes seconds to import."""

    name: ClassVar[str] = "on-tensors"
    capabilities: ClassVar[Capabilities] = Capabilities(arrays=("torch",))


class Importing(Mean):
    """Imports a library in fit that it declares."""

    name: ClassVar[str] = "importing"
    capabilities: ClassVar[Capabilities] = Capabilities(libraries=frozenset({"jax"}))

    def fit(self, train, ctx):
        loaded = "jax" in sys.modules
        from bfc_bench.toolkit.ensemble import jnp

        predictor = super().fit(train, ctx)
        predictor.info = {"loaded": loaded, "by": jnp.__name__}
        return predictor


ANSWERS: dict[str, Callable[[], Any]] = {
    "exit": lambda: sys.exit(0),
    "raise": lambda: {}["flops"],
    "list": lambda: [[]],
    "text": lambda: "cheap",
    "number": lambda: 5,
    "nan": lambda: Cost(flops=math.nan, bytes=0.0),
    "none at all": lambda: Cost(flops=0.0, bytes=0.0),
}


class Answering(Mean):
    """Gives a wrong answer while a run is planned, at one size."""

    name: ClassVar[str] = "answering"
    where: str
    what: str
    at: int = 20

    def _answer(self, place, n):
        return ANSWERS[self.what]() if (place, n) == (self.where, self.at) else None

    def batch_key(self, train):
        return self._answer("batch_key", train.n)

    def cost(self, n, d):
        return self._answer("cost", n)

    def skip(self, task, n):
        return self._answer("skip", n)

    def caution(self, task, n):
        return self._answer("caution", n)

    def libraries(self):
        return self._answer("libraries", self.at) if self.where == "libraries" else super().libraries()

    def oracle(self):
        return self._answer("oracle", self.at) if self.where == "oracle" else super().oracle()


@hookimpl
def bfc_register(register):
    import greedy_learners
    import meddling_learners

    for module in (__name__, greedy_learners.__name__, meddling_learners.__name__):
        for value in vars(sys.modules[module]).values():
            if isinstance(value, type) and issubclass(value, Learner) and value.__module__ == module:
                register.learner(value)
    register.inputs(greedy_learners.GreedyInputs)
