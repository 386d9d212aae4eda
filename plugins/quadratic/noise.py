"""Tells from a trained network of full rank whether its labels are noisy.

1. With fewer points than a network of low rank has parameters, nothing can be told, and labels count as clean.
2. Labels that the network does not fit up to ``NOISE`` are noisy, or come from a target that it does not contain.
3. With many more points than weights it cannot fit noise, so that labels that it fits are clean.
4. Otherwise it may have fitted the noise too. Then labels are clean if a network of low rank, fitted from its strongest
   directions by least squares, predicts held-out points up to ``NOISE`` (``gauss_newton.py``). This takes seconds.
"""

from __future__ import annotations

import numpy as np
from bfc_plugins.quadratic.gauss_newton import LARGEST, Weights, attempts, typical_parameters
from bfc_plugins.quadratic.predictor import QuadraticPredictor
from bfc_plugins.quadratic.setup import Setup

NOISE = 1e-5
"""Squared error over the variance of the labels. Training leaves 1e-9 to 1e-6 on clean labels (docs/recipes.md)."""
MANY = 2
"""Number of points per weight with which a network cannot fit noise."""


def is_noisy(setup: Setup, trained: QuadraticPredictor, weights: Weights) -> bool:
    """Whether the labels of a fit are noisy."""
    n, bound, least = len(setup.y), NOISE * float(np.var(setup.y)), typical_parameters(setup.net)
    if n < least:
        return False
    if setup.squared_errors(trained).mean() > bound:
        return True
    entries = sum(setup.params[f"W{layer}"].size for layer in setup.net.layers())
    if n >= MANY * entries or least > LARGEST:
        return False
    return all(attempt.error > bound for attempt in attempts(setup, trained, weights))
