"""Stochastic gradient descent: Nesterov momentum, minibatches, and a schedule of the learning rate.

Shapes: n images (n, c, h, w), minibatches of B.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, TypeAlias

import torch
from bfc_plugins.convolutional.architecture import Network
from bfc_plugins.convolutional.attacks import Attack
from bfc_plugins.convolutional.images import augmentation_of
from bfc_plugins.convolutional.losses import Loss
from bfc_plugins.convolutional.options import NET_RATES, SgdOptions
from torch import Generator, Tensor

from bfc_bench.errors import Diverged

ScheduleKind: TypeAlias = Literal["one-cycle", "steps"]
RISE, FIRST = 0.3, 1 / 25
"""The one-cycle schedule rises during this fraction of training, from this fraction of the peak rate."""


@dataclass(frozen=True)
class Schedule:
    """The learning rate during training, divided by its peak."""

    kind: ScheduleKind = "one-cycle"
    """``one-cycle``: up and down on cosines (Smith and Topin 2019); ``steps``: constant between drops."""
    at: tuple[float, ...] = ()
    """Fractions of training after which the rate of ``steps`` drops."""
    decay: float = 0.1
    """Factor of each drop."""

    def __call__(self, progress: float) -> float:
        """The relative rate at a fraction ``progress`` of training, in [0, 1]."""
        if self.kind == "steps":
            return self.decay ** sum(progress >= fraction for fraction in self.at)
        if progress < RISE:
            return FIRST + (1 - FIRST) * (1 - math.cos(math.pi * progress / RISE)) / 2
        return (1 + math.cos(math.pi * (progress - RISE) / (1 - RISE))) / 2


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
    """Stochastic gradient descent by the options of a learner."""

    learner: SgdOptions
    steps: int
    weight_decay: float
    """lambda of lambda/2 |w|^2 over all parameters."""
    attack: Attack | None = None

    def train(
        self,
        network: Network,
        images: Tensor,
        labels: Tensor,
        loss: Loss,
        generator: Generator,
        *,
        start: int = 0,
        pull: Pull | None = None,
    ) -> float:
        """Train the unfrozen parameters in place, and return the loss of the last minibatch.

        ``images`` are (n, c, h, w), or outputs of the first ``start`` blocks.
        """
        learner, augmentation = self.learner, augmentation_of(self.learner)
        schedule = Schedule(learner.schedule, tuple(learner.decay_at), learner.decay)
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
        for step, drawn in enumerate(minibatches(len(images), learner.batch_size, self.steps, generator)):
            rows = drawn.to(images.device)
            batch, truth = images[rows], labels[rows]
            if augmentation:
                batch = augmentation(batch, generator)
            if self.attack is not None:
                batch, truth = self.attack.examples(network, batch, truth, loss, generator)
            optimizer.param_groups[0]["lr"] = lr * schedule(step / self.steps)
            optimizer.zero_grad()
            value = loss(network(batch, start), truth)
            value.backward()
            if pull is not None:
                pull.add_gradient()
            optimizer.step()
        network.eval()
        final = float(value.detach())
        if not math.isfinite(final) or not all(bool(p.isfinite().all()) for p in network.state_dict().values()):
            raise Diverged(
                f"the loss or a weight was not finite after {self.steps} steps (loss {final:.3g}). Use a smaller lr."
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
