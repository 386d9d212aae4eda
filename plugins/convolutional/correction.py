"""Measures how much, and how deep, lower layers are corrected while higher layers are trained."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from bfc_plugins.convolutional.base import LowerFirst
from bfc_plugins.convolutional.layout import BlockLayout
from bfc_plugins.convolutional.stages import Stage
from pydantic import Field, NonNegativeFloat, model_validator

if TYPE_CHECKING:
    from bfc_plugins.convolutional.fit import ImageFit
    from bfc_plugins.convolutional.pictures import Rows


class ConvCorrection(LowerFirst):
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
        **LowerFirst.smoke,
        "channels": [4, 4, "M", 4],
        "train": 2,
        "fix": [0, 1],
        "pulls": [5e-4],
    }

    train: Annotated[int, Field(ge=1)] = 4
    """Number l of blocks that are trained at first."""
    fix: list[Annotated[int, Field(ge=0)]] = [0, 1, 2, 3]
    """Numbers j of the l blocks that are not frozen, one for each stage ``fix-l-<j>``."""
    pulls: Annotated[list[NonNegativeFloat], Field(min_length=1)] = [5e-4, 7e-4]
    """Strengths lambda of the penalty, one for each stage ``pull-<lambda>``; 0 is no penalty."""

    @model_validator(mode="after")
    def _fixes_blocks(self) -> ConvCorrection:
        if wrong := [j for j in self.fix if j >= self.train]:
            raise ValueError(f"fix must hold numbers less than train, {self.train}. Got {wrong}")
        return self

    def plan(self, full: BlockLayout) -> list[Stage]:
        """Stage ``only``, and then each network that reuses its blocks."""
        depth, decays, train = full.depth, [self.weight_decay], self.train
        stages = [Stage("only", train, ("only",), decays)]
        for j in self.fix:
            name = f"fix-l-{j}" if j else "fix-l"
            stages.append(Stage(name, depth, ("fix", j), decays, (), "only", train - j, frozen=train - j))
        for strength in self.pulls:
            name = f"pull-{_written(strength)}"
            stages.append(Stage(name, depth, ("all",), decays, (), "only", train, pull=strength))
        return stages

    def correlation(self, fit: ImageFit) -> Mapping[str, Any]:
        """Correlations of the first l blocks with their initial weights, and after a pull with those of ``only``."""
        correlation: dict[str, dict[str, Any]] = {}
        for name, trained in fit.trained.items():
            if name == "only" or trained.stage.pull is not None:
                correlation[name] = fit.correlations(trained.stage, self.train)
            if trained.stage.pull is not None:
                initial = correlation[name]["initial"]["mean"]
                correlation[name]["ratio"] = correlation[name]["only"]["mean"] / max(abs(initial), 1e-6)
        return correlation

    def pictured(self, fit: ImageFit) -> Rows:
        """The first l blocks, trained alone and after correction."""
        networks = {f"blocks 1 to {self.train} alone": fit.trained["only"].network, "all blocks": fit.final.network}
        return dict.fromkeys(range(1, self.train + 1), networks)


def _written(strength: float) -> str:
    """A number without a decimal point: 0, 5e-4, 15e-4, 30."""
    _, digits, exponent = Decimal(repr(strength)).normalize().as_tuple()
    number = "".join(map(str, digits))
    assert isinstance(exponent, int)  # options are finite
    return f"{number}e{exponent}" if exponent < 0 else number + "0" * exponent
