"""Layers added one after another, all of them trained."""

from __future__ import annotations

from typing import ClassVar

from bfc_plugins.convolutional.phases import PhasedLearner


class ConvGrow(PhasedLearner):
    """Layerwise training of a convolutional network without freezing: phase l trains all of its l layers (BFC A.4).

    The paper's "training all layers together": layerwise pre-training, which ends as training from the start does.
    """

    name: ClassVar[str] = "conv-grow"
    frozen: ClassVar[bool] = False
