"""Options that the learners of images share, for network, data and training, with the cost of a fit.

Shapes: n and m points, d = c h w inputs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from bfc_plugins.convolutional.layout import Activation, BlockLayout, Readout, Shape, layout
from pydantic import Field, model_validator

from bfc_bench.learner import Capabilities, Cost, Learner, TaskFacts

RUNTIME_BYTES = 300e6
"""Memory of torch without arrays, in bytes."""
STEP_SECONDS = 3e-3
"""Least time of a step, in seconds."""
PREDICTED = 500
"""Number of images predicted at once."""
GRADIENTS = 100
"""Number of images whose gradients are computed at once."""
STEPS_AT = 2000
"""The n to which the option ``steps`` refers."""
LEAST_STEPS = 0.75
"""Smallest fraction of ``steps``, for small n."""
NET_RATES: Mapping[Activation, float] = {"relu": 0.1, "quadratic": 0.02}
"""Default learning rates (BFC A.3)."""

RADII = {"linf": 6 / 255, "l2-gauss": 0.5}
ATTACK_STEPS = {"linf": 7, "l2-gauss": 4}
TEST_STEPS = 20
"""Attacks: radius of the ball, and number of steps in training and on test points (BFC A.1 and A.5)."""

Share = Annotated[float, Field(ge=0, le=1)]


class ImageOptions(Learner):
    """A convolutional network that learns classes of images by cross entropy."""

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
    """Output channels of a VGG's convolutions, M for 2 x 2 max pooling; None for those of ``architecture``."""
    widen: Annotated[int, Field(ge=1)] = 1
    """Factor of all channels, including those of the first convolution."""
    depth: Annotated[int, Field(ge=1)] | None = None
    """Number of blocks: convolutions, or the first one and the basic blocks of a ResNet; None for all."""
    activation: Activation = "relu"
    """Activation; ``quadratic`` is z + z^2 / 10, followed by BatchNorm."""
    readout: Readout = "last"
    """Whether the linear head reads the image averages of the last block (``last``) or of all blocks (``dense``)."""
    epochs: Annotated[int, Field(ge=1)] = 25
    """Number of epochs of each training, or of each phase."""
    steps: Annotated[int, Field(ge=1)] | None = None
    """Number of steps at n = 2000, instead of ``epochs``; it is multiplied by sqrt(n / 2000), but at least by 3/4."""
    batch_size: Annotated[int, Field(ge=2)] = 125
    """Size of a minibatch."""
    crop: Annotated[int, Field(ge=0)] = 0
    """Margin of random crops in pixels, 4 in the paper."""
    flip: bool = False
    """Whether training images are mirrored with probability 1/2."""
    cutout: Annotated[int, Field(ge=0)] = 0
    """Side in pixels of the square that is set to 0 in a training image."""

    @model_validator(mode="after")
    def _known(self) -> ImageOptions:
        self.layout(1)
        return self

    def layout(self, inputs: int) -> BlockLayout:
        """The network on images of ``inputs`` channels."""
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
        """Whether training images are augmented at random."""
        return bool(self.crop or self.flip or self.cutout)

    def steps_at(self, n: int) -> int:
        """Number of steps of one training on n points."""
        if self.steps is None:
            return self.epochs * max(1, n // self.batch_size)
        return math.ceil(self.steps * max(LEAST_STEPS, math.sqrt(n / STEPS_AT)))

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """Skip inputs that are not images, and n < 2, for which BatchNorm has no statistics."""
        return no_image(self.name, task) or (f"{self.name} needs n >= 2" if n < 2 else None)

    def trained(self, n: int, full: BlockLayout, image: Shape) -> float:
        """Floating-point operations of all training; a step costs three forward passes."""
        return 3 * full.flops(image) * self.steps_at(n) * min(n, self.batch_size)

    def trainings(self, full: BlockLayout) -> float:
        """Number of trainings, one after another."""
        return 1.0

    @property
    def work(self) -> float:
        """Work of a training step, relative to one without an attack."""
        return 1.0

    def kept(self, n: int, full: BlockLayout, image: Shape) -> float:
        """Number of float32 values in memory besides images and a step's activations."""
        return 0.0

    def cost(self, n: int, d: int) -> Cost:
        """The cost of training and predictions; images are assumed square, with one or three channels."""
        image = likely_shape(d)
        full = self.layout(image[0])
        together = max(PREDICTED, self.batch_size)
        numbers = 2 * n * d + full.units(image) * together + 8 * full.weights + self.kept(n, full, image)
        seconds = STEP_SECONDS * self.work * self.steps_at(n) * self.trainings(full)
        flops = self.work * self.trained(n, full, image)
        return Cost(flops, bytes=RUNTIME_BYTES + 4.0 * numbers, work="steps", seconds=seconds)


def no_image(name: str, task: TaskFacts) -> str | None:
    """Why a learner of images cannot run on a task whose inputs are not images, or None."""
    if len(task.shape) == 3:
        return None
    return f"{name} learns from images of shape (channels, height, width); the inputs have shape {task.shape}"


def likely_shape(d: int) -> Shape:
    """Shape of a square image with three channels and d numbers, or with one channel and at least d numbers."""
    side = math.isqrt(d // 3)
    if d == 3 * side**2:
        return 3, side, side
    side = math.isqrt(d - 1) + 1
    return 1, side, side


class SgdOptions(ImageOptions):
    """The options of a convolutional network trained by stochastic gradient descent."""

    smoke: ClassVar[Mapping[str, Any]] = {**ImageOptions.smoke, "pictures": 2, "picture_steps": 3}

    lr: Annotated[float, Field(gt=0)] | None = None
    """Peak learning rate; None is .1, or .02 for quadratic networks."""
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    """Nesterov momentum."""
    schedule: Literal["one-cycle", "steps"] = "one-cycle"
    """Schedule of the learning rate; ``steps`` drops it at ``decay_at``."""
    decay_at: list[Share] = [2 / 3, 5 / 6]
    """Fractions of training at which the rate drops, by default after 80 and 100 of 120 epochs."""
    decay: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Factor of each drop."""
    attack: Literal["none", "linf", "l2-gauss"] = "none"
    """Attack of adversarial training, in balls of radius 6/255 (``linf``) or .5; the stage ``attacked`` reports the
    error under attack."""
    noise: Annotated[float, Field(ge=0)] = 0.12
    """Standard deviation of the noise of ``l2-gauss``, per coordinate."""
    pictures: Annotated[int, Field(ge=0, le=64)] = 0
    """Number of channels of each block to picture, as artifacts of a cell."""
    picture_steps: Annotated[int, Field(ge=1)] = 2000
    """Number of gradient ascent steps per picture."""

    def cost(self, n: int, d: int) -> Cost:
        """The cost of training, and of pictures of two networks."""
        training = super().cost(n, d)
        image = likely_shape(d)
        full = self.layout(image[0])
        passes = sum(full.first(place).flops(image) for place in range(1, full.depth + 1))
        return replace(training, flops=training.flops + 6.0 * self.picture_steps * self.pictures * passes)

    @property
    def keeps_features(self) -> bool:
        """Whether the outputs of frozen blocks are the same in every step, so that they are computed once."""
        return not self.augments and self.attack == "none" and self.readout == "last"

    @property
    def work(self) -> float:
        """Work of the attack's steps, with two copies of each image for ``l2-gauss``."""
        if self.attack == "none":
            return 1.0
        return (1.0 if self.attack == "linf" else 2.0) * (1 + ATTACK_STEPS[self.attack])
