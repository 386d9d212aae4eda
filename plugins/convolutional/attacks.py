"""Adversarial attacks: projected gradient ascent on images within a ball (Madry et al. 2018; BFC A.1 and A.5).

Shapes: m images (m, c, h, w).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from bfc_plugins.convolutional.losses import Loss
from bfc_plugins.convolutional.options import COPIES
from torch import Generator, Tensor

Scores: TypeAlias = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Attack:
    """Ascent on the loss within a ball around each image.

    ``linf`` starts at a random point and follows the signs of the gradient. ``l2-gauss`` follows normalised gradients
    of the loss of the mean probability over two copies with Gaussian noise (Salman et al. 2019). The step size is 2.5
    radii divided by the number of steps.
    """

    kind: Literal["linf", "l2-gauss"]
    radius: float
    steps: int
    noise: float = 0.0
    """Standard deviation of the noise of ``l2-gauss``, per coordinate."""
    low: float = -math.inf
    """Least pixel value; ``linf`` stays at or above it."""
    high: float = math.inf
    """Largest pixel value; ``linf`` stays at or below it."""

    def examples(
        self, network: torch.nn.Module, images: Tensor, numbers: Tensor, loss: Loss, generator: Generator
    ) -> tuple[Tensor, Tensor]:
        """All copies of attacked images, to train on, with their classes; the network is in training."""
        network.eval()
        copies = self.copies(network, images, numbers, loss, generator)
        network.train()
        return copies.flatten(0, 1).to(memory_format=torch.channels_last), numbers.repeat(len(copies))

    def copies(self, scores: Scores, images: Tensor, numbers: Tensor, loss: Loss, generator: Generator) -> Tensor:
        """Attacked images with their noise, (copies, m, c, h, w); ``l2-gauss`` has two copies of each."""
        noise, shift = self._noise(images, generator), torch.zeros_like(images)
        if self.kind == "linf":
            start = torch.rand(images.shape, generator=generator).to(images) * 2 - 1
            shift = self._inside(images, self.radius * start)
        step = 2.5 * self.radius / self.steps
        for _ in range(self.steps):
            shift.requires_grad_()
            with torch.enable_grad():
                copies = (images + shift + noise).flatten(0, 1)
                values = loss.log_probabilities(scores(copies)).unflatten(0, (len(noise), len(images)))
                mean = values.logsumexp(dim=0)
                total = -mean.gather(1, numbers[:, None]).sum()
                (gradient,) = torch.autograd.grad(total, shift)
            shift = self._inside(images, shift.detach() + step * self._direction(gradient))
        return images + shift + noise

    def _noise(self, images: Tensor, generator: Generator) -> Tensor:
        if self.kind == "linf":
            return torch.zeros_like(images).unsqueeze(0)
        return self.noise * torch.randn((COPIES[self.kind], *images.shape), generator=generator).to(images)

    def _direction(self, gradient: Tensor) -> Tensor:
        if self.kind == "linf":
            return gradient.sign()
        return gradient / _norms(gradient).clamp_min(1e-12)

    def _inside(self, images: Tensor, shift: Tensor) -> Tensor:
        if self.kind == "linf":
            shift = shift.clamp(-self.radius, self.radius)
            return (images + shift).clamp(self.low, self.high) - images
        return shift * (self.radius / _norms(shift).clamp_min(1e-12)).clamp_max(1.0)


def _norms(images: Tensor) -> Tensor:
    """Euclidean norm of each image, (m, 1, 1, 1)."""
    sizes: Tensor = torch.linalg.vector_norm(images, dim=(1, 2, 3), keepdim=True)
    return sizes
