"""Base classes of the learners that train convolutional networks by stochastic gradient descent."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from bfc_plugins.convolutional.options import SgdOptions
from pydantic import Field, NonNegativeFloat, model_validator

if TYPE_CHECKING:
    from bfc_plugins.convolutional.fit import ImageFit
    from bfc_plugins.convolutional.pictures import Rows

    from bfc_bench.learner import Context, Data, Predictor


class SgdLearner(SgdOptions):
    """A convolutional network, or several, trained by stochastic gradient descent in the stages of ``plan``."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Train on images x (n, c h w)."""
        from bfc_plugins.convolutional.fit import ImageFit

        fit = ImageFit(self, train, ctx)
        for stage in self.plan(fit.layout):
            fit.run(stage)
        info = {"steps": self.steps_at(train.n), **self.info(fit)}
        return fit.result(info, self.pictured(fit) if self.pictures else {})

    @abstractmethod
    def info(self, fit: ImageFit) -> Mapping[str, Any]:
        """What is stored of a fit whose stages are trained."""

    @abstractmethod
    def pictured(self, fit: ImageFit) -> Rows:
        """For each block, counted from 1, the networks to picture by their labels."""


class LowerFirst(SgdLearner):
    """Lower blocks are trained first, and then again with those above."""

    train: Annotated[int, Field(ge=1)] = 1
    """Number of blocks that are trained first."""
    weight_decay: NonNegativeFloat = 5e-4
    """Weight decay of the trained parameters."""

    @model_validator(mode="after")
    def _has_blocks_above(self) -> LowerFirst:
        depth = self.layout(1).depth
        if self.train >= depth:
            raise ValueError(f"train must be less than the network's depth, {depth}. Got {self.train}")
        return self

    def info(self, fit: ImageFit) -> Mapping[str, Any]:
        """Losses of all stages, and correlations of the lower blocks with the weights that they had before."""
        losses = {name: stage.loss for name, stage in fit.trained.items()}
        return {"final_loss": losses, "correlation": self.correlation(fit)}

    @abstractmethod
    def correlation(self, fit: ImageFit) -> Mapping[str, Any]:
        """Correlations of the lower blocks' weights, see ``ImageFit.correlations``."""
