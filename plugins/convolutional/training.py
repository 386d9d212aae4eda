"""Minibatches, and schedules of the learning rate."""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Generator, Tensor

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


def minibatches(n: int, size: int, steps: int, generator: Generator) -> Iterator[Tensor]:
    """Yield the rows of each minibatch. An epoch shuffles all rows and drops those that do not fill a minibatch."""
    size = min(size, n)
    done = 0
    while done < steps:
        order = torch.randperm(n, generator=generator)
        for part in order.split(size)[: min(n // size, steps - done)]:
            yield part
            done += 1
