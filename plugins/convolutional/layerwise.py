"""Layers trained one after another, those below frozen."""

from __future__ import annotations

from typing import ClassVar

from bfc_plugins.convolutional.phases import PhasedLearner


class ConvLayerwise(PhasedLearner):
    """Layerwise training of a convolutional network (BFC A.4, as in Trinh 2019).

    In phase l the layers below are frozen, with their BatchNorm; layer l, a block in ResNets, is trained with a fresh
    head. What frozen layers make of the images is computed once, unless images are changed at random or attacked.
    """

    name: ClassVar[str] = "conv-layerwise"
    frozen: ClassVar[bool] = True
