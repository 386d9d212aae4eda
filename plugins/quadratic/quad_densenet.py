"""Joint training: all layers of a quadratic DenseNet are trained together from the start (hierarchical learning)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
from bfc_plugins.quadratic.base import QuadraticLearner, diverged, train_members
from bfc_plugins.quadratic.predictor import QuadraticPredictor
from bfc_plugins.quadratic.setup import Setup
from bfc_plugins.quadratic.statistics import QuadraticStatistics
from pydantic import Field, model_validator

from bfc_bench.learner import Cost, DataSpec, Failure

if TYPE_CHECKING:
    from bfc_bench.toolkit.ensemble import Trained


class QuadDenseNet(QuadraticLearner):
    """Train every layer of a quadratic DenseNet at once, by Adam or SGD (BFC sections 1.2 and 2.1).

    This is the paper's Algorithm 1 without distillation: the over-parameterised weights W alone, on the objective
    E (F(x) - y)^2. Lower layers are corrected while higher ones learn, which is backward feature correction.

    With one trained layer and ``batch_size = "full"``, the cost of a step does not depend on the number of samples
    (``plugins/quadratic/statistics.py``).
    """

    name: ClassVar[str] = "quad-densenet"
    smoke: ClassVar[Mapping[str, Any]] = {"widths": (6, 4), "steps": 200, "batch_size": 32}

    checkpoints: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Step counts after which the network is kept as a stage ``step<count>``, to follow features during training."""

    @model_validator(mode="after")
    def _no_checkpoints_of_selected_ranks(self) -> QuadDenseNet:
        if self.checkpoints and self.ranks == "selected":
            raise ValueError(f"checkpoints must be () for ranks = 'selected', many trainings. Got {self.checkpoints}.")
        return self

    def statistics(self, train: DataSpec) -> QuadraticStatistics | None:
        """The compression of the points, if one layer is trained on all points in every step and it saves time."""
        if self.minibatch(train.d) is not None or len(self.widths) > 1 or train.kind == "binary":
            return None
        if self.ranks == "selected":  # trains on subsets of the points, with more than one loss
            return None
        statistics = QuadraticStatistics(self.net(train.d))
        return statistics if statistics.pays(train.n) else None

    def weights(self, y: np.ndarray) -> np.ndarray:
        """Weights (n,) of the points in the loss, for scaled labels y (n,)."""
        return 1.0 / (1.0 + y * y) if self.loss == "weighted" else np.ones_like(y)

    def cost(self, n: int, d: int) -> Cost:
        """That of every quadratic learner, or less if the points are compressed."""
        cost, statistics = super().cost(n, d), self.statistics(DataSpec("", n, d))
        return cost if statistics is None else replace(cost, flops=statistics.flops(n, self.length(d)))

    def batch_key(self, train: DataSpec) -> Hashable:
        """That of every quadratic learner, and the checkpoints, at which training pauses."""
        return (super().batch_key(train), self.checkpoints)

    @classmethod
    def train(
        cls, learners: Sequence[Self], setups: Sequence[Setup], device: str
    ) -> list[QuadraticPredictor | Failure]:
        """Train all setups as one ensemble."""
        from bfc_bench.toolkit.ensemble import square_loss

        first, net, kind = learners[0], setups[0].net, setups[0].kind
        recipe, steps = first.recipe(net, setups[0]), first.length(net.d, kind)
        samples = [(setup.x, setup.y) for setup in setups]
        if statistics := first.statistics(DataSpec("", len(setups[0].y), net.d, kind)):
            recipe = replace(recipe, apply=statistics, loss=square_loss)
            samples = [
                statistics.rows(s.params, s.x, s.y, a.weights(s.y)) for a, s in zip(learners, setups, strict=True)
            ]
        members = [
            learner.member(replace(setup, y=y), setup.params, setup.rates, inputs)
            for learner, setup, (inputs, y) in zip(learners, setups, samples, strict=True)
        ]
        results = train_members(recipe, members, steps, device, first.checkpoints)
        return [
            learner._predictor(setup, result) if result.finite else diverged(learner, net.d, result.loss)
            for learner, setup, result in zip(learners, setups, results, strict=True)
        ]

    def _predictor(self, setup: Setup, result: Trained) -> QuadraticPredictor:
        stages = {f"step{step}": setup.predictor(setup.net, params) for step, params in result.checkpoints.items()}
        predictor = setup.predictor(setup.net, result.params, stages=stages)
        facts = self.facts(setup, predictor)
        predictor.info = {**facts, "final_loss": result.loss, **setup.corrections(predictor)}
        return predictor
