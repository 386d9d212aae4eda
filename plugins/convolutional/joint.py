"""Joint training: all layers of a convolutional network are trained from the start, at one or several depths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from bfc_plugins.convolutional.base import SgdLearner
from bfc_plugins.convolutional.layout import BlockLayout
from bfc_plugins.convolutional.stages import Stage
from pydantic import Field, NonNegativeFloat

if TYPE_CHECKING:
    from bfc_plugins.convolutional.fit import ImageFit
    from bfc_plugins.convolutional.pictures import Rows


class ConvJoint(SgdLearner):
    """A convolutional network whose layers are all trained from the start (BFC A.3, A.6)."""

    name: ClassVar[str] = "conv-joint"
    search: ClassVar[Mapping[str, Sequence[Any]]] = {"weight_decay": [5e-4, 5e-3]}

    weight_decay: NonNegativeFloat = 5e-4
    """Weight decay of all parameters."""
    depths: list[Annotated[int, Field(ge=1)]] = []
    """Depths at which additional networks are trained, as stages ``depth<l>``."""

    def plan(self, full: BlockLayout) -> list[Stage]:
        """A network at each depth, the full one last."""
        depths = sorted({*(depth for depth in self.depths if depth <= full.depth), full.depth})
        return [
            Stage(f"depth{depth}" if self.depths else "", depth, ("joint", depth), [self.weight_decay])
            for depth in depths
        ]

    def info(self, fit: ImageFit) -> Mapping[str, Any]:
        """Loss of the full network, and correlations with its initial weights."""
        final = fit.final
        return {"final_loss": final.loss, "correlation": fit.correlations(final.stage, fit.layout.depth)}

    def pictured(self, fit: ImageFit) -> Rows:
        """All blocks of the full network."""
        return {place: {"all layers": fit.final.network} for place in range(1, fit.layout.depth + 1)}
