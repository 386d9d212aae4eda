"""Base class of the learners that train an ordinary network: options, scaling, ensemble training, prediction.

Shapes: n and m points, d input dimension, p network inputs (d, or 2 d with squares).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from pydantic import Field

from bfc_bench.learner import BatchLearner, Capabilities, Cost, DataSpec, Failure, Job, LabelKind, Predictor
from bfc_bench.seeds import stream
from bfc_bench.toolkit.arrays import NumpyOrJax
from bfc_bench.toolkit.networks import PROGRAM_BYTES, STEP_SECONDS, label_scale, probabilities
from bfc_bench.toolkit.square_features import square_mean, with_squares

if TYPE_CHECKING:
    from bfc_bench.toolkit.ensemble import Member, Recipe, Trained

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

    capabilities: ClassVar[Capabilities] = Capabilities(
        labels=frozenset({"real", "binary"}),
        devices=frozenset({"cpu", "cuda"}),
        precision="float32",
        libraries=frozenset({"jax"}),
    )

    with_squares: bool = True
    """Whether the input is (x, x^2 - E x^2) instead of x."""
    steps: Annotated[int, Field(ge=1)] = 4000
    """Number of Adam steps."""
    batch_size: Annotated[int, Field(ge=1)] = 256
    """Size of a minibatch, drawn with replacement."""
    lr: Annotated[float, Field(gt=0)] = 3e-3
    """Peak learning rate."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    """Decoupled weight decay: a step at learning rate r shrinks every parameter by the fraction r ``weight_decay``."""
    clip: Annotated[float, Field(gt=0)] = 1.0
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
        from bfc_bench.toolkit.ensemble import train

        setups = [_Setup.of(job) for job in jobs]
        first = setups[0]
        recipe = first.recipe(jobs[0].train)
        results = train(recipe, [setup.member() for setup in setups], first.learner.steps, device=jobs[0].ctx.device)
        return [setup.outcome(result) for setup, result in zip(setups, results, strict=True)]

    def cost(self, n: int, d: int) -> Cost:
        """A step costs about three forward passes; memory holds samples, activations and the runtime."""
        network, padded = self.network(self._inputs(d)), max(1024, 2 * n)
        return Cost(
            flops=3.0 * network.flops() * (self.batch_size * self.steps + n / 3),
            bytes=PROGRAM_BYTES
            + 12.0 * padded * self._inputs(d)
            + 4.0 * network.units() * (padded + 4 * self.batch_size),
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

    def inputs(self, x: np.ndarray) -> np.ndarray:
        """Network inputs (m, p) at x (m, d)."""
        factor = 1.0 / math.sqrt(float(np.mean(self.square_mean)) or 1.0)
        x = factor * np.asarray(x, np.float64)
        return with_squares(x, factor**2 * self.square_mean) if self.squares else x


class NetworkPredictor(Predictor):
    """A trained network, evaluated in float64 on the CPU."""

    def __init__(
        self, network: NetworkShape, params: Params, scales: Scales, info: Mapping[str, Any], kind: LabelKind = "real"
    ) -> None:
        self.params = {key: np.asarray(value, np.float64) for key, value in params.items()}
        self.network, self.scales, self.info, self.kind = network, scales, info, kind

    def predict(self, x: np.ndarray) -> np.ndarray:
        """F(x), (m,), or scores (m, C), at x (m, d)."""
        chunks = (x[i : i + CHUNK] for i in range(0, max(len(x), 1), CHUNK))
        return self.scales.y * np.concatenate([self.network(self.params, self.scales.inputs(z)) for z in chunks])

    def probabilities(self, x: np.ndarray) -> np.ndarray | None:
        """Logistic function of F, (m,), or softmax of the scores, (m, C); None for real labels."""
        return None if self.kind == "real" else probabilities(self.predict(x))


@dataclass(frozen=True)
class _Setup:
    """The scaled data and the network of one fit."""

    learner: NetworkLearner
    network: NetworkShape
    scales: Scales
    z: np.ndarray
    y: np.ndarray
    seed: int
    kind: LabelKind

    @classmethod
    def of(cls, job: Job[NetworkLearner]) -> _Setup:
        learner, train = job.learner, job.train
        x, y = np.asarray(train.x, np.float64), np.asarray(train.y, np.float64)
        spread = label_scale(y) if train.kind == "real" else 1.0
        scales = Scales(square_mean(x, job.ctx), learner.with_squares, spread)
        z = scales.inputs(x)
        return cls(learner, learner.network(z.shape[1], train.classes), scales, z, y / spread, job.ctx.seed, train.kind)

    def recipe(self, train: DataSpec) -> Recipe:
        """The part of training that is compiled."""
        from bfc_bench.toolkit import ensemble

        real = {"weighted": ensemble.weighted_square_loss, "square": ensemble.square_loss}[self.learner.loss]
        loss = {"real": real, "binary": ensemble.cross_entropy_loss, "class": ensemble.softmax_loss}[train.kind]
        return ensemble.Recipe(self.network, self.learner.batch_size, loss)

    def member(self) -> Member:
        """The model to train, with its initial parameters."""
        from bfc_bench.toolkit.ensemble import Member

        learner = self.learner
        params = self.network.init(stream(self.seed, learner.name))
        decay, clip = learner.weight_decay, learner.clip
        return Member(params, self.z, self.y, self.seed, learner.lr, clip=clip, weight_decay=decay)

    def outcome(self, result: Trained) -> Predictor | Failure:
        """The trained network, which predicts in the units of the data, or a failure."""
        if not result.finite:
            return Failure(
                "diverged",
                f"{self.learner.name}: a gradient or the loss was not finite in training (final loss "
                f"{result.loss:.3g}, lr {self.learner.lr:.3g}). Use a smaller lr or clip.",
            )
        return NetworkPredictor(self.network, result.params, self.scales, {"final_loss": result.loss}, self.kind)
