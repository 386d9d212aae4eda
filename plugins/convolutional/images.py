"""Converts rows of numbers to images for networks, and augments training images.

Shapes: m images of c channels, h x w pixels each, d = c h w.
"""

import torch
from bfc_plugins.convolutional.layout import Shape
from bfc_plugins.convolutional.options import ImageOptions
from torch import Generator, Tensor
from torch.nn.functional import pad


class Pixels:
    """Converts rows to images in float32, with channels last in memory, which is fastest on a CPU."""

    def __init__(self, x: Tensor, shape: Shape, *, normalize: bool) -> None:
        """The conversion for training points x (n, d)."""
        images = x.reshape(-1, *shape).to(torch.float32)
        self.shape = shape
        self.mean = torch.zeros(shape[0], 1, 1, device=x.device)
        """Subtracted from each channel, (c, 1, 1)."""
        self.deviation = torch.ones(shape[0], 1, 1, device=x.device)
        """Divisor of each channel, (c, 1, 1)."""
        if normalize:
            self.mean = images.mean(dim=(0, 2, 3)).reshape(-1, 1, 1)
            spread = images.std(dim=(0, 2, 3), correction=0).reshape(-1, 1, 1)
            self.deviation = torch.where(spread > 0, spread, 1.0)
        self.low, self.high = float(images.min()), float(images.max())
        """Least and largest value of the training images, before scaling."""

    def __call__(self, x: Tensor) -> Tensor:
        """Images (m, c, h, w) of rows x (m, d)."""
        images = (x.reshape(-1, *self.shape).to(self.mean) - self.mean) / self.deviation
        return images.to(memory_format=torch.channels_last)


def augmented(images: Tensor, learner: ImageOptions, generator: Generator) -> Tensor:
    """Crop, flip and cut out (DeVries and Taylor 2017) images (m, c, h, w), each independently, by the options."""
    m, _, height, width = images.shape
    device = images.device

    def draw(most: int) -> Tensor:
        return torch.randint(most, (m, 1), generator=generator).to(device)

    if learner.crop:
        padded = pad(images, (learner.crop,) * 4)
        rows = draw(2 * learner.crop + 1) + torch.arange(height, device=device)
        columns = draw(2 * learner.crop + 1) + torch.arange(width, device=device)
        index = torch.arange(m, device=device)[:, None, None]
        images = padded[index, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
    if learner.flip:
        images = torch.where(draw(2)[:, :, None, None] > 0, images.flip(3), images)
    if learner.cutout:
        rows = (torch.arange(height, device=device) - draw(height) + learner.cutout // 2) % (height + width)
        columns = (torch.arange(width, device=device) - draw(width) + learner.cutout // 2) % (height + width)
        cut = (rows < learner.cutout)[:, None, :, None] & (columns < learner.cutout)[:, None, None, :]
        images = images.masked_fill(cut, 0.0)
    return images.to(memory_format=torch.channels_last)
