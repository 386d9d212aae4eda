"""Options that the learners of images share, for network, data and training, with the cost of a fit.

Shapes: n and m points, d = c h w inputs.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from bfc_plugins.convolutional.layout import Activation, BlockLayout, Readout, Shape, blocks_of
from bfc_plugins.convolutional.stages import Stage
from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from bfc_bench.errors import UsageError
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
ATTACK_STEPS = {"none": 0, "linf": 7, "l2-gauss": 4}
COPIES = {"none": 1, "linf": 1, "l2-gauss": 2}
TEST_STEPS = 20
"""Attacks: radius of the ball, number of steps in training, of copies of each image and of steps on test points (BFC
A.1 and A.5)."""

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
        blocks = blocks_of(self.architecture, inputs, self.channels, self.widen)
        if self.depth is not None and self.depth > len(blocks):
            raise ValueError(
                f"depth must be at most {len(blocks)}, the number of blocks of {self.architecture}. Got {self.depth}"
            )
        norm, residual = self.architecture != "alexnet", any(block.residual for block in blocks)
        return BlockLayout(tuple(blocks[: self.depth]), self.activation, self.readout, norm, residual)

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

    def cost_of(self, n: int, d: int, flops: float, steps: float, kept: float) -> Cost:
        """The cost of a fit; images are assumed square, with one or three channels.

        Args:
            n: Number of training points.
            d: Their dimension.
            flops: Floating-point operations; a step of training costs three forward passes.
            steps: Steps, in units of one without an attack.
            kept: Number of float32 values in memory besides images, a step's activations and a network with its
                moments.
        """
        image = likely_shape(d)
        full = self.layout(image[0])
        numbers = 2 * n * d + full.units(image) * max(PREDICTED, self.batch_size) + 8 * full.weights + kept
        return Cost(flops, bytes=RUNTIME_BYTES + 4.0 * numbers, work="steps", seconds=STEP_SECONDS * steps)


def no_image(name: str, task: TaskFacts) -> str | None:
    """Why a learner of images cannot run on a task whose inputs are not images, or None."""
    if len(task.shape) == 3:
        return None
    return f"{name} learns from images of shape (channels, height, width); the inputs have shape {task.shape}"


def image_shape(shape: tuple[int, ...]) -> Shape:
    """A shape of points as that of images. Raises ``UsageError`` if it is none."""
    if len(shape) != 3:
        raise UsageError(f"rows of x must be images of shape (channels, height, width). Got shape {shape}.")
    channels, height, width = shape
    return channels, height, width


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

    lr: PositiveFloat | None = None
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
    noise: NonNegativeFloat = 0.12
    """Standard deviation of the noise of ``l2-gauss``, per coordinate."""
    pictures: Annotated[int, Field(ge=0, le=64)] = 0
    """Number of channels of each block to picture, as artifacts of a cell."""
    picture_steps: Annotated[int, Field(ge=1)] = 2000
    """Number of gradient ascent steps per picture."""

    @abstractmethod
    def plan(self, full: BlockLayout) -> list[Stage]:
        """The stages of a fit, in order; the network of the last one is the final predictor."""

    def cost(self, n: int, d: int) -> Cost:
        """Training and the networks of all stages, outputs of frozen blocks, and pictures of two networks."""
        image = likely_shape(d)
        full = self.layout(image[0])
        seen = self.steps_at(n) * min(n, self.batch_size)
        attacked = COPIES[self.attack] * (1.0 + ATTACK_STEPS[self.attack])
        flops = steps = weights = features = 0.0
        for stage in self.plan(full):
            network, lower = full.first(stage.depth), full.first(stage.frozen)
            whole, below = network.flops(image), lower.flops(image)
            if self.keeps_features:
                flops += stage.trainings * 3 * (whole - below) * seen + below * n
                features = max([features, *(2.0 * n * math.prod(shape) for shape in lower.shapes(image)[-1:])])
            else:
                flops += attacked * stage.trainings * (3 * whole - 2 * below) * seen
            steps += attacked * stage.trainings * self.steps_at(n)
            weights += network.weights
        passes = sum(full.first(place).flops(image) for place in range(1, full.depth + 1))
        flops += 6.0 * self.picture_steps * self.pictures * passes
        return self.cost_of(n, d, flops, steps, weights + features)

    @property
    def keeps_features(self) -> bool:
        """Whether the outputs of frozen blocks are the same in every step, so that they are computed once."""
        return not self.augments and self.attack == "none" and self.readout == "last"
