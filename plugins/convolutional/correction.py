"""Measures how much, and how deep, lower layers are corrected while higher layers are trained."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from bfc_plugins.convolutional.base import SgdLearner
from bfc_plugins.convolutional.layout import BlockLayout, Shape
from pydantic import Field, model_validator

if TYPE_CHECKING:
    from bfc_plugins.convolutional.architecture import Network
    from bfc_plugins.convolutional.fit import ImageFit

    from bfc_bench.learner import Predictor


class ConvCorrection(SgdLearner):
    """Measures backward feature correction in a convolutional network (BFC A.5, figures 9, 10 and 14).

    Stage ``only`` trains the first l = ``train`` blocks alone. Stage ``fix-l-<j>`` (``fix-l`` for j = 0) freezes the
    first l - j of them, with their BatchNorm, and trains the rest of the network from new weights. Stage
    ``pull-<lambda>`` trains all blocks from new weights and holds the convolutions of the first l blocks near those of
    ``only`` by the penalty lambda/2 |w - w_a|^2; the last one is the final predictor. Its lambda is written without a
    decimal point, such as 5e-4, so that claims can name the stage.

    Every stage is a training of its own, seven by default, because the comparison of stages is the result.
    """

    name: ClassVar[str] = "conv-correction"
    smoke: ClassVar[Mapping[str, Any]] = {
        "channels": [4, 4, "M", 4],
        "train": 2,
        "fix": [0, 1],
        "pulls": [5e-4],
        "epochs": 2,
        "batch_size": 16,
        "pictures": 2,
        "picture_steps": 3,
    }

    train: Annotated[int, Field(ge=1)] = 4
    """Number l of blocks that are trained at first."""
    fix: list[Annotated[int, Field(ge=0)]] = [0, 1, 2, 3]
    """Numbers j of the l blocks that are not frozen, one for each stage ``fix-l-<j>``."""
    pulls: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=1)] = [5e-4, 7e-4]
    """Strengths lambda of the penalty, one for each stage ``pull-<lambda>``; 0 is no penalty."""
    weight_decay: Annotated[float, Field(ge=0)] = 5e-4
    """Weight decay of all parameters."""

    @model_validator(mode="after")
    def _depths(self) -> ConvCorrection:
        depth = self.layout(1).depth
        if self.train >= depth:
            raise ValueError(f"train must be less than the network's depth, {depth}. Got {self.train}")
        if wrong := [j for j in self.fix if j >= self.train]:
            raise ValueError(f"fix must hold numbers less than train, {self.train}. Got {wrong}")
        return self

    def run(self, fit: ImageFit) -> Predictor:
        """Train stage ``only``, then each network that reuses its blocks."""
        from bfc_plugins.convolutional.correlation import copied, correlations

        only = fit.network(self.train, "only")
        initial = copied(only, self.train)
        losses = {"only": fit.train(only, self.weight_decay, "only")}
        weights_alone = copied(only, self.train)
        stages = {"only": fit.predictor(only)}
        correlation: dict[str, dict[str, Any]] = {"only": {"initial": correlations(weights_alone, initial)}}
        for j in self.fix:
            name = f"fix-l-{j}" if j else "fix-l"
            network = fit.network(fit.layout.depth, "fix", j)
            losses[name] = self._fix(fit, network, only, self.train - j, "fix", j)
            stages[name] = fit.predictor(network)
        for strength in self.pulls:
            name = f"pull-{_written(strength)}"
            network = fit.network(fit.layout.depth, "all")
            initial = copied(network, self.train)
            losses[name] = self._pull(fit, network, weights_alone, strength)
            weights = network.weights(self.train)
            with_only, with_initial = correlations(weights, weights_alone), correlations(weights, initial)
            correlation[name] = {
                "only": with_only,
                "initial": with_initial,
                "ratio": with_only["mean"] / max(abs(with_initial["mean"]), 1e-6),
            }
            stages[name] = fit.predictor(network)
        steps = self.steps_at(len(fit.points.images))
        *_, final = stages.values()
        before, after = f"blocks 1 to {self.train} alone", "all blocks"
        pictured = {place: {before: stages["only"], after: final} for place in range(1, self.train + 1)}
        return fit.result(final, stages, {"final_loss": losses, "steps": steps, "correlation": correlation}, pictured)

    def _fix(self, fit: ImageFit, network: Network, only: Network, blocks: int, *purpose: object) -> float:
        """Train ``network`` above the first ``blocks``, which are copied from ``only``; return the last loss."""
        from bfc_plugins.convolutional.fit import below

        network.take(only, blocks)
        network.freeze(blocks)
        if not self.keeps_features:
            return fit.train(network, self.weight_decay, *purpose)
        images = below(network, fit.points.images, blocks)
        return fit.train(network, self.weight_decay, *purpose, images=images, start=blocks)

    def _pull(self, fit: ImageFit, network: Network, towards: Any, strength: float) -> float:
        """Train all of ``network`` with a penalty that holds it near other weights; return the last loss."""
        from bfc_plugins.convolutional.training import Pull

        weights = network.weights(self.train)
        pull = Pull(strength, [*chain.from_iterable(weights)], [*chain.from_iterable(towards)])
        return fit.train(network, self.weight_decay, "all", pull=pull if strength else None)

    def trained(self, n: int, full: BlockLayout, image: Shape) -> float:
        """Stage ``only``, the blocks above frozen ones, and the whole network for each pull."""
        seen = self.steps_at(n) * min(n, self.batch_size)
        whole = full.flops(image)
        total = 3 * full.first(self.train).flops(image) * seen + 3 * len(self.pulls) * whole * seen
        for j in self.fix:
            lower = full.first(self.train - j).flops(image)
            total += 3 * (whole - lower) * seen + lower * (n if self.keeps_features else seen)
        return total

    def trainings(self, full: BlockLayout) -> float:
        """One for ``only``, for each number of frozen blocks, and for each pull."""
        return 1.0 + len(self.fix) + len(self.pulls)

    def kept(self, n: int, full: BlockLayout, image: Shape) -> float:
        """A network per stage, and the features of frozen blocks."""
        networks = (len(self.fix) + len(self.pulls) + 2.0) * full.weights
        if not self.keeps_features:
            return networks
        return networks + 2 * n * max(shape[0] * shape[1] * shape[2] for shape in full.shapes(image)[: self.train])


def _written(strength: float) -> str:
    """A number without a decimal point: 0, 5e-4, 15e-4, 30."""
    _, digits, exponent = Decimal(repr(strength)).normalize().as_tuple()
    number = "".join(map(str, digits))
    assert isinstance(exponent, int)  # options are finite
    return f"{number}e{exponent}" if exponent < 0 else number + "0" * exponent
