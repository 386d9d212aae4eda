"""Features that sequential kernel regression adds to its inputs between rounds.

Shapes: m points, p inputs of the round, q added features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from bfc_bench.learner import Predictor

SCALE = 2.0
"""Standard deviation of added features on the training points; that of inputs is about 1."""

Feature: TypeAlias = Callable[[Tensor], Tensor]
"""Features (m, q) of inputs z (m, p)."""


def spectral(z: Tensor, directions: Tensor) -> Tensor:
    """The features u.z and (u.z)^2, (m, 2 r), at z (m, p), of the columns u of ``directions`` (p, r)."""
    along = z @ directions
    return torch.cat([along, along**2], dim=1)


def predicted(z: Tensor, regression: Predictor) -> Tensor:
    """The feature f(z), (m, 1), at z (m, p), of a ``regression`` f."""
    values: Tensor = regression.predict(z).unsqueeze(1)
    return values


@dataclass(frozen=True)
class Step:
    """Maps the inputs of one round to those of the next, by adding standardised features."""

    source: Feature
    """Features (m, q) of z (m, p)."""
    mean: Tensor
    """Means of the features, (q,)."""
    factor: Tensor
    """Factors that give the features their standard deviation, (q,)."""

    @classmethod
    def standardised(cls, source: Feature, features: Tensor) -> Step:
        """The step whose features have mean 0 and standard deviation ``SCALE`` at the points; constants become 0."""
        spread = features.std(0, correction=0)
        return cls(source, features.mean(0), SCALE / torch.where(spread > 0, spread, 1.0))

    def __call__(self, z: Tensor) -> Tensor:
        """(m, p + q) at z (m, p)."""
        return self.extend(z, self.source(z))

    def extend(self, z: Tensor, features: Tensor) -> Tensor:
        """The same for features whose values (m, q) are known already."""
        return torch.cat([z, (features - self.mean) * self.factor], dim=1)
