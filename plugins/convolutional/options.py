"""The options that learners of images share: network, data and training, and what a fit costs.

Shapes: n and m points, d = c h w inputs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from bfc_plugins.convolutional.layout import Activation, BlockLayout, Readout, Shape, layout
from pydantic import Field, model_validator

from bfc_bench.learner import Capabilities, Cost, Learner, TaskFacts

RUNTIME_BYTES = 300e6
"""What torch takes beside the arrays."""
STEP_SECONDS = 3e-3
"""What the calls of a step take however small the network is."""
PREDICTED = 500
"""Images that are predicted together."""
GRADIENTS = 100
"""Images whose gradients are computed together."""
STEPS_AT = 2000
"""The n that the option ``steps`` is about."""
LEAST_STEPS = 0.75
"""The share of ``steps`` that is made however few points there are."""
NET_RATES: Mapping[Activation, float] = {"relu": 0.1, "quadratic": 0.02}
"""Learning rates where the options have none, BFC A.3."""

Share = Annotated[float, Field(ge=0, le=1)]


class ImageOptions(Learner):
    """A convolutional network on images, whose classes it learns by their cross entropy."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        labels=frozenset({"binary", "class"}),
        arrays=("torch",),
        devices=frozenset({"cpu", "cuda"}),
        precision="float32",
    )
    smoke: ClassVar[Mapping[str, Any]] = {"channels": [4, "M", 4], "epochs": 2, "batch_size": 16}

    architecture: str = "small-vgg"
    """``vgg-13``, ``vgg-19``, ``small-vgg``, ``resnet-22``, ``resnet-34``, ``wrn-<depth>-<k>`` or ``alexnet``."""
    channels: list[Annotated[int, Field(ge=1)] | Literal["M"]] | None = None
    """Output channels of the convolutions of a VGG, M for a 2 x 2 maximum between them; None: those of its name."""
    widen: Annotated[int, Field(ge=1)] = 1
    """Factor of all channels, those of the first convolution included."""
    depth: Annotated[int, Field(ge=1)] | None = None
    """Blocks of the network: convolutions, or the first one and the basic blocks of a ResNet. None: all."""
    activation: Activation = "relu"
    """``quadratic`` is z + z^2 / 10, with BatchNorm after it."""
    readout: Readout = "last"
    """What the linear head sees of the averages over the image: those of the last block, or of all (``dense``)."""
    epochs: Annotated[int, Field(ge=1)] = 25
    """How often each training point is seen in one training, of each phase too."""
    steps: Annotated[int, Field(ge=1)] | None = None
    """Steps at n = 2000 in the place of epochs; at other n sqrt(n / 2000) times as many, but 3/4 of them or more."""
    batch_size: Annotated[int, Field(ge=2)] = 125
    """Images of a minibatch."""
    normalize: bool = True
    """Whether channels are brought to mean 0 and deviation 1; never where there is an attack."""
    crop: Annotated[int, Field(ge=0)] = 0
    """Margin of random crops, in points of the image; 4 in the paper."""
    flip: bool = False
    """Whether half of the images of a minibatch are mirrored."""
    cutout: Annotated[int, Field(ge=0)] = 0
    """Side of the square that is cut out of an image in training."""

    @model_validator(mode="after")
    def _known(self) -> ImageOptions:
        self.layout(1)
        return self

    def layout(self, inputs: int) -> BlockLayout:
        """The network on images of so many channels."""
        return layout(
            self.architecture,
            inputs,
            channels=self.channels,
            widen=self.widen,
            depth=self.depth,
            activation=self.activation,
            readout=self.readout,
        )

    @property
    def augments(self) -> bool:
        """Whether training images are changed at random."""
        return bool(self.crop or self.flip or self.cutout)

    def steps_at(self, n: int) -> int:
        """Steps of one training on n points."""
        if self.steps is None:
            return self.epochs * max(1, n // self.batch_size)
        return math.ceil(self.steps * max(LEAST_STEPS, math.sqrt(n / STEPS_AT)))

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """It needs images, and two of them for the statistics of BatchNorm."""
        return no_image(self.name, task) or (f"{self.name} needs n >= 2" if n < 2 else None)

    def trained(self, n: int, full: BlockLayout, image: Shape) -> float:
        """Floating-point operations of all training on n points; three times those of a forward pass for a step."""
        return 3 * full.flops(image) * self.steps_at(n) * min(n, self.batch_size)

    def trainings(self, full: BlockLayout) -> float:
        """Networks that are trained for so many steps, one after another."""
        return 1.0

    @property
    def work(self) -> float:
        """Forward passes that a step of training takes in the place of one."""
        return 1.0

    def kept(self, n: int, full: BlockLayout, image: Shape) -> float:
        """Numbers that are kept besides images and a step's activations."""
        return 0.0

    def cost(self, n: int, d: int) -> Cost:
        """Of training, and of the predictions that follow; images are taken for square, of one channel or three."""
        image = likely_shape(d)
        full = self.layout(image[0])
        together = max(PREDICTED, self.batch_size)
        numbers = 2 * n * d + full.units(image) * together + 8 * full.weights + self.kept(n, full, image)
        seconds = STEP_SECONDS * self.work * self.steps_at(n) * self.trainings(full)
        flops = self.work * self.trained(n, full, image)
        return Cost(flops, bytes=RUNTIME_BYTES + 4.0 * numbers, work="steps", seconds=seconds)


def no_image(name: str, task: TaskFacts) -> str | None:
    """Why a learner of images does not apply to a task without them, or None."""
    if len(task.shape) == 3:
        return None
    return f"{name} learns from images of shape (channels, height, width); the inputs have shape {task.shape}"


def likely_shape(d: int) -> Shape:
    """A square image of three channels or of one that has d numbers, or a few more."""
    side = math.isqrt(d // 3)
    if d == 3 * side**2:
        return 3, side, side
    side = math.isqrt(d - 1) + 1
    return 1, side, side


class SgdOptions(ImageOptions):
    """A convolutional network that is trained by stochastic gradients."""

    smoke: ClassVar[Mapping[str, Any]] = {**ImageOptions.smoke, "pictures": 2, "picture_steps": 3}

    lr: Annotated[float, Field(gt=0)] | None = None
    """The largest learning rate. None: .1, and .02 for quadratic networks."""
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    """Of Nesterov's gradient."""
    schedule: Literal["one-cycle", "steps"] = "one-cycle"
    """``steps``: the rate falls at ``decay_at``."""
    decay_at: list[Share] = [2 / 3, 5 / 6]
    """Shares of training at which the rate falls; of 120 epochs those after 80 and 100."""
    decay: Annotated[float, Field(gt=0, le=1)] = 0.1
    """The factor of each fall."""
    attack: Literal["none", "linf", "l2-gauss"] = "none"
    """Adversarial training. The stage ``attacked`` has the error under attack."""
    radius: Annotated[float, Field(gt=0)] | None = None
    """Of the attack's ball. None: 6/255 for ``linf``, .5 for ``l2-gauss``."""
    attack_steps: Annotated[int, Field(ge=1)] | None = None
    """None: 7 for ``linf``, 4 for ``l2-gauss``."""
    test_steps: Annotated[int, Field(ge=1)] = 20
    """Of the attack on test points."""
    noise: Annotated[float, Field(ge=0)] = 0.12
    """Standard deviation of the noise of ``l2-gauss``, per coordinate."""
    pictures: Annotated[int, Field(ge=0, le=64)] = 0
    """Channels of each block whose features are pictured, as artifacts of a cell."""
    picture_steps: Annotated[int, Field(ge=1)] = 2000
    """Steps of gradient ascent to a picture."""

    def cost(self, n: int, d: int) -> Cost:
        """Of training, and of pictures of two networks."""
        training = super().cost(n, d)
        image = likely_shape(d)
        full = self.layout(image[0])
        passes = sum(full.first(place).flops(image) for place in range(1, full.depth + 1))
        return replace(training, flops=training.flops + 6.0 * self.picture_steps * self.pictures * passes)

    @property
    def keeps_features(self) -> bool:
        """Whether what frozen blocks make of the images is the same in every step, and so is kept."""
        return not self.augments and self.attack == "none" and self.readout == "last"

    @property
    def work(self) -> float:
        """Those of the attack, of which ``l2-gauss`` has two copies of an image."""
        if self.attack == "none":
            return 1.0
        steps = self.attack_steps or ATTACK_STEPS[self.attack]
        return (1.0 if self.attack == "linf" else 2.0) * (1 + steps)


ATTACK_STEPS = {"linf": 7, "l2-gauss": 4}
RADII = {"linf": 6 / 255, "l2-gauss": 0.5}
"""Of BFC A.1 and A.5."""


def depths_of(asked: Sequence[int] | None, full: int) -> list[int]:
    """Depths to train at, ascending, the full one at the end."""
    return sorted({*(asked or ()), full})
