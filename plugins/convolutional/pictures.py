"""Pictures of features: images that maximise a channel of a block, by gradient ascent (BFC A.1, figures 1 to 4).

Shapes: k channels with one image each, (k, c, h, w).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import torch
from bfc_plugins.convolutional.architecture import Network
from bfc_plugins.convolutional.layout import Shape
from torch import Tensor

from bfc_bench.seeds import seed_of
from bfc_bench.toolkit.pictures import sheet

Rows: TypeAlias = Mapping[int, Mapping[str, Network]]
"""For each block, counted from 1, the networks to picture by their labels."""
LEFT = math.exp(-6)
"""Fraction of the random start left after all steps, as after the paper's 2000 steps with a weight decay of .003."""
SHOWN = 2.5
"""Standard deviations from the mean of the training images at which a picture is black or white."""


@dataclass(frozen=True)
class Pictures:
    """Settings of the pictures of a fit.

    A picture maximises a neuron: the positive part of a channel, averaged over the image, which is what a head reads.
    The image is x = mean + deviation u, with mean and deviation by channel of the training images, and u starts from
    N(0, 1). A step is u <- (1 - a) u + a g/|g|, g the neuron's gradient and |g| its root mean square. So u stays
    bounded and, apart from the kinks of ReLUs, converges to where it is parallel to the gradient. The picture of a
    neuron that is 0 at the start is grey.
    """

    blocks: Rows
    mean: Tensor
    """Mean of the training images by channel, as networks read them, (1, c, 1, 1)."""
    deviation: Tensor
    """Their standard deviation, (1, c, 1, 1)."""
    shape: Shape
    channels: int
    """Largest number of channels to picture per block."""
    steps: int
    seed: int

    def sheets(self) -> dict[str, bytes]:
        """A PNG for each block, with one row per network. Mid-grey is the mean of the training images."""
        return {f"features-block{place:02}.png": self._sheet(place) for place in self.blocks}

    def _sheet(self, place: int) -> bytes:
        networks = self.blocks[place]
        full = next(iter(networks.values())).layout.blocks[place - 1].outputs
        count = min(self.channels, full)
        rows = {
            label: (0.5 + self.ascent(network, place, count) / (2 * SHOWN)).clamp(0, 1).cpu().numpy()
            for label, network in networks.items()
        }
        return sheet(f"Features of block {place}, channels 1 to {count} of {full}", rows)

    def ascent(self, network: Network, place: int, channels: int) -> Tensor:
        """u (k, c, h, w) after all steps, for the first k channels of block ``place``, counted from 1.

        The start depends only on seed and block, so that networks can be compared.
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
