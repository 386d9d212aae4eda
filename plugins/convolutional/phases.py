"""Training of a convolutional network in phases (BFC A.4). Each phase adds a block, and may freeze those below it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from bfc_plugins.convolutional.base import SgdLearner
from bfc_plugins.convolutional.layout import BlockLayout
from bfc_plugins.convolutional.stages import Stage
from pydantic import Field, NonNegativeFloat

if TYPE_CHECKING:
    from bfc_plugins.convolutional.fit import ImageFit
    from bfc_plugins.convolutional.pictures import Rows


class PhasedLearner(SgdLearner):
    """Phase l takes the first l - 1 blocks from the phase before and adds block l and a head (average pooling and a
    linear layer) with new weights. The head is discarded afterwards. Each phase is a stage ``depth<l>``.

    With ``head_blocks``, the head begins with the blocks above block l, which makes it a deep auxiliary network
    (Belilovsky et al. 2019, arXiv 1812.11446; BFC footnote 6 calls that hierarchical learning). The last phases have no
    blocks above, so the final network is the same.
    """

    frozen: ClassVar[bool]
    """Whether the blocks of earlier phases are frozen."""

    weight_decays: Annotated[list[NonNegativeFloat], Field(min_length=1)] = [5e-4]
    """Weight decays to try in each phase, by the error on every fifth training point; the phase is then repeated on all
    points with the best, so k of them take 1 + .8 k trainings. A single value is used without a trial."""

    head_blocks: Annotated[int, Field(ge=0)] = 0
    """Number of blocks above block l that are trained with it as a part of the head, and discarded; new ones in each
    phase."""

    def plan(self, full: BlockLayout) -> list[Stage]:
        """One phase per block."""
        stages: list[Stage] = []
        for depth in range(1, full.depth + 1):
            name, whole, key = f"depth{depth}", depth + self.head_blocks, ("phase", depth)
            source = f"depth{depth - 1}" if depth > 1 else ""
            frozen = depth - 1 if self.frozen else 0
            stages.append(Stage(name, whole, key, self.weight_decays, (), source, depth - 1, frozen))
        return stages

    def info(self, fit: ImageFit) -> Mapping[str, Any]:
        """The last loss, and the weight decay of each phase."""
        return {"final_loss": fit.final.loss, "weight_decays": [stage.weight_decay for stage in fit.trained.values()]}

    def pictured(self, fit: ImageFit) -> Rows:
        """Each block after all phases, and after its own if it is trained further."""
        rows = {}
        for place, stage in enumerate(fit.trained.values(), start=1):
            changes = not self.frozen and stage is not fit.final
            earlier = {f"after phase {place}": stage.network} if changes else {}
            rows[place] = {**earlier, "after all phases": fit.final.network}
        return rows


class ConvLayerwise(PhasedLearner):
    """Layerwise training of a convolutional network (BFC A.4, as in Trinh 2019).

    Phase l trains layer l (in ResNets a block) with a new head; the layers below are frozen, with their BatchNorm. The
    outputs of frozen layers are computed once, unless images are augmented or attacked.
    """

    name: ClassVar[str] = "conv-layerwise"
    version: ClassVar[int] = 2
    frozen: ClassVar[bool] = True


class ConvGrow(PhasedLearner):
    """Phase l trains all of its l layers, none frozen: the paper's "training all layers together" (BFC A.4)."""

    name: ClassVar[str] = "conv-grow"
    version: ClassVar[int] = 2
    frozen: ClassVar[bool] = False
