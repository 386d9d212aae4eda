"""Features that sequential kernel regression adds to its inputs between rounds.

Shapes: n training points, m points, p inputs of the round, q added features, r functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from bfc_bench.learner import Predictor
from bfc_bench.toolkit.kernels.by_name import make_kernel
from bfc_bench.toolkit.ridge import RidgeCurve

SCALE = 2.0
"""Standard deviation of added features on the training points; that of inputs is about 1."""
RIDGE = 1e-6
"""Ridge of the fit of a quadratic form; a small one, because the values have no noise."""

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


def quadratic_forms(z: Tensor, values: Sequence[Tensor], square_norm: float) -> list[Tensor]:
    """Fit ``constant + b.z + z^T M z`` to each of r functions by least squares of least norm.

    The norm is that of the polynomial kernel ((1 + gamma <z, z'>) / 2)^2, gamma = 1 / ``square_norm``, for which a
    function with weights w_i at z_i has M = (gamma / 2)^2 sum_i w_i z_i z_i^T. All functions share one factorisation.
    ``values`` (n_k,) are those of function k at the first n_k points; the largest n_k is the number of points.
    """
    gamma = 1 / (square_norm or 1.0)
    kernel = make_kernel("poly", gamma, degree=2)
    targets = pad_sequence(list(values))
    sizes = sorted({len(column_values) for column_values in values})
    weights = RidgeCurve(kernel.gram(kernel.points(z), mirror=False)).solve(targets, sizes, RIDGE).weights
    columns = [weights[:, sizes.index(len(column_values)), column, None] for column, column_values in enumerate(values)]
    return [(gamma / 2) ** 2 * (z.T @ (column * z)) for column in columns]


def leading_directions(form: Tensor, count: int) -> Tensor:
    """The ``count`` eigenvectors of largest |eigenvalue| of a symmetric ``form`` (p, p), as columns, largest first."""
    eigenvalues, vectors = torch.linalg.eigh(form)
    directions: Tensor = vectors[:, eigenvalues.abs().argsort(descending=True)[:count]]
    return directions


class Step:
    """Maps the inputs of one round to those of the next, by adding standardised features."""

    def __init__(self, source: Feature, features: Tensor) -> None:
        """Features of mean 0 and standard deviation ``SCALE`` at the points, given ``features`` (n, q) of ``source``
        there; constants become 0.
        """
        self.source = source
        """Features (m, q) of z (m, p)."""
        self.mean = features.mean(0)
        """Means of the features, (q,)."""
        spread = features.std(0, correction=0)
        self.factor = SCALE / torch.where(spread > 0, spread, 1.0)
        """Factors that give the features their standard deviation, (q,)."""

    def __call__(self, z: Tensor) -> Tensor:
        """(m, p + q) at z (m, p)."""
        return self.extend(z, self.source(z))

    def extend(self, z: Tensor, features: Tensor) -> Tensor:
        """The same for features whose values (m, q) are known already."""
        return torch.cat([z, (features - self.mean) * self.factor], dim=1)
