"""Training in phases, each of which adds a block on top of those that are trained already (BFC A.4)."""

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
    """In phase l the first l - 1 blocks are those of the phase before; block l and a head, average pooling and a linear
    layer, are fresh. The head is thrown away afterwards. Each phase is a stage, ``depth<l>``.
    """

    frozen: ClassVar[bool]
    """Whether blocks that have had their phase stay as they are."""

    weight_decays: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=1)] = [1e-4, 5e-4]
    """Weight decays that are tried in each phase: every fifth training point validates, the others are trained on, and
    the phase is made again on all points with the best. One is taken as it is."""

    def run(self, fit: ImageFit) -> Predictor:
        """One phase per block."""
        stages, chosen, loss = {}, [], math.nan
        last: Network | None = None
        images = fit.points.images
        for depth in range(1, fit.layout.depth + 1):
            network = fit.network(depth, "phase", depth)
            start = 0
            if last is not None:
                network.take(last, depth - 1)
                if self.frozen:
                    network.freeze(depth - 1)
                    if self.keeps_features:
                        images, start = _next(network, images, depth - 1), depth - 1
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
            earlier = (
                {} if self.frozen or stage is final else {f"after phase {place}": stage}
            )  # frozen ones do not change
            pictured[place] = {**earlier, "after all phases": final}
        return fit.result(final, stages, info, pictured)

    def _choose(self, fit: ImageFit, network: Network, depth: int, images: Tensor, start: int) -> float:
        """The weight decay of the least validation error, the smallest of equals; ``network`` is left as it is."""
        from bfc_plugins.convolutional.fit import validation_rows

        from bfc_bench.errors import Diverged

        if len(self.weight_decays) == 1 or len(images) < 10:
            return self.weight_decays[-1]
        rows, validation = validation_rows(len(images), images.device)
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
        """A phase for each block, with its trials."""
        return full.depth * self._trials()

    def _trials(self) -> float:
        """Trainings of a phase: of each weight decay on four fifths of the points, and of the best on all."""
        return 1.0 if len(self.weight_decays) == 1 else 1 + 0.8 * len(self.weight_decays)

    def trained(self, n: int, full: BlockLayout, image: Shape) -> float:
        """A forward pass through frozen blocks for the features of a phase, or with each step; and trials."""
        seen = self.steps_at(n) * min(n, self.batch_size)
        trials, total = self._trials(), 0.0
        for depth in range(1, full.depth + 1):
            here, lower = full.first(depth).flops(image), full.first(depth - 1).flops(image)
            if not self.frozen:
                total += trials * 3 * here * seen
            elif not self.keeps_features:
                total += trials * (3 * here - 2 * lower) * seen
            else:
                total += trials * 3 * (here - lower) * seen + lower * n
        return total

    def kept(self, n: int, full: BlockLayout, image: Shape) -> float:
        """A copy of the network for each phase, and the features of two frozen blocks."""
        copies = sum(full.first(depth).weights for depth in range(1, full.depth + 1))
        if not (self.frozen and self.keeps_features):
            return copies
        largest = max(math.prod(shape) for shape in [image, *full.shapes(image)])
        return copies + 2.0 * n * largest


def _next(network: Network, inputs: Tensor, depth: int) -> Tensor:
    """What block ``depth`` makes of its inputs, at all points."""
    import torch

    with torch.no_grad():
        parts = [network.blocks[depth - 1](part) for part in inputs.split(PREDICTED)]
        return torch.cat(parts).to(memory_format=torch.channels_last)


def _error(fit: ImageFit, network: Network, images: Tensor, numbers: Tensor, start: int) -> float:
    """Share of points whose class is wrong."""
    import torch

    with torch.no_grad():
        scores = torch.cat([network(part, start) for part in images.split(PREDICTED)])
        found = fit.points.loss.log_probabilities(scores).argmax(dim=1)
        return float((found != numbers).float().mean())
