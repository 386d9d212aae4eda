"""Base class of the learners that train in phases, each of which adds a block (BFC A.4)."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from bfc_plugins.convolutional.base import SgdLearner
from bfc_plugins.convolutional.layout import BlockLayout, Shape
from bfc_plugins.convolutional.options import PREDICTED
from pydantic import Field

if TYPE_CHECKING:
    from bfc_plugins.convolutional.architecture import Network
    from bfc_plugins.convolutional.fit import ImageFit
    from torch import Tensor

    from bfc_bench.learner import Predictor


class PhasedLearner(SgdLearner):
    """Phase l takes the first l - 1 blocks from the phase before and adds block l and a head (average pooling and a
    linear layer) with new weights. The head is discarded afterwards. Each phase is a stage ``depth<l>``.

    With ``head_blocks``, the head begins with the blocks above block l, which makes it a deep auxiliary network
    (Belilovsky et al. 2019, arXiv 1812.11446; BFC footnote 6 calls that hierarchical learning). The last phases have no
    blocks above, so the final network is the same.
    """

    frozen: ClassVar[bool]
    """Whether the blocks of earlier phases are frozen."""

    weight_decays: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=1)] = [5e-4]
    """Weight decays to try in each phase, by the error on every fifth training point; the phase is then repeated on all
    points with the best, so k of them take 1 + .8 k trainings. A single value is used without a trial."""

    head_blocks: Annotated[int, Field(ge=0)] = 0
    """Number of blocks above block l that are trained with it as a part of the head, and discarded; new ones in each
    phase."""

    def run(self, fit: ImageFit) -> Predictor:
        """Train one phase per block."""
        from bfc_plugins.convolutional.fit import below

        stages, chosen, loss = {}, [], math.nan
        last: Network | None = None
        images = fit.points.images
        for depth in range(1, fit.layout.depth + 1):
            network = fit.network(depth + self.head_blocks, "phase", depth)
            start = 0
            if last is not None:
                network.take(last, depth - 1)
                if self.frozen:
                    network.freeze(depth - 1)
                    if self.keeps_features:
                        images, start = below(network, images, depth - 1, depth - 2), depth - 1
            weight_decay = self._choose(fit, network, depth, images, start)
            loss = fit.train(network, weight_decay, "phase", depth, images=images, start=start)
            stages[f"depth{depth}"] = fit.predictor(network)
            chosen.append(weight_decay)
            last = network
        info: Mapping[str, Any] = {
            "final_loss": loss,
            "steps": self.steps_at(len(fit.points.images)),
            "weight_decays": chosen,
        }
        *_, final = stages.values()
        pictured = {}
        for place, stage in enumerate(stages.values(), start=1):
            changes = not self.frozen and stage is not final
            earlier = {f"after phase {place}": stage} if changes else {}
            pictured[place] = {**earlier, "after all phases": final}
        return fit.result(final, stages, info, pictured)

    def _choose(self, fit: ImageFit, network: Network, depth: int, images: Tensor, start: int) -> float:
        """The weight decay with the least validation error, the smallest of equals; ``network`` is not changed."""
        from bfc_bench.errors import Diverged
        from bfc_bench.toolkit.held_out import held_out

        if len(self.weight_decays) == 1 or len(images) < 10:
            return self.weight_decays[-1]
        validates = images.new_tensor(held_out(len(images)))
        rows, validation = (validates == 0).nonzero()[:, 0], validates.nonzero()[:, 0]
        errors: dict[float, float] = {}
        for weight_decay in sorted(self.weight_decays):
            trial = copy.deepcopy(network)
            try:
                fit.train(trial, weight_decay, "phase", depth, images=images, start=start, rows=rows)
            except Diverged:
                continue
            errors[weight_decay] = _error(fit, trial, images[validation], fit.points.numbers[validation], start)
        return min(errors, key=errors.__getitem__) if errors else min(self.weight_decays)

    def trainings(self, full: BlockLayout) -> float:
        """One phase per block, with its trials."""
        return full.depth * self._trials()

    def _trials(self) -> float:
        """Trainings per phase: each weight decay on four fifths of the points, and the best on all."""
        return 1.0 if len(self.weight_decays) == 1 else 1 + 0.8 * len(self.weight_decays)

    def trained(self, n: int, full: BlockLayout, image: Shape) -> float:
        """All phases with their trials; frozen blocks need a forward pass once per phase, or in each step."""
        seen = self.steps_at(n) * min(n, self.batch_size)
        trials, total = self._trials(), 0.0
        for depth in range(1, full.depth + 1):
            here, lower = full.first(depth + self.head_blocks).flops(image), full.first(depth - 1).flops(image)
            if not self.frozen:
                total += trials * 3 * here * seen
            elif not self.keeps_features:
                total += trials * (3 * here - 2 * lower) * seen
            else:
                total += trials * 3 * (here - lower) * seen + lower * n
        return total

    def kept(self, n: int, full: BlockLayout, image: Shape) -> float:
        """A network per phase, and the features of two frozen blocks."""
        copies = sum(full.first(depth + self.head_blocks).weights for depth in range(1, full.depth + 1))
        if not (self.frozen and self.keeps_features):
            return copies
        largest = max(math.prod(shape) for shape in [image, *full.shapes(image)])
        return copies + 2.0 * n * largest


def _error(fit: ImageFit, network: Network, images: Tensor, numbers: Tensor, start: int) -> float:
    """Fraction of points with a wrong class."""
    import torch

    with torch.no_grad():
        scores = torch.cat([network(part, start) for part in images.split(PREDICTED)])
        predicted = fit.points.loss.log_probabilities(scores).argmax(dim=1)
        return float((predicted != numbers).float().mean())
