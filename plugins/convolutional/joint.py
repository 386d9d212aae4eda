"""Joint training: all layers of a convolutional network are trained from the start, at one or several depths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from bfc_plugins.convolutional.base import SgdLearner
from bfc_plugins.convolutional.layout import BlockLayout, Shape
from pydantic import Field

if TYPE_CHECKING:
    from bfc_plugins.convolutional.fit import ImageFit

    from bfc_bench.learner import Predictor


class ConvJoint(SgdLearner):
    """A convolutional network whose layers are all trained from the start (BFC A.3, A.6)."""

    name: ClassVar[str] = "conv-joint"
    search: ClassVar[Mapping[str, Sequence[Any]]] = {"weight_decay": [5e-4, 5e-3]}

    weight_decay: Annotated[float, Field(ge=0)] = 5e-4
    """Weight decay of all parameters."""
    depths: list[Annotated[int, Field(ge=1)]] = []
    """Depths at which additional networks are trained, as stages ``depth<l>``."""

    def run(self, fit: ImageFit) -> Predictor:
        """Train a network at each depth, the full one last."""
        from bfc_plugins.convolutional.correlation import copied, correlations

        stages, info = {}, {}
        for depth in self._all(fit.layout):
            network = fit.network(depth, "joint", depth)
            initial = copied(network, depth)
            loss = fit.train(network, self.weight_decay, "joint", depth)
            stages[f"depth{depth}"] = fit.predictor(network)
            info = {
                "final_loss": loss,
                "steps": self.steps_at(len(fit.points.images)),
                "correlation": {"initial": correlations(network.weights(depth), initial)},
            }
        *_, final = stages.values()
        pictured = {place: {"all layers": final} for place in range(1, fit.layout.depth + 1)}
        return fit.result(final, stages if self.depths else {}, info, pictured)

    def trained(self, n: int, full: BlockLayout, image: Shape) -> float:
        """The networks of all depths."""
        return sum(super(ConvJoint, self).trained(n, full.first(depth), image) for depth in self._all(full))

    def trainings(self, full: BlockLayout) -> float:
        """One per depth."""
        return float(len(self._all(full)))

    def _all(self, full: BlockLayout) -> list[int]:
        return sorted({*(depth for depth in self.depths if depth <= full.depth), full.depth})
