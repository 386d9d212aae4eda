"""Growing a convolutional network: layers are added one after another, and all of them are trained."""

from __future__ import annotations

from typing import ClassVar

from bfc_plugins.convolutional.phases import PhasedLearner


class ConvGrow(PhasedLearner):
    """Layerwise training of a convolutional network without freezing: phase l trains all of its l layers (BFC A.4).

    This is the paper's "training all layers together": the last phase trains the whole network.
    """

    name: ClassVar[str] = "conv-grow"
    frozen: ClassVar[bool] = False
