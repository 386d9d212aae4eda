"""Base class of the learners that train an ordinary network: options, scaling, ensemble training, prediction.

Shapes: n and m points, d input dimension, p network inputs (d, or 2 d with squares).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveFloat

from bfc_bench.learner import BatchLearner, Capabilities, Context, Cost, Data, DataSpec, Failure, Job, Predictor
from bfc_bench.seeds import stream
from bfc_bench.toolkit.arrays import NumpyOrJax
from bfc_bench.toolkit.networks import (
    ENSEMBLE_CAPABILITIES,
    PROGRAM_BYTES,
    STEP_SECONDS,
    diverged,
    label_scale,
    probabilities,
)
from bfc_bench.toolkit.square_features import input_scale, square_mean, with_squares

Params: TypeAlias = dict[str, Any]

CHUNK = 1024
"""Number of points predicted at once, so that the layers stay in cache."""


class NetworkShape(ABC):
    """Architecture of a network. Subclasses are frozen dataclasses: equal networks hash equal and share a program."""

    @abstractmethod
    def init(self, rng: np.random.Generator) -> Params:
        """Random parameters, for inputs of about unit variance."""

    @abstractmethod
    def __call__(self, params: Params, z: NumpyOrJax) -> NumpyOrJax:
        """F(z), (m,), or scores (m, C), at z (m, p); parameters and inputs are all NumPy or all JAX arrays."""

    @abstractmethod
    def flops(self) -> float:
        """Floating-point operations per point."""

    @abstractmethod
    def weights(self) -> int:
        """Number of trained parameters."""

    @abstractmethod
    def units(self) -> int:
        """Number of activations per point that are kept for the gradient."""


class NetworkLearner(BatchLearner):
    """A network trained by Adam on minibatches, with a linear warm-up and then a cosine to 0.

    Inputs are divided by the root of the mean E[x_i^2], real labels by the 90th percentile of |y - median(y)|. The loss
    of binary labels is the cross entropy log(1 + exp(-y F)). Classes need one output each and use the softmax loss.
    """

    capabilities: ClassVar[Capabilities] = ENSEMBLE_CAPABILITIES

    with_squares: bool = True
    """Whether the input is (x, x^2 - E x^2) instead of x."""
    steps: Annotated[int, Field(ge=1)] = 4000
    """Number of Adam steps."""
    batch_size: Annotated[int, Field(ge=1)] = 256
    """Size of a minibatch, drawn with replacement."""
    lr: PositiveFloat = 3e-3
    """Peak learning rate."""
    weight_decay: NonNegativeFloat = 0.0
    """Decoupled weight decay: a step at learning rate r shrinks every parameter by the fraction r ``weight_decay``."""
    clip: PositiveFloat = 1.0
    """Bound on the norm of the gradient."""
    loss: Literal["weighted", "square"] = "weighted"
    """Loss of scaled real labels: ``weighted`` = (F - y)^2 / (1 + y^2), for clean labels; ``square`` = (F - y)^2, for
    noisy ones."""

    @abstractmethod
    def network(self, p: int, classes: int = 0) -> NetworkShape:
        """The network on p inputs, with one output per class if ``classes`` > 0 and a single output otherwise."""

    def batch_key(self, train: DataSpec) -> Hashable:
        """What a compiled program depends on; seed, sample, n, learning rate, weight decay and clip may differ."""
        network = self.network(self._inputs(train.d), train.classes)
        return (self.name, network, self.with_squares, self.steps, self.batch_size, self.loss, train.kind)

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Train all jobs as one ensemble; each result equals that of ``fit``."""
        from bfc_bench.toolkit import ensemble

        first, data = jobs[0].learner, jobs[0].train
        network = first.network(first._inputs(data.d), data.classes)
        real = {"weighted": ensemble.weighted_square_loss, "square": ensemble.square_loss}[first.loss]
        loss = {"real": real, "binary": ensemble.cross_entropy_loss, "class": ensemble.softmax_loss}[data.kind]
        scales = [Scales.of(job.train, job.ctx, job.learner.with_squares) for job in jobs]
        members = []
        for job, scale in zip(jobs, scales, strict=True):
            learner, seed, (z, y) = job.learner, job.ctx.seed, scale.points(job.train)
            start, decay = network.init(stream(seed, cls.name)), learner.weight_decay
            members.append(ensemble.Member(start, z, y, seed, learner.lr, clip=learner.clip, weight_decay=decay))
        recipe = ensemble.Recipe(network, first.batch_size, loss)
        results = ensemble.train(recipe, members, first.steps, device=jobs[0].ctx.device)
        return [
            NetworkPredictor(network, result.params, scale, {"final_loss": result.loss}, data.kind != "real")
            if result.finite
            else diverged(job.learner, job.learner.lr, result.loss)
            for job, scale, result in zip(jobs, scales, results, strict=True)
        ]

    def cost(self, n: int, d: int) -> Cost:
        """A step costs about three forward passes; memory holds samples, activations and the runtime."""
        p, padded = self._inputs(d), max(1024, 2 * n)
        network = self.network(p)
        return Cost(
            flops=3.0 * network.flops() * (self.batch_size * self.steps + n / 3),
            bytes=PROGRAM_BYTES + 12.0 * padded * p + 4.0 * network.units() * (padded + 4 * self.batch_size),
            work="steps",
            seconds=STEP_SECONDS * self.steps,
            parameters=network.weights(),
        )

    def _inputs(self, d: int) -> int:
        return 2 * d if self.with_squares else d


@dataclass(frozen=True)
class Scales:
    """Scaling of inputs and labels for training."""

    square_mean: np.ndarray
    """E[x_i^2], (d,)."""
    squares: bool
    """Whether x^2 - E x^2 is part of the input."""
    y: float
    """Divisor of the labels."""

    @classmethod
    def of(cls, train: Data, ctx: Context, squares: bool) -> Scales:
        """Those of a training set."""
        x, y = np.asarray(train.x, np.float64), np.asarray(train.y, np.float64)
        return cls(square_mean(x, ctx), squares, label_scale(y) if train.kind == "real" else 1.0)

    def points(self, train: Data) -> tuple[np.ndarray, np.ndarray]:
        """Network inputs (n, p) and scaled labels (n,) of a training set."""
        return self.inputs(train.x), np.asarray(train.y, np.float64) / self.y

    def inputs(self, x: np.ndarray) -> np.ndarray:
        """Network inputs (m, p) at x (m, d)."""
        factor = input_scale(self.square_mean)
        x = factor * np.asarray(x, np.float64)
        return with_squares(x, factor**2 * self.square_mean) if self.squares else x


class NetworkPredictor(Predictor):
    """A trained network, evaluated in float64 on the CPU."""

    def __init__(
        self, network: NetworkShape, params: Params, scales: Scales, info: Mapping[str, Any], has_classes: bool
    ) -> None:
        self.params = {key: np.asarray(value, np.float64) for key, value in params.items()}
        self.network, self.scales, self.info, self.has_classes = network, scales, info, has_classes

    def predict(self, x: np.ndarray) -> np.ndarray:
        """F(x), (m,), or scores (m, C), at x (m, d)."""
        chunks = (x[i : i + CHUNK] for i in range(0, max(len(x), 1), CHUNK))
        return self.scales.y * np.concatenate([self.network(self.params, self.scales.inputs(z)) for z in chunks])

    def probabilities(self, x: np.ndarray) -> np.ndarray | None:
        """Logistic function of F, (m,), or softmax of the scores, (m, C); None for real labels."""
        return probabilities(self.predict(x)) if self.has_classes else None
