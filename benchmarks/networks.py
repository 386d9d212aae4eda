"""Ensembles of quadratic DenseNets of several sizes, trained by this project's engine or by the eager loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from bfc_plugins.quadratic.net import QuadraticNet
from bfc_plugins.quadratic.skips import default_skips

from benchmarks import eager
from bfc_bench.seeds import stream
from bfc_bench.toolkit.ensemble import Member, Recipe, train, weighted_square_loss

EAGER = "eager PyTorch loop"


@dataclass(frozen=True)
class Size:
    """A network with ``depth`` trained layers of one width, which learns a small teacher in d dimensions."""

    name: str
    d: int
    width: int
    depth: int
    batch_size: int
    points: int = 1000

    @cached_property
    def net(self) -> QuadraticNet:
        """The network."""
        return QuadraticNet(self.d, (self.width,) * self.depth, default_skips(self.depth + 1))

    def __str__(self) -> str:
        megaflops = 3 * self.net.flops() * self.batch_size / 1e6  # a backward pass costs two forward ones
        shape = f"d={self.d}, {self.depth} layers of width {self.width}, batch {self.batch_size}"
        return f"{shape}, {megaflops:.2g} MFLOP a step"

    def members(self, count: int) -> list[Member]:
        """Models, each with its own teacher, data and initial parameters."""
        return [self._member(seed) for seed in range(count)]

    def _member(self, seed: int) -> Member:
        rng = stream(seed, "benchmarks", self.name)
        x = rng.uniform(-math.sqrt(3), math.sqrt(3), (self.points, self.d))
        teacher = QuadraticNet(self.d, (2,) * self.depth, self.net.skips)
        pre, _ = teacher.forward(teacher.init(rng, (1.0,) * self.depth, np.ones(self.d)), x.T)
        y = sum(0.5**index * (s**2).sum(0) for index, s in enumerate(pre.values()))
        params = self.net.init(rng, (0.6,) * self.depth, np.ones(self.d))
        rates = {name: float(name != "square_mean") for name in params}
        return Member(params, x, y / np.quantile(np.abs(y - np.median(y)), 0.9), seed, lr=3e-3, multipliers=rates)

    def compiled(self, members: Sequence[Member], steps: int, device: str = "cpu") -> list[float]:
        """Final losses after training with this project's engine."""
        recipe = Recipe(self.net, self.batch_size, weighted_square_loss)
        return [model.loss for model in train(recipe, members, steps, device=device)]

    def eager(self, members: Sequence[Member], steps: int, device: str = "cpu") -> list[float]:
        """Final losses after training with the plain PyTorch loop."""
        return [eager.train(self.net, member, steps, self.batch_size, device) for member in members]


SAME_LOSS = 4
"""Accepted factor between losses: minibatches differ, and near zero models may end a factor of 2 apart by chance."""

TINY = Size("XS", d=10, width=16, depth=2, batch_size=32)
SMALL = Size("S", d=10, width=50, depth=2, batch_size=100)
MEDIUM = Size("M", d=30, width=100, depth=3, batch_size=256)
LARGE = Size("L", d=100, width=200, depth=3, batch_size=512)


def same_loss(ours: float, theirs: float) -> str:
    """The two losses as a note. Raises ``RuntimeError`` if they differ too much to come from the same work."""
    if not 1 / SAME_LOSS < ours / theirs < SAME_LOSS:
        raise RuntimeError(
            f"final losses must be within a factor of {SAME_LOSS} of each other. Got {ours:.3g} and {theirs:.3g}."
        )
    return f"final loss {ours:.3g}, the opponent's {theirs:.3g}"


def geometric_mean(losses: Sequence[float]) -> float:
    """Their geometric mean."""
    return float(np.exp(np.mean(np.log(losses))))
