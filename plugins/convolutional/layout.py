"""Layouts of convolutional networks: their blocks with shapes, parameters and work, without torch.

A block is the unit that a phase of layerwise training adds: a convolution, or in a ResNet the first convolution and
then each basic block of two (Backward Feature Correction, A.4 and A.5).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Activation: TypeAlias = Literal["relu", "quadratic"]
Readout: TypeAlias = Literal["last", "dense"]
Shape: TypeAlias = tuple[int, int, int]
"""Channels, height, width."""
Channels: TypeAlias = Sequence[int | Literal["M"]]
"""Output channels of convolutions, with M for 2 x 2 max pooling between them."""

PLAIN: dict[str, Channels] = {
    "vgg-13": (64, 64, "M", 128, 128, "M", 256, 256, "M", 512, 512, "M", 512, 512),
    "vgg-19": (64, 64, "M", 128, 128, "M", *(256,) * 4, "M", *(512,) * 4, "M", *(512,) * 4),
    "small-vgg": (8, 8, "M", 16, 16, "M", 32, 32),
}
"""Simonyan and Zisserman (2015), without their dense layers: 10 and 16 convolutions."""
RESIDUAL = {"resnet-22": "wrn-22-1", "resnet-34": "wrn-34-1"}
"""Pre-activation ResNets of 16, 32 and 64 channels: 1 convolution and 9 or 15 basic blocks."""
WIDE = re.compile(r"wrn-([1-9]\d*)-([1-9]\d*)")
"""``wrn-<depth>-<k>``, Zagoruyko and Komodakis (2016): blocks are k times as wide, the first convolution is not."""
KNOWN = (*PLAIN, *RESIDUAL, "wrn-<depth>-<k>", "alexnet")


@dataclass(frozen=True)
class Block:
    """A convolution, or two with a shortcut around them."""

    inputs: int
    outputs: int
    kernel: int = 3
    stride: int = 1
    pool: bool = False
    """Whether 2 x 2 max pooling of its inputs comes first, unless they have size 1."""
    residual: bool = False

    @property
    def projects(self) -> bool:
        """Whether the shortcut is a 1 x 1 convolution."""
        return self.residual and (self.stride > 1 or self.inputs != self.outputs)

    def output(self, shape: Shape) -> Shape:
        """Shape of the outputs, for inputs of a shape."""
        _, height, width = shape
        if self.pool and min(height, width) > 1:
            height, width = height // 2, width // 2
        return self.outputs, math.ceil(height / self.stride), math.ceil(width / self.stride)

    @property
    def weights(self) -> int:
        """Number of weights of its convolutions."""
        first = self.kernel**2 * self.inputs * self.outputs
        second = self.kernel**2 * self.outputs**2 + self.projects * self.inputs * self.outputs
        return first + self.residual * second


@dataclass(frozen=True)
class BlockLayout:
    """The blocks of a network and the properties that they share."""

    blocks: tuple[Block, ...]
    activation: Activation = "relu"
    readout: Readout = "last"
    norm: bool = True
    """Whether convolutions have BatchNorm instead of a bias."""
    residual: bool = False
    """Whether it is a pre-activation ResNet, or the beginning of one."""

    @property
    def depth(self) -> int:
        """The number of blocks."""
        return len(self.blocks)

    def first(self, depth: int) -> BlockLayout:
        """The network of the first ``depth`` blocks."""
        return replace(self, blocks=self.blocks[:depth])

    def shapes(self, image: Shape) -> list[Shape]:
        """Shape of each block's outputs."""
        shapes = [image]
        for block in self.blocks:
            shapes.append(block.output(shapes[-1]))
        return shapes[1:]

    def flops(self, image: Shape) -> float:
        """Floating-point operations of a forward pass per image."""
        blocks = zip(self.blocks, self.shapes(image), strict=True)
        return sum(2.0 * block.weights * height * width for block, (_, height, width) in blocks)

    def units(self, image: Shape) -> float:
        """Activations per image kept for the gradient: convolution, BatchNorm and activation of each block."""
        sizes = [math.prod(shape) for shape in self.shapes(image)]
        return sum((6 if block.residual else 3) * size for block, size in zip(self.blocks, sizes, strict=True))

    @property
    def weights(self) -> int:
        """Number of weights of all convolutions."""
        return sum(block.weights for block in self.blocks)


def blocks_of(architecture: str, inputs: int, channels: Channels | None, widen: int) -> list[Block]:
    """The blocks of a named network."""
    if channels is not None and architecture not in PLAIN:
        raise ValueError(f"channels stand for those of a VGG; {architecture} has its own")
    if architecture in PLAIN:
        return _plain(inputs, channels or PLAIN[architecture], widen)
    if architecture == "alexnet":
        return _alexnet(inputs, widen)
    wide = WIDE.fullmatch(RESIDUAL.get(architecture, architecture))
    if wide and (int(wide[1]) - 4) % 6 == 0 and int(wide[1]) > 4:
        return _residual(inputs, int(wide[1]), 16 * widen, int(wide[2]) * widen)
    raise ValueError(
        f"architecture must be one of {', '.join(KNOWN)}, the depth of a wrn 6 n + 4 (10, 16, 22, 28, ...). "
        f"Got {architecture!r}"
    )


def _plain(inputs: int, channels: Channels, widen: int) -> list[Block]:
    blocks: list[Block] = []
    for before, width in zip(["", *channels], channels, strict=False):
        if width != "M":
            blocks.append(Block(inputs, inputs := width * widen, pool=before == "M"))
    if not blocks or channels[-1] == "M":
        raise ValueError(f"channels must be numbers, M between two of them. Got {list(channels)}")
    return blocks


def _residual(inputs: int, depth: int, stem: int, factor: int) -> list[Block]:
    blocks = [Block(inputs, inputs := stem)]
    for group, width in enumerate((16, 32, 64)):
        for place in range((depth - 4) // 6):
            stride = 2 if group and not place else 1
            blocks.append(Block(inputs, inputs := width * factor, stride=stride, residual=True))
    return blocks


def _alexnet(inputs: int, widen: int) -> list[Block]:
    """The five convolutions of Krizhevsky et al. (2012), adapted to images of 32 x 32."""
    shapes = ((64, 11, 4, False), (192, 5, 1, True), (384, 3, 1, True), (256, 3, 1, False), (256, 3, 1, False))
    blocks = []
    for outputs, kernel, stride, pool in shapes:
        blocks.append(Block(inputs, inputs := outputs * widen, kernel, stride, pool))
    return blocks
