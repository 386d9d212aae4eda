"""Decides whether ``ranks = "auto"`` keeps the network of full rank, or selects ranks as for noisy labels.

The target is unknown, so that an error may be noise, a target that the network does not contain, or too few steps.

1. With fewer points than a network of low rank has parameters, nothing can be told.
2. With many more points than weights it cannot fit noise, so that labels that it fits up to ``NOISE`` are clean.
3. Networks of low rank are fitted by least squares (``gauss_newton.py``) from its strongest directions. If one of them
   predicts held-out points up to ``NOISE``, labels are clean, and a network that does not fit them had too few steps.
   It is trained from the start with ``LONGER`` times the steps of the default recipe, until it fits them.
4. Otherwise full rank is trained once more, without the held-out points, and from there two low ranks for ``SHARE`` of
   the steps. Full rank fits more of the noise than low ranks, and also more of a target that has no low rank. So ranks
   are selected if one of the low ranks has the least error on held-out points.
5. Otherwise full rank goes on for as many steps as before. If that lowers the error on held-out points to ``GAIN`` of
   what it was, there were too few steps. Shared weights (``share_skips``) are an example, since step 3 fits networks
   that share none.

A fit takes 1 training where one of the first three steps decides, 4 where step 5 keeps full rank, and 4 or 20 more
where there were too few steps.
"""

from dataclasses import replace

import numpy as np
from bfc_plugins.quadratic.gauss_newton import LARGEST, TYPICAL_RANK, Weights, attempts, typical_parameters
from bfc_plugins.quadratic.net import QuadraticNet
from bfc_plugins.quadratic.predictor import QuadraticPredictor
from bfc_plugins.quadratic.ranks import HELD_OUT, Ranks, Train, least, split
from bfc_plugins.quadratic.setup import Setup

from bfc_bench.learner import Failure

NOISE = 1e-5
"""Squared error over the variance of the labels. Training leaves 1e-9 to 1e-6 on clean labels (docs/recipes.md)."""
MANY = 2
"""Number of points per weight with which a network cannot fit noise."""
FEW, PATIENCE = 3, 1
"""Number of points per parameter of a network of low rank, and of slow steps, with which step 3 does without more."""
SHARE = 0.25
"""Steps of step 4 at low ranks, relative to joint training."""
LONGER = (4, 16)
"""Numbers of steps that are tried where the default recipe has too few, relative to it."""
GAIN = 0.9
"""Held-out error after twice the steps, relative to that before, at which there were too few."""
TRAININGS = 4.0
"""Number of trainings that a fit amounts to if full rank is kept, at most."""

FEW_POINTS, CLEAN, TOO_FEW_STEPS, NO_GAIN = "few points", "clean labels", "too few steps", "low ranks are no gain"
"""Why full rank is kept."""


def why_full_rank(setup: Setup, trained: QuadraticPredictor, weights: Weights, given: Train, low_rank: Train) -> str:
    """Why the network of full rank, ``trained``, is kept; empty if ranks should be selected.

    ``weights`` are those of its loss; ``given`` trains at full rank and ``low_rank`` at low ranks, as in step 4.
    """
    n, typical, fitted = len(setup.y), typical_parameters(setup.net), fits(setup, trained)
    if n < max(typical, HELD_OUT):
        return FEW_POINTS
    entries = sum(setup.params[f"W{layer}"].size for layer in setup.net.layers())
    if fitted and (n >= MANY * entries or typical > LARGEST):
        return CLEAN
    part = setup.part(np.arange(n) < FEW * typical)
    if any(attempt.error <= _bound(setup) for attempt in attempts(part, trained, weights, PATIENCE)):
        return CLEAN if fitted else TOO_FEW_STEPS
    most, rest = split(setup)
    (full,) = given([most])
    if isinstance(full, Failure):
        return NO_GAIN
    tried = low_ranks(setup.net)
    outcomes = full, *low_rank([replace(most, params=full.cut(ranks), low_rank=True) for ranks in tried])
    results = zip(((), *tried), outcomes, strict=True)
    squares = {ranks: rest.squared_errors(each) for ranks, each in results if isinstance(each, QuadraticPredictor)}
    if least(squares, ()):
        return ""
    (longer,) = given([replace(most, params=full.params)])
    gained = isinstance(longer, QuadraticPredictor) and (
        rest.squared_errors(longer).mean() <= GAIN * squares[()].mean()
    )
    return TOO_FEW_STEPS if gained else NO_GAIN


def fits(setup: Setup, trained: QuadraticPredictor) -> bool:
    """Whether the network fits its points up to ``NOISE``."""
    return bool(setup.squared_errors(trained).mean() <= _bound(setup))


def _bound(setup: Setup) -> float:
    return NOISE * float(np.var(setup.y))


def low_ranks(net: QuadraticNet) -> list[Ranks]:
    """Half of full rank in each layer, and at most ``TYPICAL_RANK``, without repetitions."""
    half = [min(width, sum(net.fan_ins(layer))) // 2 for layer, width in zip(net.layers(), net.widths, strict=True)]
    return list(dict.fromkeys(tuple(min(most, rank) for rank in half) for most in (TYPICAL_RANK, max(half))))
