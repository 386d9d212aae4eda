"""What is minimised: the cross entropy of two classes, or of many.

Shapes: m points, scores (m, C), or (m, 1) of two classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax, logsigmoid


@dataclass(frozen=True)
class Loss:
    """The mean cross entropy of scores."""

    classes: int
    """C, or 0 for labels -1 and +1."""

    @property
    def outputs(self) -> int:
        """Scores that a network gives at a point."""
        return self.classes or 1

    def encode(self, y: Tensor) -> Tensor:
        """Numbers (m,) of classes, of labels (m,) as learners are given them."""
        return y.to(torch.int64) if self.classes else (y > 0).to(torch.int64)

    def __call__(self, scores: Tensor, numbers: Tensor) -> Tensor:
        """The mean over points; ``numbers`` (m,) of their classes."""
        if self.classes:
            return cross_entropy(scores, numbers)
        return -logsigmoid(scores[:, 0] * (2 * numbers - 1)).mean()

    def log_probabilities(self, scores: Tensor) -> Tensor:
        """(m, C), or (m, 2) of two classes, the second being +1."""
        if self.classes:
            return log_softmax(scores, dim=1)
        return torch.cat([logsigmoid(-scores), logsigmoid(scores)], dim=1)

    def predictions(self, scores: Tensor) -> Tensor:
        """Scores as a learner gives them: (m, C), or (m,)."""
        return scores if self.classes else scores[:, 0]
