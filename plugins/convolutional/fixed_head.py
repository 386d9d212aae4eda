"""Trains the first layers alone, then all layers, under a random head that is never trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from bfc_plugins.convolutional.base import LowerFirst
from bfc_plugins.convolutional.layout import BlockLayout, Readout
from bfc_plugins.convolutional.options import Share
from bfc_plugins.convolutional.stages import Stage
from pydantic import Field, PositiveFloat

if TYPE_CHECKING:
    from bfc_plugins.convolutional.fit import ImageFit
    from bfc_plugins.convolutional.pictures import Rows


class ConvFixedHead(LowerFirst):
    """A convolutional network with a random head on all blocks that is never trained (BFC A.2, figure 2).

    In stage ``alone`` the first blocks are trained while the others keep their random weights; in stage ``all``, the
    final predictor, all blocks are trained from there. The rate is constant. The paper's network is ``alexnet``.
    """

    name: ClassVar[str] = "conv-fixed-head"

    alone: Share = 0.4
    """Fraction of training spent in stage ``alone``, 80 of 200 epochs by default."""
    readout: Readout = "dense"
    lr: PositiveFloat | None = 0.01
    """Learning rate; None is .1, or .02 for quadratic networks."""
    schedule: Literal["one-cycle", "steps"] = "steps"
    decay_at: list[Share] = []
    batch_size: Annotated[int, Field(ge=2)] = 128

    def plan(self, full: BlockLayout) -> list[Stage]:
        """Stage ``alone``, and stage ``all``, which goes on with its network."""
        depth, decays, weights = full.depth, [self.weight_decay], ("fixed-head",)
        return [
            Stage("alone", depth, ("alone",), decays, weights, upto=self.train, span=(0.0, self.alone)),
            Stage("all", depth, ("all",), decays, weights, "alone", depth, upto=depth, span=(self.alone, 1.0)),
        ]

    def correlation(self, fit: ImageFit) -> Mapping[str, Any]:
        """Correlations of the final weights with those after stage ``alone`` and with the initial ones."""
        return fit.correlations(fit.final.stage, self.train)

    def pictured(self, fit: ImageFit) -> Rows:
        """The lower blocks after both stages."""
        networks = {name: stage.network for name, stage in fit.trained.items()}
        return dict.fromkeys(range(1, self.train + 1), networks)
