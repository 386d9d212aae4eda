"""Adversarial attacks: projected gradient ascent on images within a ball (Madry et al. 2018; BFC A.1 and A.5).

Shapes: m images (m, c, h, w).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from bfc_plugins.convolutional.losses import Loss
from torch import Generator, Tensor

AttackKind: TypeAlias = Literal["linf", "l2-gauss"]
Scores: TypeAlias = Callable[[Tensor], Tensor]
DRAWS = 2
"""Number of noisy copies of each image for ``l2-gauss``."""


@dataclass(frozen=True)
class Attack:
    """Ascent on the loss within a ball around each image.

    ``linf`` starts at a random point and follows the signs of the gradient. ``l2-gauss`` follows normalised gradients
    of the loss of the mean probability over two copies with Gaussian noise (Salman et al. 2019). The step size is 2.5
    radii divided by the number of steps.
    """

    kind: AttackKind
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
        """Attacked images to train on, with their classes; ``l2-gauss`` has two noisy copies of each, (2 m, ...)."""
        training = network.training
        network.eval()
        noise = self.noise_of(images, generator)
        attacked = images + self.shift(network, images, numbers, loss, noise, generator)
        network.train(training)
        if self.kind == "linf":
            return attacked.to(memory_format=torch.channels_last), numbers
        copies = (attacked + noise).flatten(0, 1).to(memory_format=torch.channels_last)
        return copies, numbers.repeat(DRAWS)

    def shift(
        self, scores: Scores, images: Tensor, numbers: Tensor, loss: Loss, noise: Tensor, generator: Generator
    ) -> Tensor:
        """Perturbation of each image, (m, c, h, w), within the ball, against ``noise`` (copies, m, c, h, w)."""
        shift = torch.zeros_like(images)
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
        return shift

    def noise_of(self, images: Tensor, generator: Generator) -> Tensor:
        """Noise of each copy, (copies, m, c, h, w)."""
        if self.kind == "linf":
            return torch.zeros_like(images).unsqueeze(0)
        return self.noise * torch.randn((DRAWS, *images.shape), generator=generator).to(images)

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
