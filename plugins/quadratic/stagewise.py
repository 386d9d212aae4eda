"""Base class of the learners that train a quadratic DenseNet in stages, with one more layer in each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from bfc_plugins.quadratic.base import QuadraticLearner
from bfc_plugins.quadratic.net import Params
from bfc_plugins.quadratic.predictor import QuadraticPredictor
from bfc_plugins.quadratic.ranks import Outcome
from bfc_plugins.quadratic.setup import Setup

from bfc_bench.learner import Cost, Failure
from bfc_bench.toolkit.networks import diverged

if TYPE_CHECKING:
    from jax import Array

    from bfc_bench.toolkit.ensemble import Member


class StagewiseLearner(QuadraticLearner):
    """Layers join one after the other, in stages ``layer2``, ... of ``steps`` steps with own warm-up and cosine."""

    smoke: ClassVar[Mapping[str, Any]] = {"widths": (6, 4), "steps": 150, "batch_size": 32}

    def model(self, setup: Setup, layer: int) -> Callable[[Params, Any], Array]:
        """The model to compile for the stage in which ``layer`` joins: the network up to it."""
        return setup.net.below(layer)

    @abstractmethod
    def joining(self, fit: Growth, layer: int) -> Member:
        """The parameters and data to train in that stage."""

    @abstractmethod
    def take(self, fit: Growth, layer: int, trained: Params) -> None:
        """Copy the trained parameters of that stage into ``fit.params``."""

    def cost(self, n: int, d: int) -> Cost:
        """All steps in every stage."""
        cost = super().cost(n, d)
        return replace(cost, seconds=cost.seconds * len(self.widths))

    @classmethod
    def train(cls, learners: Sequence[Self], setups: Sequence[Setup], device: str) -> list[Outcome]:
        """Train all setups as one ensemble per stage."""
        fits = [Growth(learner, setup) for learner, setup in zip(learners, setups, strict=True)]
        first, net = learners[0], setups[0].net
        for layer in net.layers():
            running = [fit for fit in fits if fit.failure is None]
            members = [fit.learner.joining(fit, layer) for fit in running]
            results = first.train_members(first.model(setups[0], layer), setups[0], members, device)
            for fit, result in zip(running, results, strict=True):
                if result.finite:
                    fit.learner.take(fit, layer, result.params)
                    fit.losses.append(result.loss)
                    fit.stages[f"layer{layer}"] = fit.up_to(layer)
                else:
                    fit.failure = diverged(fit.learner, fit.learner.rate(net.d), result.loss)
        return [fit.failure or fit.ended() for fit in fits]


@dataclass
class Growth:
    """One fit between its stages."""

    learner: StagewiseLearner
    setup: Setup
    params: Params = field(init=False)
    """Current parameters of the whole network; layers that have not joined have their initial ones."""
    losses: list[float] = field(default_factory=list)
    stages: dict[str, QuadraticPredictor] = field(default_factory=dict)
    failure: Failure | None = None
    readouts: dict[int, np.ndarray] = field(default_factory=dict)
    """Signed weights {l: (m_l,)} that replace alpha_l, of the layers trained so far, if the learner trains them."""

    def __post_init__(self) -> None:
        self.params = {key: np.array(value, np.float64) for key, value in self.setup.params.items()}

    def ended(self) -> QuadraticPredictor:
        """The predictor of the whole network, with its stages."""
        net, losses = self.setup.net, {"final_loss": self.losses[-1], "stage_losses": self.losses}
        final = self.up_to(net.layers()[-1], stages=self.stages)
        final.info = {**self.learner.facts(self.setup, final), **losses, **self.setup.corrections(final)}
        return final

    def up_to(self, layer: int, **extras: Any) -> QuadraticPredictor:
        """The predictor of the network that ends with ``layer``."""
        net = self.setup.net.below(layer)
        return self.setup.predictor(net, net.own(self.params), readouts=self.readouts, **extras)
