"""Selects ranks of a quadratic DenseNet by the error on held-out points, for noisy labels.

Each W_l gets a rank k_l <= m_l. The caller passes the functions that train: jointly, grown or layer by layer.

1. Every fourth point is held out. On the others the network is trained with a square loss plus ``PENALTY`` times the
   mean of F - constant, the nuclear norm of alpha_l W_l^T W_l in the norm of the data, which concentrates a layer in
   few directions. This is done with the caller's training and also layer by layer, because all layers together fit much
   noise before the lowest has found its directions. The better network is the start of step 2.
2. At ranks (k_2..k_L) each W_l starts as its k_l strongest directions there, and is trained as a product of two factors
   without the penalty (``low_rank.py``), with ``STEPS`` times the steps and ``RATE`` times the rate of joint training.
3. Ranks are chosen layer by layer, the lowest first with those above at rank ``ABOVE``, and then once more among
   neighbouring ranks. All ranks 0 are a constant. The network of full rank, trained as usual, competes.
4. The best network is trained on all points: from its current weights, or from the start if it has full rank.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeAlias

import numpy as np
from bfc_plugins.quadratic.predictor import QuadraticPredictor
from bfc_plugins.quadratic.setup import Setup

from bfc_bench.learner import Failure

Outcome: TypeAlias = QuadraticPredictor | Failure
Train: TypeAlias = Callable[[Sequence[Setup]], Sequence[Outcome]]
"""Trains each setup."""
Ranks: TypeAlias = tuple[int, ...]
"""k_2..k_L; () is the network of full rank."""

HELD_OUT = 4
"""One point in this many is held out."""
PENALTY = 0.03
"""Strength of the penalty in step 1, for labels in units of their spread."""
STEPS, RATE = 0.5, 0.3
"""Steps and learning rate of low-rank training, relative to joint training."""
ABOVE = 2
"""Rank of a layer before its turn."""
GRID = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Ranks that are tried in a layer's first turn, up to half its width or ``NARROW``, whichever is larger."""
NARROW = 4
NEIGHBOURS = (-2, -1, 1, 2)
"""Changes of a rank that are tried in a layer's second turn."""
ROBUST = 4.0
"""Bound on an error at a held-out point, in root mean squares of the best network's; heavy tails would decide."""


def with_selected_ranks(setup: Setup, *, given: Train, penalised: Train, low_rank: Train) -> Outcome:
    """The network with the least error on held-out points, trained on all points.

    ``given`` trains it at full rank, ``penalised`` and ``low_rank`` as in steps 1 and 2.
    """
    most, rest = split(setup)
    tried: dict[Ranks, QuadraticPredictor] = {}
    squares: dict[Ranks, np.ndarray] = {}

    def attempt(train: Train, setups: Mapping[Ranks, Setup]) -> None:
        outcomes = train([*setups.values()]) if setups else ()
        for ranks, outcome in zip(setups, outcomes, strict=True):
            if isinstance(outcome, QuadraticPredictor):
                tried[ranks], squares[ranks] = outcome, rest.squared_errors(outcome)

    over_parameterised = replace(most, penalty=PENALTY)
    starts = [*penalised([over_parameterised]), layer_by_layer(over_parameterised, penalised)]
    trained = [start for start in starts if isinstance(start, QuadraticPredictor)]
    ranks: Ranks = (ABOVE,) * len(setup.net.widths)
    if trained:
        start = min(trained, key=lambda predictor: rest.squared_errors(predictor).mean())
        for again, index in product((False, True), range(len(ranks))):
            new = [each for each in in_turn(ranks, index, setup.net.widths[index], again) if each not in tried]
            attempt(low_rank, {each: replace(most, params=start.cut(each), low_rank=True) for each in new})
            ranks = least(squares, ranks)
    attempt(given, {(): most})
    chosen = least(squares, ())
    (final,) = low_rank([replace(setup, params=tried[chosen].params, low_rank=True)]) if chosen else given([setup])
    if isinstance(final, QuadraticPredictor):
        named = {f"k{layer}": rank for layer, rank in zip(setup.net.layers(), chosen, strict=False)}
        final.info = {**final.info, "ranks": named or "given"}
    return final


def split(setup: Setup) -> tuple[Setup, Setup]:
    """The fit without the held-out points, and on them."""
    held_out = np.arange(len(setup.y)) % HELD_OUT == HELD_OUT - 1
    return setup.part(~held_out), setup.part(held_out)


def layer_by_layer(setup: Setup, train: Train) -> Outcome:
    """Train one layer after another, each alone and with the layers above it zero."""
    weights = [f"W{layer}" for layer in setup.net.layers()]
    params = {**setup.params, **{key: np.zeros_like(setup.params[key]) for key in weights}}
    for key in weights:
        params[key] = setup.params[key]
        rates = {**setup.rates, **{other: 0.0 for other in weights if other != key}}
        (outcome,) = train([replace(setup, params=params, rates=rates)])
        if isinstance(outcome, Failure):
            break
        params = outcome.params
    return outcome


def in_turn(ranks: Ranks, index: int, width: int, again: bool) -> list[Ranks]:
    """The ranks to try in the turn of layer ``index``, counted from 0; ``again`` if it is its second."""
    if again:
        values = [rank for step in NEIGHBOURS if 0 <= (rank := ranks[index] + step) <= width]
    else:
        values = [rank for rank in GRID if rank <= max(width // 2, min(width, NARROW))]
    return [(*ranks[:index], rank, *ranks[index + 1 :]) for rank in values]


def least(squares: Mapping[Ranks, np.ndarray], default: Ranks) -> Ranks:
    """The ranks with the least mean of squared errors (m,), bounded as ``ROBUST`` says; ``default`` without errors."""
    if not squares:
        return default
    bound = ROBUST**2 * min(float(errors.mean()) for errors in squares.values())
    return min(squares, key=lambda ranks: (np.minimum(squares[ranks], bound).mean(), squares[ranks].mean()))


def trainings(widths: Sequence[int]) -> tuple[float, int]:
    """Number of trainings that a fit amounts to, and number of networks trained together, both at most."""
    tried = [len(in_turn((ABOVE,), 0, width, again)) for width in widths for again in (False, True)]
    return 3.0 + len(widths) + STEPS * sum(tried), max(tried)
