"""Growing a convolutional network: layers are added one after another, and all of them are trained."""

from typing import ClassVar

from bfc_plugins.convolutional.phases import PhasedLearner


class ConvGrow(PhasedLearner):
    """Phase l trains all of its l layers, none frozen: the paper's "training all layers together" (BFC A.4)."""

    name: ClassVar[str] = "conv-grow"
    version: ClassVar[int] = 2
    frozen: ClassVar[bool] = False
