"""Trains the first layers alone, then all layers, under a random head that is never trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from bfc_plugins.convolutional.base import SgdLearner
from bfc_plugins.convolutional.layout import Readout
from bfc_plugins.convolutional.options import Share
from pydantic import Field, model_validator

if TYPE_CHECKING:
    from bfc_plugins.convolutional.fit import ImageFit

    from bfc_bench.learner import Predictor


class ConvFixedHead(SgdLearner):
    """A convolutional network with a random head on all blocks that is never trained (BFC A.2, figure 2).

    In stage ``alone`` the first blocks are trained while the others keep their random weights; in stage ``all``, the
    final predictor, all blocks are trained from there. The rate is constant. The paper's network is ``alexnet``.
    """

    name: ClassVar[str] = "conv-fixed-head"

    train: Annotated[int, Field(ge=1)] = 1
    """Number of blocks that are trained in stage ``alone``."""
    alone: Share = 0.4
    """Fraction of training spent in stage ``alone``, 80 of 200 epochs by default."""
    readout: Readout = "dense"
    lr: Annotated[float, Field(gt=0)] | None = 0.01
    """Learning rate; None is .1, or .02 for quadratic networks."""
    schedule: Literal["one-cycle", "steps"] = "steps"
    decay_at: list[Share] = []
    batch_size: Annotated[int, Field(ge=2)] = 128
    weight_decay: Annotated[float, Field(ge=0)] = 5e-4
    """Weight decay of the trained parameters."""

    @model_validator(mode="after")
    def _depths(self) -> ConvFixedHead:
        depth = self.layout(1).depth
        if self.train >= depth:
            raise ValueError(f"train must be less than the network's depth, {depth}. Got {self.train}")
        return self

    def run(self, fit: ImageFit) -> Predictor:
        """Train stage ``alone``, then stage ``all``, of one network."""
        from bfc_plugins.convolutional.correlation import copied, correlations

        steps = self.steps_at(len(fit.points.images))
        before = round(self.alone * steps)
        network = fit.network(fit.layout.depth, "fixed-head")
        network.taps.requires_grad_(False)
        network.blocks[self.train :].requires_grad_(False)
        initial = copied(network, self.train)
        losses: dict[str, Any] = {"alone": fit.train(network, self.weight_decay, "alone", steps=before)}
        after_alone, stages = copied(network, self.train), {"alone": fit.predictor(network)}
        network.blocks.requires_grad_(True)
        losses["all"] = fit.train(network, self.weight_decay, "all", steps=steps - before)
        stages["all"] = fit.predictor(network)
        weights = network.weights(self.train)
        correlation = {"alone": correlations(weights, after_alone), "initial": correlations(weights, initial)}
        pictured = {place: {"alone": stages["alone"], "all": stages["all"]} for place in range(1, self.train + 1)}
        info = {"final_loss": losses, "steps": steps, "correlation": correlation}
        return fit.result(stages["all"], stages, info, pictured)
