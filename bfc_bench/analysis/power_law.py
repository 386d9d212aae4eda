"""Curves as error ~ c + a n^-b: the exponent of a decay that may end on a floor, with intervals over replicates."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.intervals import Interval, geometric_mean, t_interval

HUBER = 0.1
"""Residuals of log error beyond it count linearly, not as squares: one bad size does not bend a fit."""
EXPONENTS = (0.25, 0.5, 1.0, 2.0, 4.0)
FLOORS = (1e-3, 0.1, 0.5, 0.9)
"""Starts: every exponent with every share of the least error as the floor c."""
FIRST, BEST = 10, 6
"""Steps from every start, and how many starts of a curve are followed to the end then."""
STEPS = 100
TOGETHER = 256
"""Curves whose arrays stay in the processor's cache."""
MIN_SIZES = 5
"""Fewer measured sizes determine no three parameters with an error."""
WORTH = 6.0
"""By how much twice the Huber loss over its scale must fall for a floor to be believed, else c = 0: Akaike's criterion
would say 2, the small-sample one of 5 to 8 sizes more."""


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """One replicate's error ~ c + a n^-b."""

    floor: float
    """c; 0 where the sizes show none."""
    scale: float
    """a."""
    exponent: float
    """b."""
    loss: float
    """Mean Huber loss of the logarithm of the error."""

    def __call__(self, n: np.ndarray) -> np.ndarray:
        """The error at n, of its shape."""
        return np.asarray(self.floor + self.scale * np.asarray(n, dtype=float) ** -self.exponent)


def fit_power_law(n: np.ndarray, error: np.ndarray) -> PowerLaw | None:
    """``fit_power_laws`` of one replicate's error (K,)."""
    return fit_power_laws(n, np.asarray(error, dtype=float)[None])[0]


def fit_power_laws(n: np.ndarray, errors: np.ndarray) -> list[PowerLaw | None]:
    """Fit c + a n^-b to the positive errors (R, K) at n (K,), R times; None below ``MIN_SIZES`` of them.

    Least Huber loss of log error (Hoffmann et al. 2022), from many starts; c, a > 0 by their logarithms, so that the
    problem has no bounds. c is kept where it is worth its parameter.
    """
    kept = np.isfinite(errors) & (errors > 0)
    found: list[PowerLaw | None] = [None] * len(errors)
    enough = np.flatnonzero(kept.sum(axis=1) >= MIN_SIZES)
    log_n = np.log(np.asarray(n, dtype=float))
    for first in range(0, len(enough), TOGETHER):
        together = enough[first : first + TOGETHER]
        log_errors = np.log(np.where(kept[together], errors[together], 1.0))
        for replicate, fit in zip(together.tolist(), _fits(log_n, log_errors.T, kept[together].T), strict=True):
            found[replicate] = fit
    return found


def _fits(log_n: np.ndarray, y: np.ndarray, known: np.ndarray) -> list[PowerLaw]:
    """The fits of curves y (K, R) at log_n (K,), where they are ``known`` (K, R)."""
    sizes = _sum(known.astype(float))
    centre, mean = _sum(known * log_n[:, None]) / sizes, _sum(known * y) / sizes
    x, weights = np.where(known, log_n[:, None] - centre, 0.0), known.astype(float)
    least, exponents = np.where(known, y, math.inf).min(axis=0), [np.full(len(mean), b) for b in EXPONENTS]
    starts = [(mean, b, np.full(len(mean), -math.inf)) for b in exponents]
    plain, law = _least(x, y, weights, np.array(starts).swapaxes(0, 1))
    starts = [(mean, b, least + math.log(share)) for b in (law[1], *exponents) for share in FLOORS]
    floored, floored_law = _least(x, y, weights, np.array(starts).swapaxes(0, 1))
    noise = np.maximum(2 * floored / np.maximum(sizes - 3, 1), 1e-12)
    worth = 2 * (plain - floored) / noise > WORTH
    losses, (height, b, log_floor) = np.where(worth, floored, plain) / sizes, np.where(worth, floored_law, law)
    scale = np.exp(np.minimum(height + b * centre, 700.0))
    found = (values.tolist() for values in (np.exp(log_floor), scale, b, losses))
    return [PowerLaw(*values) for values in zip(*found, strict=True)]


def _least(x: np.ndarray, y: np.ndarray, known: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least sums (R,) of Huber losses of y - log(e^(p0 - p1 x) + e^p2), and their p (3, R).

    Of each of the curves y at x, (K, R), from its ``starts`` (3, S, R): ``FIRST`` steps from all, and to the end
    from the ``BEST`` that are lowest then. ``known`` (K, R) is 1 where there is a value, else 0.
    """
    _, count, curves = starts.shape
    curve = np.tile(np.arange(curves), count)
    p, costs = starts.reshape(3, -1), np.empty(0)
    if count > BEST:
        p, costs = _descend(x[:, curve], y[:, curve], known[:, curve], p, FIRST)
        lowest = np.argsort(costs.reshape(count, curves), axis=0, kind="stable")[:BEST]
        p, curve = p[:, (lowest * curves + np.arange(curves)).ravel()], np.tile(np.arange(curves), BEST)
    p, costs = _descend(x[:, curve], y[:, curve], known[:, curve], p, STEPS)
    best = costs.reshape(-1, curves).argmin(axis=0)
    here = best * curves + np.arange(curves)
    return costs[here], p[:, here]


def _descend(
    x: np.ndarray, y: np.ndarray, known: np.ndarray, p: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Where so many steps of Levenberg-Marquardt from p (3, S) lead, and the sums of losses there (S,).

    Each start has data of its own, (K, S), and is left alone once it gains no more. A step after one that gained
    nothing is careful before it is short.
    """
    found, losses = p.copy(), np.empty(p.shape[1])
    left, damping, outer = np.arange(p.shape[1]), np.full(p.shape[1], 1e-2), np.full(p.shape[1], 0.1)
    ended = np.zeros(p.shape[1], dtype=bool)
    residual, share = _model(p, x, y, known)
    cost = _huber(residual)
    for _ in range(steps):
        tried = p + _step(x, known, residual, share, damping, outer)
        residual_there, share_there = _model(tried, x, y, known)
        cost_there = _huber(residual_there)
        better = ~ended & (cost_there < cost)
        ended |= np.where(better, (cost - cost_there <= 1e-12 * cost) & (damping < 1), damping > 1e6)
        for old, new in ((p, tried), (cost, cost_there), (residual, residual_there), (share, share_there)):
            np.copyto(old, new, where=better)
        damping = np.clip(damping * np.where(better, 0.25, np.where(outer < 1, 1.0, 4.0)), 1e-9, 1e9)
        outer = np.clip(outer * np.where(better, 0.25, 8.0), 1e-3, 1.0)
        if 4 * ended.sum() > len(left):
            found[:, left], losses[left] = p, cost
            going = np.flatnonzero(~ended)
            if not len(going):
                return found, losses
            left, damping, outer, cost, p = left[going], damping[going], outer[going], cost[going], p[:, going]
            ended = ended[going]
            x, y, known, residual, share = (a[:, going] for a in (x, y, known, residual, share))
    found[:, left], losses[left] = p, cost
    return found, losses


def _step(
    x: np.ndarray, known: np.ndarray, residual: np.ndarray, share: np.ndarray, damping: np.ndarray, outer: np.ndarray
) -> np.ndarray:
    """The damped step (3, S): the normal equations, scaled to a unit diagonal, by Cholesky's factor.

    Residuals beyond ``HUBER``, whose loss is straight, have the share ``outer`` (S,) of the curvature
    of reweighted squares: with all of it these bound the loss from above, with little of it the end is near quickly.
    """
    size = np.abs(residual)
    curved = known * np.where(size <= HUBER, 1.0, outer * HUBER / np.maximum(size, HUBER))
    force = np.clip(residual, -HUBER, HUBER)
    tail = 1 - share
    by_law, both, pull = curved * share, curved * share * tail, force * share
    square = by_law * share
    terms = np.empty((9, *x.shape))
    terms[0], terms[1], terms[2] = square, -x * square, x * x * square
    terms[3], terms[4], terms[5] = both, -x * both, curved * tail * tail
    terms[6], terms[7], terms[8] = pull, -x * pull, force * tail
    a, ab, b, ac, bc, c, *pulls = _sum(terms.swapaxes(0, 1))
    scale = [np.sqrt(diagonal + 1e-12) for diagonal in (a, b, c)]
    one = 1 + damping
    ab, ac, bc = ab / (scale[0] * scale[1]), ac / (scale[0] * scale[2]), bc / (scale[1] * scale[2])
    u, v, w = (pull / along for pull, along in zip(pulls, scale, strict=True))
    first = np.sqrt(one)
    low, lowest = ab / first, ac / first
    second = np.sqrt(np.maximum(one - low**2, 1e-12))
    across = (bc - low * lowest) / second
    third = np.sqrt(np.maximum(one - lowest**2 - across**2, 1e-12))
    u = u / first
    v = (v - low * u) / second
    w = (w - lowest * u - across * v) / third**2
    v = (v - across * w) / second
    u = (u - low * v - lowest * w) / first
    return np.asarray(np.clip(np.array([u, v, w]) / np.array(scale), -3.0, 3.0))


def _model(p: np.ndarray, x: np.ndarray, y: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the model leaves of y, 0 where nothing is known, and the power's share of it, both (K, S)."""
    law = p[0] - p[1] * x
    beyond = law - p[2]
    ratio = np.exp(-np.abs(beyond))
    share = np.where(beyond > 0, 1.0, ratio) / (1 + ratio)
    return known * (y - np.maximum(law, p[2]) - np.log(1 + ratio)), share


def _huber(residual: np.ndarray) -> np.ndarray:
    """Sums of losses (S,) of residuals (K, S)."""
    size = np.abs(residual)
    within = np.minimum(size, HUBER)
    return _sum(within * (size - within / 2))


def _sum(terms: np.ndarray) -> np.ndarray:
    """Over the first axis, one after the other: a curve's sums do not depend on how many are added beside it."""
    total: np.ndarray = terms[0].copy()
    for term in terms[1:]:
        total += term
    return total


@dataclass(frozen=True, slots=True)
class CurveFit:
    """error ~ c + a n^-b of one curve, a fit per replicate and their means."""

    task: str
    d: int
    label: str
    """``LABEL``, or ``LABEL/STAGE`` for an intermediate predictor."""
    metric: str
    n_first: int
    n_last: int
    fits: tuple[PowerLaw, ...]
    """Of the replicates that have enough sizes."""

    @property
    def exponent(self) -> Interval:
        """b, mean over replicates with its t-interval."""
        return t_interval([fit.exponent for fit in self.fits])

    @property
    def floor(self) -> Interval:
        """c, geometric mean over replicates with its t-interval; 0 where the fits of most have none."""
        floors = [fit.floor for fit in self.fits if fit.floor > 0]
        return geometric_mean(floors) if 2 * len(floors) > len(self.fits) else Interval(0.0, math.nan, math.nan, 0)

    def as_dict(self) -> dict[str, Any]:
        """The exponent and the floor with their intervals as a flat record."""
        exponent, floor = self.exponent, self.floor
        return {
            "task": self.task,
            "d": self.d,
            "label": self.label,
            "metric": self.metric,
            "n_first": self.n_first,
            "n_last": self.n_last,
            "exponent": exponent.mean,
            "lo": exponent.lo,
            "hi": exponent.hi,
            "floor": floor.mean,
            "floor_lo": floor.lo,
            "floor_hi": floor.hi,
            "with_floor": sum(fit.floor > 0 for fit in self.fits),
            "replicates": exponent.count,
            "loss": float(np.mean([fit.loss for fit in self.fits])),
        }


def curve_fits(curves: Iterable[Curve]) -> list[CurveFit]:
    """Of each curve of which some replicate has enough sizes. Errors that may be negative follow no power of n.

    Replicates of all curves that are measured at the same sizes are fitted together.
    """
    shown = [curve for curve in curves if curve.scale == "log"]
    fits: dict[int, list[PowerLaw | None]] = {}
    for sizes in dict.fromkeys(tuple(curve.n.tolist()) for curve in shown):
        alike = [i for i, curve in enumerate(shown) if tuple(curve.n.tolist()) == sizes]
        found = iter(fit_power_laws(np.array(sizes), np.exp(np.concatenate([shown[i].log_values for i in alike]))))
        fits |= {i: list(islice(found, len(shown[i].log_values))) for i in alike}
    return [
        CurveFit(curve.task, curve.d, curve.name, curve.metric, int(curve.n[0]), int(curve.n[-1]), kept)
        for i, curve in enumerate(shown)
        if (kept := tuple(fit for fit in fits[i] if fit is not None))
    ]
