"""Features that sequential kernel regression adds to its inputs between rounds.

Shapes: m points, p inputs of the round, q added features.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from bfc_bench.learner import Predictor

Feature: TypeAlias = Callable[[Tensor], Tensor]
"""Features (m, q) of inputs z (m, p)."""


@dataclass(frozen=True)
class Spectral:
    """The features u.z and (u.z)^2."""

    directions: Tensor
    """(p, r)."""

    def __call__(self, z: Tensor) -> Tensor:
        """(m, 2 r) at z (m, p)."""
        along = z @ self.directions
        return torch.cat([along, along**2], dim=1)


@dataclass(frozen=True)
class Predicted:
    """The feature f(z)."""

    regression: Predictor

    def __call__(self, z: Tensor) -> Tensor:
        """(m, 1) at z (m, p)."""
        values: Tensor = self.regression.predict(z).unsqueeze(1)
        return values


@dataclass(frozen=True)
class Step:
    """Maps the inputs of one round to those of the next, by adding standardised features."""

    sources: tuple[Feature, ...]
    """Functions of z (m, p) that return features (m, q_1), (m, q_2), ...; q in total."""
    mean: Tensor
    """Means of the features, (q,)."""
    factor: Tensor
    """Factors that give the features their standard deviation, (q,)."""

    @classmethod
    def standardised(cls, sources: Sequence[Feature], features: Sequence[Tensor], scale: float) -> Step:
        """The step whose features have mean 0 and standard deviation ``scale`` at some points; constant ones become 0.

        Args:
            sources: the functions that return the features.
            features: their values at the n points, (n, q_1), (n, q_2), ...
            scale: the standard deviation.
        """
        values = torch.cat([*features], dim=1)
        spread = values.std(0, correction=0)
        return cls(tuple(sources), values.mean(0), scale / torch.where(spread > 0, spread, 1.0))

    def __call__(self, z: Tensor) -> Tensor:
        """(m, p + q) at z (m, p)."""
        return self.extend(z, [source(z) for source in self.sources])

    def extend(self, z: Tensor, features: Sequence[Tensor]) -> Tensor:
        """The same for features whose values (m, q_1), (m, q_2), ... are known already."""
        return torch.cat([z, (torch.cat([*features], dim=1) - self.mean) * self.factor], dim=1)
