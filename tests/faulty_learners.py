"""Learners for the tests of the conformance kit: two correct ones, and one or more that violate each requirement."""

import ctypes
import json
import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import jax
import numpy as np
import torch
from pydantic import Field

from bfc_bench.learner import Capabilities, Cost, Data, Learner, Predictor
from bfc_bench.toolkit.arrays import convert, to_numpy

BATCH = "fit batch agrees with fit"
CHANGED = "nothing else is changed"


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
        self.stages = stages

    def probabilities(self, x):
        return 1 / (1 + np.exp(-to_numpy(self.predict(x))))

    def hidden(self, x):
        return {"S2": np.tanh(to_numpy(x) @ self.projection)}

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


class Altered(Plain):
    """Does something to its data before each fit, and to its predictor after it."""

    before: ClassVar[Callable[[Data, Any], object]] = lambda train, ctx: None
    after: ClassVar[Callable[[Linear, Data], object]] = lambda predictor, train: None

    def fit(self, train, ctx):
        type(self).before(train, ctx)
        predictor = super().fit(train, ctx)
        type(self).after(predictor, train)
        return predictor


def learner(base=Plain, **fields):
    """A documented learner with other attributes or methods than ``base``."""
    return type("Faulty", (base,), {"__doc__": "Is faulty.", "__module__": __name__, **fields})


def before(act, **fields):
    """A learner that calls ``act(train, ctx)`` before it fits."""
    return learner(Altered, before=act, **fields)


def doing(act):
    """A learner that calls ``act()`` before it fits."""
    return before(lambda train, ctx: act())


def giving(**attributes):
    """A learner whose predictors have other attributes, each a function of the predictor."""

    def after(predictor, train):
        predictor.__class__ = type("Given", (Linear,), {name: property(get) for name, get in attributes.items()})

    return learner(Altered, after=after, capabilities=BINARY)


def predicting(change, **fields):
    """A learner whose predictions at x are ``change(predictor, x)``."""

    def after(predictor, train):
        predictor.predict = lambda x: change(predictor, x)

    return learner(Altered, after=after, **fields)


def predicted(change, **fields):
    """A learner whose predictions are changed."""
    return predicting(lambda predictor, x: change(Linear.predict(predictor, x)), **fields)


def raising(error):
    """A learner whose fit raises."""

    def fit(self, train, ctx):
        raise error

    return learner(fit=fit)


def batching(fit_batch):
    """A learner that fits batches like this."""
    return learner(Complete, fit_batch=classmethod(fit_batch))


def narrow(precision):
    """A learner that computes in float32 and declares a precision."""
    return predicted(lambda values: values.astype(np.float32), capabilities=Capabilities(precision=precision))


BINARY = Capabilities(labels=frozenset({"real", "binary"}))
LATEST: list[Linear] = []


def remember(predictor, train):
    """Predict with the weights of the latest fit."""
    LATEST[:] = [predictor]
    predictor.predict = lambda x: Linear.predict(LATEST[0], x)


def nan_for_classes(predictor, train):
    """Leave no finite weight after a fit to classes."""
    if train.kind == "binary":
        predictor.weights = predictor.weights * np.nan


def one_nan(values):
    """The values, the last of them NaN."""
    values[-1] = np.nan
    return values


def scales_in_place(predictor, x):
    """Predict at half of the points, and leave these behind."""
    x *= 0.5
    return Linear.predict(predictor, x)


def sorts_unlabeled(train, ctx):
    """Sort the unlabelled inputs in place."""
    if ctx.unlabeled is not None:
        ctx.unlabeled.sort(axis=0)


def largest_sample_for_all(cls, jobs):
    """Fit every job of a batch to the largest sample."""
    largest = {job.train.sample: job.train for job in sorted(jobs, key=lambda job: job.train.n)}
    return [job.learner.fit(largest[job.train.sample], job.ctx) for job in jobs]


def last_points_first(self, train, ctx, linear):
    """A stage that was fitted to the last points."""
    return {"n16": Plain.fit(self, replace(train, n=16, x=train.x[-16:], y=train.y[-16:]), ctx)}


class NoDocstring(Plain):
    name: ClassVar[str] = "no-docstring"


class InfiniteOption(Plain):
    """Has an option that JSON cannot hold."""

    bound: Annotated[float, Field(allow_inf_nan=True)] = float("inf")

    def options(self):
        return self.model_dump()


SMOKE = "smoke options are valid"
NAMED, KEY, FITS = "has a name and a docstring", "batch key is hashable", "fit returns a predictor"
VALUES, ALONE = "predictions are one finite value per point", "fits depend on data and seed alone"
LABELS, HIDDEN = "every label kind is taken", "hidden features have a row per point"
PASS, ARTIFACTS = "one pass goes through smaller fits", "artifacts are small and repeatable"
SILENT_NARROW = "predictions are float32, but the given arrays are float64"
FAULTS: list[tuple[str, str, type[Learner]]] = [
    (NAMED, "Got 'My Learner'", learner(name="My Learner")),
    (NAMED, "no docstring", NoDocstring),
    ("capabilities are known", "tensorflow", learner(capabilities=Capabilities(arrays=("tensorflow",)))),
    (SMOKE, "ridge must be a valid number", learner(smoke={"ridge": "much"})),
    ("search values are valid", "'rigde'", learner(search={"rigde": [1.0]})),
    (SMOKE, "not JSON compliant", InfiniteOption),
    (SMOKE, "0.4", learner(options=lambda self: {"ridge": 2 * self.ridge})),
    ("oracle facts are declared", "alphas", learner(oracle=lambda self: frozenset({"alphas"}))),
    ("skip and caution give a text or none", "gave False", learner(skip=lambda self, task, n: False)),
    ("cost grows with n", "bytes fall", learner(cost=lambda self, n, d: Cost(n * 1.0, 1e9 / n))),
    ("cost grows with n", "positive", learner(cost=lambda self, n, d: Cost(0.0, 8.0 * n))),
    (KEY, "unhashable", learner(batch_key=lambda self, train: [train.d])),
    (KEY, "AttributeError", learner(batch_key=lambda self, train: float(train.x[0, 0]))),
    (FITS, "must return a Predictor", learner(fit=lambda self, train, ctx: Plain.fit(self, train, ctx).weights)),
    (FITS, "SystemExit: 0", raising(SystemExit(0))),
    (FITS, r"ValueError: \x1b[31mred", raising(ValueError("\x1b[31mred"))),
    ("every array kind is taken", "Got <class 'torch.Tensor'>", predicted(torch.as_tensor)),
    ("precision is stated", SILENT_NARROW, narrow(None)),
    ("precision is stated", "predictions are float32, but capabilities.precision is float64", narrow("float64")),
    (VALUES, "Got (17, 1)", predicted(lambda values: values[:, None])),
    (VALUES, "Got ()", predicted(np.squeeze)),
    (VALUES, "1 of 17", predicted(one_nan)),
    (VALUES, "up to 1e+200 are finite, but their mean square is not", predicted(lambda y: np.full_like(y, 1e200))),
    (
        "predictions do not depend on other points",
        "alone",
        predicting(lambda predictor, x: Linear.predict(predictor, x - x.mean(axis=0))),
    ),
    (CHANGED, "train.x", before(lambda train, ctx: train.x.__imul__(2.0))),
    (CHANGED, "train.y", before(lambda train, ctx: torch.from_numpy(train.y).mul_(2.0))),
    (CHANGED, "ctx.unlabeled", before(sorts_unlabeled)),
    (CHANGED, "the x of predict", predicting(scales_in_place)),
    (ALONE, "after a fit to other data", learner(Altered, after=remember)),
    (ALONE, "same seed", learner(fit=lambda self, train, ctx: self.solve(train, np.random.default_rng()))),
    (CHANGED, "changed: numpy.random", doing(lambda: np.random.uniform(1, 2))),  # noqa: NPY002
    (CHANGED, "changed: random", doing(lambda: random.uniform(1, 2))),
    (CHANGED, "changed: torch.random", doing(lambda: torch.manual_seed(3))),
    (CHANGED, "torch.get_default_dtype()", doing(lambda: torch.set_default_dtype(torch.float64))),
    (CHANGED, "jax.config.jax_enable_x64", doing(lambda: jax.config.update("jax_enable_x64", True))),
    (CHANGED, "torch.get_num_threads()", doing(lambda: torch.set_num_threads(torch.get_num_threads() + 1))),
    (CHANGED, "loss 0.1", doing(lambda: print("loss 0.1"))),
    ("fit needs no more than its points", "TypeError", before(lambda train, ctx: 1 / np.sqrt(ctx.square_mean))),
    (
        "every array kind is taken",
        "AttributeError",
        before(lambda train, ctx: train.x.copy(), capabilities=Capabilities(arrays=("numpy", "torch"))),
    ),
    (LABELS, "not finite", learner(Altered, after=nan_for_classes, capabilities=BINARY)),
    ("info can be stored", "integers must have at most 1024 bits", giving(info=lambda predictor: {"digits": 10**5000})),
    (LABELS, "must lie in [0, 1]", giving(probabilities=lambda predictor: lambda x: 3 * predictor.predict(x))),
    (LABELS, "shape (17,). Got (17, 2)", giving(probabilities=lambda p: lambda x: np.full((len(x), 2), 0.5))),
    (HIDDEN, "Got (6, 17)", giving(hidden=lambda predictor: lambda x: {"S2": x.T})),
    (HIDDEN, "Got 'layer2'", giving(hidden=lambda predictor: lambda x: {"layer2": x})),
    ("stages predict", "'first'", giving(stages=lambda predictor: {"first": 1.0})),
    (PASS, "needs a stage n<m>", learner(Complete, stages=lambda self, train, ctx, linear: {})),
    (PASS, "stage 'n16' of a fit to 48 points, against a fit to its", learner(Complete, stages=last_points_first)),
    (ARTIFACTS, "Got 'weights.pickle'", giving(artifacts=lambda predictor: lambda: {"weights.pickle": b""})),
    (ARTIFACTS, "at most 4 MB together", giving(artifacts=lambda predictor: lambda: {"all.csv": bytes(5_000_000)})),
    (
        ARTIFACTS,
        "an equal fit gives other artifacts: time.json",
        giving(artifacts=lambda predictor: lambda: {"time.json": str(time.perf_counter_ns()).encode()}),
    ),
    (BATCH, "seed 1", batching(lambda cls, jobs: [job.learner.fit(job.train, jobs[0].ctx) for job in jobs])),
    (BATCH, "n=32", batching(largest_sample_for_all)),
    (BATCH, "relative", batching(lambda cls, jobs: [jobs[0].learner.fit(job.train, job.ctx) for job in jobs])),
    (BATCH, "for 6 jobs", batching(lambda cls, jobs: [job.learner.fit(job.train, job.ctx) for job in jobs[1:]])),
    (
        BATCH,
        "predict_batch: relative difference",
        learner(Complete, predict_batch=classmethod(lambda cls, all, xs: [each.predict(xs[0]) for each in all])),
    ),
]
"""(requirement that is violated, words of the reason, learner)."""


class Crashes(Altered):
    """Reads invalid memory."""

    name: ClassVar[str] = "crashes"
    before = staticmethod(lambda train, ctx: ctypes.string_at(0) if ctx.unlabeled is None else None)


class Hangs(Altered):
    """Never returns."""

    name: ClassVar[str] = "hangs"
    before = staticmethod(lambda train, ctx: time.sleep(3600))
