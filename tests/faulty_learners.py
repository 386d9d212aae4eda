"""Learners for the tests of the conformance kit: two correct ones, and at least one that violates each requirement."""

import json
import os
import random
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import jax
import numpy as np
import torch
from pydantic import Field

from bfc_bench.learner import Capabilities, Cost, Data, Learner, Predictor
from bfc_bench.toolkit.arrays import convert, to_numpy

BATCH = "fit batch agrees with fit"
GENERATORS = "global generators are left alone"
SETTINGS = "global settings are left alone"


class Linear(Predictor):
    """A linear function of random features."""

    def __init__(self, projection, weights):
        self.projection, self.weights = projection, weights
        self.info = {"norm": float(np.linalg.norm(weights))}

    def predict(self, x):
        values = np.tanh(to_numpy(x) @ self.projection) @ self.weights
        kind = "torch" if isinstance(x, torch.Tensor) else "jax" if isinstance(x, jax.Array) else "numpy"
        return convert(values, kind, "cpu")


class Plain(Learner):
    """Ridge regression on random features, without optional methods."""

    name: ClassVar[str] = "plain"
    smoke: ClassVar[dict[str, Any]] = {"ridge": 0.1}
    ridge: float = 1.0

    def fit(self, train, ctx):
        return self.solve(train, np.random.default_rng(ctx.seed))

    def solve(self, train, rng):
        projection = rng.normal(size=(train.d, 20))
        features = np.tanh(to_numpy(train.x) @ projection)
        gram = features.T @ features + self.ridge * np.eye(20)
        return Linear(projection, np.linalg.solve(gram, features.T @ to_numpy(train.y)))


class Layered(Linear):
    """Shows its features, stages, and the probability of class +1."""

    def __init__(self, projection, weights, stages):
        super().__init__(projection, weights)
        self.kept = stages

    def probabilities(self, x):
        return 1 / (1 + np.exp(-to_numpy(self.predict(x))))

    def hidden(self, x):
        return {"S2": np.tanh(to_numpy(x) @ self.projection)}

    @property
    def stages(self):
        return self.kept

    def artifacts(self):
        return {"weights.json": json.dumps(self.weights.tolist()).encode()}


class Complete(Plain):
    """Has every optional method."""

    name: ClassVar[str] = "scheme:complete.Learner"
    capabilities: ClassVar[Capabilities] = Capabilities(
        labels=frozenset({"real", "binary"}),
        arrays=("numpy", "torch", "jax"),
        oracle=frozenset({"alphas"}),
        one_pass=True,  # a sum over points may be computed in one pass
    )
    search: ClassVar[dict[str, list[float]]] = {"ridge": [0.1, 1.0]}

    def oracle(self):
        return frozenset({"alphas"})

    def fit(self, train, ctx):
        assert list(ctx.oracle) == ["alphas"]
        linear = super().fit(train, ctx)
        return Layered(linear.projection, linear.weights, self.stages(train, ctx, linear))

    def stages(self, train, ctx, linear):
        first = replace(train, n=16, x=train.x[:16], y=train.y[:16])
        return {"half": Linear(linear.projection, linear.weights / 2), "n16": Plain.fit(self, first, ctx)}

    def batch_key(self, train):
        return train.d

    @classmethod
    def predict_batch(cls, predictors, xs):
        return [predictor.predict(x) for predictor, x in zip(predictors, xs, strict=True)]

    def cost(self, n, d):
        return Cost(n * 400.0, n * 160.0)


FAULTS: list[tuple[str, str, type[Learner]]] = []
"""(requirement that is violated, words of the reason, learner)."""


def fault(requirement: str, words: str):
    """Add a faulty learner to ``FAULTS``."""

    def add(cls: type[Learner]) -> type[Learner]:
        FAULTS.append((requirement, words, cls))
        return cls

    return add


@fault("has a name and a docstring", "Got 'My Learner'")
class BadName(Plain):
    """Has a name that no suite can use."""

    name: ClassVar[str] = "My Learner"


@fault("has a name and a docstring", "no docstring")
class NoDocstring(Plain):
    name: ClassVar[str] = "no-docstring"


@fault("capabilities are known", "tensorflow")
class UnknownArrays(Plain):
    """Declares an unknown array library."""

    capabilities: ClassVar[Capabilities] = Capabilities(arrays=("tensorflow",))


@fault("smoke options are valid", "ridge must be a valid number")
class BadSmoke(Plain):
    """Has invalid smoke options."""

    smoke: ClassVar[dict[str, Any]] = {"ridge": "much"}


@fault("search values are valid", "'rigde'")
class BadSearch(Plain):
    """Searches an option that it does not have."""

    search: ClassVar[dict[str, list[float]]] = {"rigde": [1.0]}


@fault("options survive json", "not JSON compliant")
class InfiniteOption(Plain):
    """Has an option that JSON cannot hold."""

    bound: Annotated[float, Field(allow_inf_nan=True)] = float("inf")

    def options(self):
        return self.model_dump()


@fault("options survive json", "0.4")
class LossyOption(Plain):
    """Returns options that make another learner."""

    def options(self):
        return {"ridge": 2 * self.ridge}


@fault("oracle facts are declared", "alphas")
class SecretOracle(Plain):
    """Asks for facts that it does not declare."""

    def oracle(self):
        return frozenset({"alphas"})


@fault("skip and caution give a text or none", "gave False")
class SkipsWithoutReason(Plain):
    """Returns a bool instead of a reason."""

    def skip(self, task, n):
        return False


@fault("cost grows with n", "bytes fall")
class CheaperWithMore(Plain):
    """Declares that large samples need less memory."""

    def cost(self, n, d):
        return Cost(n * 1.0, 1e9 / n)


@fault("cost grows with n", "positive")
class Free(Plain):
    """Declares no cost."""

    def cost(self, n, d):
        return Cost(0.0, 8.0 * n)


@fault("batch key is hashable", "unhashable")
class ListKey(Plain):
    """Has a batch key that cannot be hashed."""

    def batch_key(self, train):
        return [train.d]


@fault("batch key is hashable", "AttributeError")
class KeyOfData(Plain):
    """Computes its batch key from data that do not exist yet."""

    def batch_key(self, train):
        return float(train.x[0, 0])


@fault("fit returns a predictor", "must return a Predictor")
class ReturnsWeights(Plain):
    """Returns an array from fit."""

    def fit(self, train, ctx):
        return super().fit(train, ctx).weights


@fault("fit returns a predictor", "LinAlgError: no luck")
class Raises(Plain):
    """Raises in fit."""

    def fit(self, train, ctx):
        raise np.linalg.LinAlgError("no luck")


@fault("fit returns a predictor", "SystemExit: 0")
class Leaves(Plain):
    """Exits in fit."""

    def fit(self, train, ctx):
        raise SystemExit(0)


@fault("fit returns a predictor", r"ValueError: \x1b[31mred")
class Coloured(Plain):
    """Raises with a terminal escape sequence in the message."""

    def fit(self, train, ctx):
        raise ValueError("\x1b[31mred")


class Wrapped(Plain):
    """Returns a predictor whose ``predict`` is changed by ``change``."""

    @staticmethod
    def change(predictor: Linear, x: Any) -> Any:
        return Linear.predict(predictor, x)

    def fit(self, train, ctx):
        predictor = super().fit(train, ctx)
        predictor.predict = lambda x: type(self).change(predictor, x)
        return predictor


@fault("predictions keep the array kind", "Got <class 'torch.Tensor'>")
class ReturnsTensors(Wrapped):
    """Returns torch tensors for NumPy arrays."""

    @staticmethod
    def change(predictor, x):
        return torch.as_tensor(Linear.predict(predictor, x))


@fault("capabilities are known", "Got 'float16'")
class UnknownPrecision(Plain):
    """Declares an unknown precision."""

    capabilities: ClassVar[Capabilities] = Capabilities(precision="float16")


@fault("precision is stated", "predictions are float32, but the given arrays are float64")
class SilentlyNarrow(Wrapped):
    """Computes in float32 without declaring it."""

    @staticmethod
    def change(predictor, x):
        return Linear.predict(predictor, x).astype(np.float32)


@fault("precision is stated", "predictions are float32, but capabilities.precision is float64")
class NarrowerThanStated(SilentlyNarrow):
    """Declares float64 and returns float32."""

    capabilities: ClassVar[Capabilities] = Capabilities(precision="float64")


@fault("predictions have one value per point", "Got (17, 1)")
class Column(Wrapped):
    """Returns a column."""

    @staticmethod
    def change(predictor, x):
        return Linear.predict(predictor, x)[:, None]


@fault("predictions have one value per point", "Got ()")
class Squeezed(Wrapped):
    """Loses the axis of a single point."""

    @staticmethod
    def change(predictor, x):
        return Linear.predict(predictor, x).squeeze()


@fault("predictions are finite", "1 of 17")
class OneNaN(Wrapped):
    """Predicts NaN once."""

    @staticmethod
    def change(predictor, x):
        values = Linear.predict(predictor, x)
        values[-1] = np.nan
        return values


@fault("predictions are finite", "predictions up to 1e+200 are finite, but their mean square is not")
class Enormous(Wrapped):
    """Predicts values whose mean square overflows."""

    @staticmethod
    def change(predictor, x):
        return np.full(len(x), 1e200)


@fault("predictions do not depend on other points", "alone")
class CentersOnTheTest(Wrapped):
    """Subtracts the mean of the test points."""

    @staticmethod
    def change(predictor, x):
        return Linear.predict(predictor, x - x.mean(axis=0))


@fault("inputs are not changed", "train.x")
class CentersInPlace(Plain):
    """Centres the framework's array in place."""

    def fit(self, train, ctx):
        train.x[...] -= train.x.mean(axis=0)
        return super().fit(train, ctx)


@fault("inputs are not changed", "train.y")
class ScalesByTorch(Plain):
    """Writes into shared memory through torch."""

    def fit(self, train, ctx):
        torch.from_numpy(train.y).mul_(2.0)
        return super().fit(train, ctx)


@fault("inputs are not changed", "ctx.unlabeled")
class SortsUnlabeled(Plain):
    """Sorts the unlabelled inputs in place."""

    def fit(self, train, ctx):
        if ctx.unlabeled is not None:
            ctx.unlabeled.sort(axis=0)
        return super().fit(train, ctx)


@fault("inputs are not changed", "the x of predict")
class ScalesTestInPlace(Wrapped):
    """Scales the test points in place."""

    @staticmethod
    def change(predictor, x):
        x *= 0.5
        return Linear.predict(predictor, x)


LATEST: list[Linear] = []


@fault("fits are independent", "after a fit to other data")
class SharedWeights(Wrapped):
    """Predicts with the weights of the latest fit."""

    def fit(self, train, ctx):
        LATEST[:] = [super().fit(train, ctx)]
        return LATEST[0]

    @staticmethod
    def change(predictor, x):
        return Linear.predict(LATEST[0], x)


@fault("same seed gives the same predictions", "same seed")
class Unseeded(Plain):
    """Draws from a generator without a seed."""

    def fit(self, train, ctx):
        return self.solve(train, np.random.default_rng())


class Scaled(Plain):
    """Scales its weights by the result of ``draw``."""

    @staticmethod
    def draw() -> float:
        return 1.0

    def fit(self, train, ctx):
        predictor = super().fit(train, ctx)
        predictor.weights = predictor.weights * self.draw()
        return predictor


@fault(GENERATORS, "moved: numpy.random")
class ReadsNumpy(Scaled):
    """Draws from NumPy's global generator."""

    draw = staticmethod(lambda: np.random.uniform(1, 2))  # noqa: NPY002


@fault(GENERATORS, "moved: random")
class ReadsPython(Scaled):
    """Draws from Python's global generator."""

    draw = staticmethod(lambda: random.uniform(1, 2))


@fault(GENERATORS, "moved: torch")
class SeedsTorch(Scaled):
    """Seeds torch's global generator."""

    draw = staticmethod(lambda: 1.0 + 0 * torch.manual_seed(3).initial_seed())


@fault(SETTINGS, "torch.get_default_dtype()")
class SetsDefaultDtype(Scaled):
    """Makes float64 the default dtype of torch."""

    draw = staticmethod(lambda: 1.0 if torch.set_default_dtype(torch.float64) is None else 0.0)


@fault(SETTINGS, "jax.config.jax_enable_x64")
class EnablesX64(Scaled):
    """Enables float64 in JAX."""

    draw = staticmethod(lambda: 1.0 if jax.config.update("jax_enable_x64", True) is None else 0.0)


@fault(SETTINGS, "numpy.geterr()")
class SilencesNumpy(Scaled):
    """Turns floating-point warnings off."""

    draw = staticmethod(lambda: 1.0 if np.seterr(all="ignore") else 0.0)


@fault(SETTINGS, "warnings.filters")
class SilencesWarnings(Scaled):
    """Turns warnings off."""

    draw = staticmethod(lambda: 1.0 if warnings.simplefilter("ignore") is None else 0.0)


@fault(SETTINGS, "the working directory")
class ChangesFolder(Scaled):
    """Changes the working directory."""

    draw = staticmethod(lambda: 1.0 if os.chdir("/") is None else 0.0)


@fault(SETTINGS, "torch.get_num_threads()")
class SetsThreads(Scaled):
    """Sets the number of threads of torch."""

    draw = staticmethod(lambda: 1.0 if torch.set_num_threads(torch.get_num_threads() + 1) is None else 0.0)


@fault("nothing is printed", "loss 0.1")
class Talks(Scaled):
    """Prints its progress."""

    draw = staticmethod(lambda: 1.0 if print("loss 0.1") is None else 0.0)


@fault("no files are left", "checkpoint-of-mine")
class LeavesAFile(Scaled):
    """Writes its weights into the working directory."""

    @staticmethod
    def draw():
        Path("checkpoint-of-mine").write_text("weights")
        return 1.0


@fault("fit needs no more than its points", "TypeError")
class NeedsTheLaw(Plain):
    """Needs E[x^2], which a context may lack."""

    def fit(self, train, ctx):
        scale = 1 / np.sqrt(ctx.square_mean)
        return super().fit(Data(train.sample, train.n, train.d, x=train.x * scale, y=train.y), ctx)


@fault("every array kind is taken", "AttributeError")
class OnlyNumpy(Plain):
    """Declares torch but uses a method of NumPy arrays."""

    capabilities: ClassVar[Capabilities] = Capabilities(arrays=("numpy", "torch"))

    def fit(self, train, ctx):
        train.x.copy()
        return super().fit(train, ctx)


@fault("every label kind is taken", "not finite")
class OnlyReal(Plain):
    """Declares binary labels but cannot fit them."""

    capabilities: ClassVar[Capabilities] = Capabilities(labels=frozenset({"real", "binary"}))

    def fit(self, train, ctx):
        predictor = super().fit(train, ctx)
        if train.kind == "binary":
            predictor.weights = predictor.weights * np.nan
        return predictor


@fault("info is json", "ndarray is not JSON serializable")
class ArrayInInfo(Plain):
    """Has an array in ``info``."""

    def fit(self, train, ctx):
        predictor = super().fit(train, ctx)
        predictor.info = {"weights": predictor.weights}
        return predictor


@fault("info is json", "Exceeds the limit")
class TooManyDigits(Plain):
    """Has a number in ``info`` that Python refuses to write."""

    def fit(self, train, ctx):
        predictor = super().fit(train, ctx)
        predictor.info = {"digits": 10**5000}
        return predictor


@fault("probabilities are probabilities", "must lie in [0, 1]")
class Overconfident(Plain):
    """Returns margins as probabilities."""

    capabilities: ClassVar[Capabilities] = Capabilities(labels=frozenset({"real", "binary"}))

    def fit(self, train, ctx):
        predictor = super().fit(train, ctx)
        predictor.probabilities = lambda x: 3 * predictor.predict(x)
        return predictor


@fault("probabilities are probabilities", "must have shape (17,). Got (17, 2)")
class ProbabilityTable(Plain):
    """Returns a column for each of two classes."""

    capabilities: ClassVar[Capabilities] = Capabilities(labels=frozenset({"real", "binary"}))

    def fit(self, train, ctx):
        predictor = super().fit(train, ctx)
        predictor.probabilities = lambda x: np.full((len(x), 2), 0.5)
        return predictor


@fault("hidden features have a row per point", "Got (20, 17)")
class Transposed(Complete):
    """Gives hidden features with a column per point."""

    def fit(self, train, ctx):
        predictor = super().fit(train, ctx)
        predictor.hidden = lambda x: {"S2": (np.tanh(x @ predictor.projection)).T}
        return predictor


@fault("hidden features have a row per point", "Got 'layer2'")
class OddLayerName(Complete):
    """Has another name for its layer."""

    def fit(self, train, ctx):
        predictor = super().fit(train, ctx)
        predictor.hidden = lambda x: {"layer2": x}
        return predictor


class Staged(Linear):
    """Has a stage that is no predictor."""

    stages: ClassVar[dict[str, Any]] = {"first": 1.0}


@fault("stages predict", "'first'")
class NumberAsStage(Plain):
    """Has a stage that is no predictor."""

    def fit(self, train, ctx):
        predictor = super().fit(train, ctx)
        return Staged(predictor.projection, predictor.weights)


PASS = "one pass goes through smaller fits"


@fault(PASS, "needs a stage n<m>, the fit to the first m of n = 48 points")
class HidesItsPass(Complete):
    """Declares one pass and has no stage that shows it."""

    def stages(self, train, ctx, linear):
        return {}


@fault(PASS, "stage 'n16' of a fit to 48 points, against a fit to its first 16 points: relative difference")
class DrawsByItsSize(Complete):
    """Draws other features for another number of points."""

    def fit(self, train, ctx):
        return super().fit(train, replace(ctx, seed=ctx.seed + train.n))


@fault(PASS, "relative difference")
class TakesTheLastPointsFirst(Complete):
    """Goes through the points from the last to the first."""

    def stages(self, train, ctx, linear):
        last = replace(train, n=16, x=train.x[-16:], y=train.y[-16:])
        return {"n16": Plain.fit(self, last, ctx)}


ARTIFACTS = "artifacts are small and repeatable"


class Drawn(Linear):
    """Returns the files that it was made with."""

    def __init__(self, linear, files):
        super().__init__(linear.projection, linear.weights)
        self.files = files

    def artifacts(self):
        return self.files(self)


class Drawing(Plain):
    """Has a predictor with files."""

    files: ClassVar[Any] = None

    def fit(self, train, ctx):
        return Drawn(super().fit(train, ctx), type(self).files)


@fault(ARTIFACTS, "Got 'weights.pickle'")
class UnknownFile(Drawing):
    """Returns a file of a kind that is not kept."""

    files: ClassVar[Any] = lambda predictor: {"weights.pickle": b""}


@fault(ARTIFACTS, "at most 4 MB together. Got 5 MB")
class LargeFile(Drawing):
    """Returns a file that is too large."""

    files: ClassVar[Any] = lambda predictor: {"all.csv": bytes(5_000_000)}


@fault(ARTIFACTS, "an equal fit gives other artifacts: time.json")
class FileOfTheTime(Drawing):
    """Writes the time into a file."""

    files: ClassVar[Any] = lambda predictor: {"time.json": str(time.perf_counter_ns()).encode()}


@fault(BATCH, "seed 1")
class OneSeedPerBatch(Complete):
    """Fits every job of a batch with the seed of the first."""

    @classmethod
    def fit_batch(cls, jobs):
        return [job.learner.fit(job.train, jobs[0].ctx) for job in jobs]


@fault(BATCH, "n=32")
class OneSizePerBatch(Complete):
    """Fits every job of a batch to the largest sample."""

    @classmethod
    def fit_batch(cls, jobs):
        largest = {job.train.sample: job.train for job in sorted(jobs, key=lambda job: job.train.n)}
        return [job.learner.fit(largest[job.train.sample], job.ctx) for job in jobs]


@fault(BATCH, "relative difference")
class OneOptionPerBatch(Complete):
    """Fits every job of a batch with the options of the first."""

    @classmethod
    def fit_batch(cls, jobs):
        return [jobs[0].learner.fit(job.train, job.ctx) for job in jobs]


@fault(BATCH, "for 6 jobs")
class LosesAJob(Complete):
    """Returns one predictor too few."""

    @classmethod
    def fit_batch(cls, jobs):
        return super().fit_batch(jobs)[1:]


@fault("predict batch agrees with predict", "predict_batch: relative difference")
class OnePointSetPerBatch(Complete):
    """Evaluates every predictor at the points of the first."""

    @classmethod
    def predict_batch(cls, predictors, xs):
        return [predictor.predict(xs[0]) for predictor in predictors]
