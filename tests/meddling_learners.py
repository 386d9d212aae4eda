"""Learners that read or write what is not theirs: arrays, files, the environment, what they returned before."""

import ctypes
import math
from pathlib import Path
from typing import ClassVar

import numpy as np
from breaking_learners import Constant, Mean, on

from bfc_bench import Capabilities, Learner


class Spy(Learner):
    """Writes its arguments to a file."""

    name: ClassVar[str] = "spy"
    capabilities: ClassVar[Capabilities] = Capabilities(oracle=frozenset({"alphas"}))
    path: str
    ask: bool = False

    def oracle(self):
        return frozenset({"alphas"}) if self.ask else frozenset()

    def fit(self, train, ctx):
        where = Path(self.path) / f"{train.n}-{ctx.seed}.npz"
        np.savez(where, x=train.x, y=train.y, square_mean=ctx.square_mean, oracle=str(dict(ctx.oracle)))
        return Constant(0.0)


class Borrower(Mean):
    """Writes the size of each array that it receives, and of the memory behind it, to a file."""

    name: ClassVar[str] = "borrower"
    path: str

    def fit(self, train, ctx):
        self.note(inputs=train.x, labels=train.y, unlabeled=ctx.unlabeled, square_mean=ctx.square_mean)
        return BorrowerPredictor(self)

    def note(self, **lent):
        with Path(self.path).open("a") as file:
            file.write("".join(f"{what} {math.prod(x.shape)} {reach(x)}\n" for what, x in lent.items()))


class BorrowerPredictor(Constant):
    def __init__(self, learner):
        super().__init__(0.0)
        self.learner = learner

    def predict(self, x):
        self.learner.note(predicted=x)
        return super().predict(x)


def reach(x):
    """The number of values in the memory behind an array."""
    if hasattr(x, "untyped_storage"):
        return x.untyped_storage().nbytes() // x.element_size()
    memory = x = np.asarray(x)
    while (base := getattr(memory, "base", None)) is not None:
        memory = base
    return memory.nbytes // x.itemsize


class Telltale(Mean):
    """Tells what a file holds: in what it raises, in ``info`` and in the reason of a stage."""

    name: ClassVar[str] = "telltale"
    path: str
    where: str

    def skip(self, task, n):
        return Path(self.path).read_text() if self.where == "skip" else None

    def fit(self, train, ctx):
        text = Path(self.path).read_text()
        if self.where == "fit":
            raise RuntimeError(text)
        predictor = Constant(0.0)
        predictor.info, predictor.stages = {text: [text]}, {"first": TelltaleStage(text)}
        return predictor


class TelltaleStage(Constant):
    def predict(self, x):
        raise RuntimeError(self.value)


class Inscribing(Mean):
    """Writes into the ``info`` that all predictors without one of their own have."""

    name: ClassVar[str] = "inscribing"

    def fit(self, train, ctx):
        predictor = super().fit(train, ctx)
        predictor.info["written_by"] = self.name
        return predictor


class Prying(Mean):
    """Reads the environment of the process that a file names, and says whether a text is in it."""

    name: ClassVar[str] = "prying"
    path: str
    text: str

    def fit(self, train, ctx):
        environment = Path(f"/proc/{Path(self.path).read_text()}/environ").read_bytes()
        raise ValueError(f"it is {self.text[::-1].encode() in environment}")


class Vandal(Mean):
    """Writes into its arguments, even if they are read-only."""

    name: ClassVar[str] = "vandal"
    what: str
    together: bool = False
    at: int = 20

    def batch_key(self, train):
        return "all" if self.together else None

    def fit(self, train, ctx):
        spared = Constant(float(train.y.mean()))
        if train.n != self.at:
            return spared
        if self.what in ("x", "y"):
            wreck(getattr(train, self.what))
        if self.what == "square_mean":
            wreck(ctx.square_mean)
        return VandalPredictor(self.what) if self.what.startswith("test") else spared


class VandalPredictor(Constant):
    def __init__(self, what):
        super().__init__(0.0)
        self.what = what

    def predict(self, x):
        if self.what == "test":
            wreck(x)
        return super().predict(x)

    def hidden(self, x):
        if self.what == "test-in-hidden":
            wreck(x)
        return {}


def wreck(x):
    """Set an array to zero through the memory that arrays of torch and JAX share with NumPy."""
    seen = np.asarray(x)
    ctypes.memset(seen.ctypes.data, 0, seen.nbytes)


BorrowerTorch, BorrowerJax = on(Borrower, "torch"), on(Borrower, "jax")
VandalTorch, VandalJax = on(Vandal, "torch"), on(Vandal, "jax")


class Forgetful(Mean):
    """Writes every prediction into the same memory."""

    name: ClassVar[str] = "forgetful"

    def fit(self, train, ctx):
        return ForgetfulPredictor(float(train.y.mean()))


class ForgetfulPredictor(Constant):
    memory = np.zeros(1000)

    def predict(self, x):
        answer = self.memory[: len(x)]
        answer[:] = self.value if len(x) > 100 else 1e6
        return answer
