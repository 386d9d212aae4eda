"""The first layers alone, then all of them, under a head that stays as it was drawn."""

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
    """A convolutional network that is read out of all blocks by a head that is never trained (BFC A.2, figure 2).

    ``alone``: the first blocks are trained, those above stay as they were drawn. ``all``: all blocks are trained from
    there, which is the final predictor. The rate does not fall; the paper's network is ``alexnet``.
    """

    name: ClassVar[str] = "conv-fixed-head"

    train: Annotated[int, Field(ge=1)] = 1
    """How many blocks are trained at first."""
    alone: Share = 0.4
    """The share of training in which they are; of 200 epochs 80."""
    readout: Readout = "dense"
    lr: Annotated[float, Field(gt=0)] | None = 0.01
    """Of all steps. None: .1, and .02 for quadratic networks."""
    schedule: Literal["one-cycle", "steps"] = "steps"
    decay_at: list[Share] = []
    batch_size: Annotated[int, Field(ge=2)] = 128
    weight_decay: Annotated[float, Field(ge=0)] = 5e-4
    """Of what is trained."""

    @model_validator(mode="after")
    def _depths(self) -> ConvFixedHead:
        depth = self.layout(1).depth
        if self.train >= depth:
            raise ValueError(f"train must be less than the network's depth, {depth}. Got {self.train}")
        return self

    def run(self, fit: ImageFit) -> Predictor:
        """``alone``, then ``all``, of one network."""
        from bfc_plugins.convolutional.correlation import copied, correlations

        steps = self.steps_at(len(fit.points.images))
        before = round(self.alone * steps)
        network = fit.network(fit.layout.depth, "fixed-head")
        network.taps.requires_grad_(False)
        network.blocks[self.train :].requires_grad_(False)
        initial = copied(network, self.train)
        losses: dict[str, Any] = {"alone": fit.train(network, self.weight_decay, "alone", steps=before)}
        found, stages = copied(network, self.train), {"alone": fit.predictor(network)}
        network.blocks.requires_grad_(True)
        losses["all"] = fit.train(network, self.weight_decay, "all", steps=steps - before)
        stages["all"] = fit.predictor(network)
        weights = network.weights(self.train)
        moved = {"alone": correlations(weights, found), "initial": correlations(weights, initial)}
        pictured = {place: {"alone": stages["alone"], "all": stages["all"]} for place in range(1, self.train + 1)}
        return fit.result(stages["all"], stages, {"final_loss": losses, "steps": steps, "correlation": moved}, pictured)
