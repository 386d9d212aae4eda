"""Stochastic gradient descent: Nesterov momentum, minibatches, and a schedule of the learning rate.

Shapes: n images (n, c, h, w), minibatches of B.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from bfc_plugins.convolutional.architecture import Network
from bfc_plugins.convolutional.attacks import Attack
from bfc_plugins.convolutional.images import augmented
from bfc_plugins.convolutional.losses import Loss
from bfc_plugins.convolutional.options import NET_RATES, SgdOptions
from bfc_plugins.convolutional.stages import Stage
from torch import Generator, Tensor

from bfc_bench.errors import Diverged

RISE, FIRST = 0.3, 1 / 25
"""The one-cycle schedule rises during this fraction of training, from this fraction of the peak rate."""


def one_cycle(progress: float) -> float:
    """The learning rate over its peak, up and down on cosines (Smith and Topin 2019), at a fraction of training."""
    if progress < RISE:
        return FIRST + (1 - FIRST) * (1 - math.cos(math.pi * progress / RISE)) / 2
    return (1 + math.cos(math.pi * (progress - RISE) / (1 - RISE))) / 2


def dropped(progress: float, at: Sequence[float], decay: float) -> float:
    """The learning rate over its peak: constant, but for a drop by the factor ``decay`` after each fraction ``at``."""
    return decay ** sum(progress >= fraction for fraction in at)


@dataclass(frozen=True)
class Pull:
    """The penalty lambda/2 |w - w_a|^2 that holds weights near others (BFC A.5)."""

    strength: float
    """lambda."""
    weights: Sequence[Tensor]
    """Trained weights w."""
    towards: Sequence[Tensor]
    """Reference weights w_a, in the same order."""

    @classmethod
    def between(cls, network: Network, other: Network, blocks: int, strength: float) -> Pull:
        """Pull the convolutions of the first blocks of a network towards those of another."""
        weights, towards = ([*chain(*each.weights(blocks))] for each in (network, other))
        return cls(strength, weights, towards)

    def add_gradient(self) -> None:
        """Add lambda (w - w_a) to the gradient of w."""
        for weight, target in zip(self.weights, self.towards, strict=True):
            assert weight.grad is not None  # the loss depends on every convolution
            weight.grad.add_(weight.detach() - target, alpha=self.strength)


@dataclass(frozen=True)
class Sgd:
    """One training of a stage's network by the options of a learner."""

    learner: SgdOptions
    stage: Stage
    weight_decay: float
    """lambda of lambda/2 |w|^2 over all parameters."""
    loss: Loss
    generator: Generator
    """Draws minibatches, augmentations and attacks."""
    attack: Attack | None = None
    pull: Pull | None = None

    def train(self, network: Network, images: Tensor, numbers: Tensor, start: int = 0) -> float:
        """Train the unfrozen parameters in place, and return the loss of the last minibatch.

        ``images`` (n, c, h, w) are those of points with class ``numbers`` (n,), or outputs of the first ``start``
        blocks.
        """
        learner, generator = self.learner, self.generator
        steps = self.stage.steps(learner.steps_at(len(images)))
        lr = learner.lr or NET_RATES[learner.activation]
        optimizer = torch.optim.SGD(
            [parameter for parameter in network.parameters() if parameter.requires_grad],
            lr=lr,
            momentum=learner.momentum,
            nesterov=learner.momentum > 0,
            weight_decay=self.weight_decay,
            fused=True,
        )
        network.train()
        value = torch.zeros(())
        for step, drawn in enumerate(minibatches(len(images), learner.batch_size, steps, generator)):
            rows = drawn.to(images.device)
            batch, truth = images[rows], numbers[rows]
            if learner.augments:
                batch = augmented(batch, learner, generator)
            if self.attack is not None:
                batch, truth = self.attack.examples(network, batch, truth, self.loss, generator)
            progress, by_steps = step / steps, learner.schedule == "steps"
            rate = dropped(progress, learner.decay_at, learner.decay) if by_steps else one_cycle(progress)
            optimizer.param_groups[0]["lr"] = lr * rate
            optimizer.zero_grad()
            value = self.loss(network(batch, start), truth)
            value.backward()
            if self.pull is not None:
                self.pull.add_gradient()
            optimizer.step()
        network.eval()
        final = float(value.detach())
        if not math.isfinite(final) or not all(bool(p.isfinite().all()) for p in network.state_dict().values()):
            raise Diverged(
                f"{learner.name}: the loss or a weight was not finite after {steps} steps (loss {final:.3g}). "
                "Use a smaller lr."
            )
        return final


def minibatches(n: int, size: int, steps: int, generator: Generator) -> Iterator[Tensor]:
    """Yield the rows of each minibatch. An epoch shuffles all rows and drops those that do not fill a minibatch."""
    size = min(size, n)
    done = 0
    while done < steps:
        order = torch.randperm(n, generator=generator)
        for part in order.split(size)[: min(n // size, steps - done)]:
            yield part
            done += 1
