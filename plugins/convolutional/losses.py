"""The cross entropy of two or more classes.

Shapes: m points, scores (m, C), or (m, 1) for two classes.
"""

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
        """Number of scores per point."""
        return self.classes or 1

    def encode(self, y: Tensor) -> Tensor:
        """Class numbers (m,) of labels (m,)."""
        return y.to(torch.int64) if self.classes else (y > 0).to(torch.int64)

    def __call__(self, scores: Tensor, numbers: Tensor) -> Tensor:
        """Mean over points, with class numbers (m,)."""
        if self.classes:
            return cross_entropy(scores, numbers)
        return -logsigmoid(scores[:, 0] * (2 * numbers - 1)).mean()

    def log_probabilities(self, scores: Tensor) -> Tensor:
        """Log-probabilities (m, C), or (m, 2) of -1 and +1."""
        if self.classes:
            return log_softmax(scores, dim=1)
        return torch.cat([logsigmoid(-scores), logsigmoid(scores)], dim=1)

    def predictions(self, scores: Tensor) -> Tensor:
        """Scores in the shape of a learner's predictions: (m, C), or (m,)."""
        return scores if self.classes else scores[:, 0]
