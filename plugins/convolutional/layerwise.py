"""Layer-wise training of a convolutional network, with the layers below frozen."""

from typing import ClassVar

from bfc_plugins.convolutional.phases import PhasedLearner


class ConvLayerwise(PhasedLearner):
    """Layerwise training of a convolutional network (BFC A.4, as in Trinh 2019).

    Phase l trains layer l (in ResNets a block) with a new head; the layers below are frozen, with their BatchNorm. The
    outputs of frozen layers are computed once, unless images are augmented or attacked.
    """

    name: ClassVar[str] = "conv-layerwise"
    version: ClassVar[int] = 2
    frozen: ClassVar[bool] = True
