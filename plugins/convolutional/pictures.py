"""Pictures of features: images at which a channel of a block is large, by gradient ascent (BFC A.1, figures 1 to 4).

Shapes: k channels, of an image each, (k, c, h, w).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from bfc_plugins.convolutional.architecture import Network, exactly
from bfc_plugins.convolutional.layout import Shape
from torch import Tensor

from bfc_bench.seeds import seed_of
from bfc_bench.toolkit.pictures import sheet

LEFT = math.exp(-6)
"""What is left of the random start after all steps: 2000 of them with a weight decay of .003 each, as in the paper."""
SHOWN = 2.5
"""Deviations from the mean of the training images at which a picture is black or white."""


@dataclass(frozen=True)
class Pictures:
    """What is pictured of a fit, and how.

    The neuron is a channel's mean over the image, of what it gives above 0: what a head reads out. A picture is
    x = mean + deviation u, by channel of the training images, and u starts at random from N(0, 1). A step is
    u <- (1 - a) u + a g/|g|, g the neuron's gradient and |g| its root mean square. So u stays bounded, and comes to
    rest where it is parallel to the gradient, but for the kinks of ReLUs: where no small change of an image that has
    the training images' contrast makes the neuron larger. One that is silent at the start stays so: its picture is
    grey.
    """

    blocks: Mapping[int, Mapping[str, Network]]
    """For each block, counted from 1, networks by what is said of them."""
    mean: Tensor
    """Of the training images as networks take them, (c, 1, 1)."""
    deviation: Tensor
    shape: Shape
    channels: int
    """The most that are pictured of a block."""
    steps: int
    seed: int

    def sheets(self) -> dict[str, bytes]:
        """A PNG for each block, its networks below each other. Mid-grey is the mean of the training images."""
        with exactly():
            return {f"features-block{place:02}.png": self._sheet(place) for place in self.blocks}

    def _sheet(self, place: int) -> bytes:
        networks = self.blocks[place]
        full = next(iter(networks.values())).layout.blocks[place - 1].outputs
        shown = min(self.channels, full)
        rows = {
            label: (0.5 + self.ascent(network, place, shown) / (2 * SHOWN)).clamp(0, 1).cpu().numpy()
            for label, network in networks.items()
        }
        return sheet(f"Features of block {place}, channels 1 to {shown} of {full}", rows)

    def ascent(self, network: Network, place: int, channels: int) -> Tensor:
        """u (k, c, h, w) of the first k = ``channels`` of a block.

        The start depends on seed and block alone, so that pictures of two networks can be compared.
        """
        generator = torch.Generator().manual_seed(seed_of(self.seed, "convolutional", "pictures", place))
        u = torch.randn((channels, *self.shape), generator=generator).to(self.mean)
        share = 1 - LEFT ** (1 / self.steps)
        which = torch.arange(channels, device=u.device)
        for _ in range(self.steps):
            u.requires_grad_()
            with torch.enable_grad():
                images = (self.mean + self.deviation * u).contiguous(memory_format=torch.channels_last)
                neurons = network.below(images, place).relu().mean(dim=(2, 3))[which, which]
                (gradient,) = torch.autograd.grad(neurons.sum(), u)
            size = gradient.square().mean(dim=(1, 2, 3), keepdim=True).sqrt().clamp_min(1e-12)
            u = (1 - share) * u.detach() + share * gradient / size
        return u.detach()
