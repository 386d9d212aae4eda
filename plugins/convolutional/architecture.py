"""Torch modules of the networks that ``layout.py`` describes: blocks and a linear head.

Shapes: m images of c channels, h x w pixels each. Weights are drawn on the CPU from the caller's generator, so that
they depend on its seed but not on the device.
"""

from __future__ import annotations

import math
from typing import Self

import torch
from bfc_plugins.convolutional.layout import Activation, Block, BlockLayout
from torch import Generator, Tensor, nn
from torch.nn.functional import max_pool2d


class Quadratic(nn.Module):
    """z + .1 z^2, the activation of BFC A.3."""

    def forward(self, z: Tensor) -> Tensor:
        """Apply it to a tensor of any shape."""
        return torch.addcmul(z, z, z, value=0.1)


def convolution(
    inputs: int, outputs: int, kernel: int, stride: int, generator: Generator, *, bias: bool = False
) -> nn.Conv2d:
    """A convolution that preserves an image's size up to the stride; weights ~ N(0, 2 / fan-in) (He et al. 2015)."""
    layer: nn.Conv2d = nn.utils.skip_init(
        nn.Conv2d, inputs, outputs, kernel, stride=stride, padding=(kernel - 1) // 2, bias=bias
    )
    with torch.no_grad():
        weight = torch.randn(layer.weight.shape, generator=generator) * math.sqrt(2 / (kernel**2 * inputs))
        layer.weight = nn.Parameter(weight.to(memory_format=torch.channels_last))
        if layer.bias is not None:
            layer.bias.zero_()
    return layer


def linear(inputs: int, outputs: int, generator: Generator, *, bias: bool = True) -> nn.Linear:
    """A linear layer with weights ~ N(0, 1 / fan-in) and bias 0."""
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, inputs, outputs, bias=bias)
    with torch.no_grad():
        layer.weight.copy_(torch.randn(layer.weight.shape, generator=generator) / math.sqrt(inputs))
        if bias:
            layer.bias.zero_()
    return layer


def activated(channels: int, activation: Activation, *, norm: bool = True) -> list[nn.Module]:
    """BatchNorm and ReLU, or in quadratic networks the activation and then BatchNorm (BFC A.3)."""
    norms = [nn.BatchNorm2d(channels)] if norm else []
    return [Quadratic(), *norms] if activation == "quadratic" else [*norms, nn.ReLU()]


class Pool(nn.Module):
    """2 x 2 max pooling, unless the image has a side of 1."""

    def forward(self, h: Tensor) -> Tensor:
        """Map (m, channels, h, w) to (m, channels, h/2, w/2)."""
        return max_pool2d(h, 2) if min(h.shape[2:]) > 1 else h


class Mean(nn.Module):
    """The average over the pixels of an image."""

    def forward(self, h: Tensor) -> Tensor:
        """Map (m, channels, h, w) to (m, channels)."""
        return h.mean(dim=(2, 3))


def plain_block(block: Block, layout: BlockLayout, generator: Generator) -> nn.Sequential:
    """A convolution, BatchNorm and activation; at the bottom of a pre-activation ResNet only the convolution."""
    bias = not (layout.residual or layout.norm)
    conv = convolution(block.inputs, block.outputs, block.kernel, block.stride, generator, bias=bias)
    after = [] if layout.residual else activated(block.outputs, layout.activation, norm=layout.norm)
    return nn.Sequential(*([Pool()] if block.pool else []), conv, *after)


class ResidualBlock(nn.Module):
    """The basic block of a pre-activation ResNet (He et al. 2016)."""

    def __init__(self, block: Block, layout: BlockLayout, generator: Generator) -> None:
        super().__init__()
        self.before = nn.Sequential(*activated(block.inputs, layout.activation))
        self.layers = nn.Sequential(
            convolution(block.inputs, block.outputs, block.kernel, block.stride, generator),
            *activated(block.outputs, layout.activation),
            convolution(block.outputs, block.outputs, block.kernel, 1, generator),
        )
        self.shortcut = convolution(block.inputs, block.outputs, 1, block.stride, generator) if block.projects else None

    def forward(self, h: Tensor) -> Tensor:
        """Map (m, inputs, h, w) to (m, outputs, h', w')."""
        z = self.before(h)
        out: Tensor = self.layers(z) + (h if self.shortcut is None else self.shortcut(z))
        return out


def tap(block: Block, layout: BlockLayout, outputs: int, generator: Generator, *, bias: bool) -> nn.Sequential:
    """A linear function of a block's outputs, averaged over the pixels of an image."""
    before = activated(block.outputs, layout.activation) if layout.residual else []
    return nn.Sequential(*before, Mean(), linear(block.outputs, outputs, generator, bias=bias))


class Network(nn.Module):
    """The blocks of a layout and a head; the first ``frozen`` blocks are not trained."""

    frozen: int = 0

    def __init__(self, layout: BlockLayout, outputs: int, generator: Generator) -> None:
        super().__init__()
        self.layout = layout
        self.blocks = nn.ModuleList(
            (ResidualBlock if block.residual else plain_block)(block, layout, generator) for block in layout.blocks
        )
        depth, self.taps = len(self.blocks), nn.ModuleDict()
        for place in range(1, depth + 1) if layout.readout == "dense" else [depth]:
            self.taps[str(place)] = tap(layout.blocks[place - 1], layout, outputs, generator, bias=place == depth)

    def forward(self, h: Tensor, start: int = 0) -> Tensor:
        """Scores (m, outputs) of images (m, c, h, w), or of the outputs of the first ``start`` blocks."""
        scores = []
        for place, block in enumerate(self.blocks[start:], start=start + 1):
            h = block(h)
            if str(place) in self.taps:
                scores.append(self.taps[str(place)](h))
        total: Tensor = sum(scores)
        return total

    def below(self, h: Tensor, stop: int) -> Tensor:
        """Outputs of the first ``stop`` blocks for images (m, c, h, w)."""
        for block in self.blocks[:stop]:
            h = block(h)
        return h

    def freeze(self, blocks: int, upto: int | None = None) -> None:
        """Freeze the first ``blocks`` with the statistics of their BatchNorm, and all weights above ``upto``."""
        self.frozen = blocks
        self.blocks[:blocks].requires_grad_(False)
        if upto is not None:
            self.blocks[upto:].requires_grad_(False)
            self.taps.requires_grad_(False)
        self.train(self.training)

    def train(self, mode: bool = True) -> Self:
        """As ``torch.nn.Module.train``, but frozen blocks stay in evaluation mode."""
        super().train(mode)
        for block in self.blocks[: self.frozen]:
            block.eval()
        return self

    def weights(self, blocks: int) -> list[list[Tensor]]:
        """Weights (outputs, inputs, k, k) of the convolutions of each of the first ``blocks``."""
        return [
            [part.weight for part in block.modules() if isinstance(part, nn.Conv2d)] for block in self.blocks[:blocks]
        ]

    def take(self, other: Network, blocks: int) -> None:
        """Copy the first ``blocks`` of another network, including the statistics of their BatchNorm."""
        for mine, theirs in zip(self.blocks[:blocks], other.blocks[:blocks], strict=True):
            mine.load_state_dict(theirs.state_dict())
