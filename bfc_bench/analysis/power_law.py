"""Power-law fits error ~ c + a n^-b of learning curves, with an optional floor c and intervals over replicates."""

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
"""Larger residuals of log error count linearly instead of squared, so that one bad size does not bend a fit."""
EXPONENTS = (0.25, 0.5, 1.0, 2.0, 4.0)
FLOORS = (1e-3, 0.1, 0.5, 0.9)
"""Starting values: every exponent with every share of the smallest error as the floor c."""
FIRST, BEST = 10, 6
"""Steps from every start, and the number of starts of a curve that continue after them."""
STEPS = 100
"""Maximum number of further steps."""
TOGETHER = 256
"""Number of curves fitted at once, whose arrays fit into the processor's cache."""
MIN_SIZES = 5
"""With fewer sizes, three parameters leave too few degrees of freedom."""
WORTH = 6.0
"""By how much a floor must lower twice the Huber loss over its scale; otherwise c = 0. Akaike's criterion would say 2,
its small-sample form at 5 to 8 sizes more."""


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """One replicate's error ~ c + a n^-b."""

    floor: float
    """c; 0 if the sizes show no floor."""
    scale: float
    """a."""
    exponent: float
    """b."""
    loss: float
    """Mean Huber loss of the logarithm of the error."""

    def __call__(self, n: np.ndarray) -> np.ndarray:
        """The error at n, of its shape."""
        return np.asarray(self.floor + self.scale * np.asarray(n, dtype=float) ** -self.exponent)


def fit_power_laws(n: np.ndarray, errors: np.ndarray) -> list[PowerLaw | None]:
    """Fit c + a n^-b to errors (R, K) at n (K,), for each of R replicates; None for fewer than ``MIN_SIZES`` values.

    Only positive errors count. The fit minimises the Huber loss of log error (Hoffmann et al. 2022) from many starts.
    Its parameters are the logarithms of c and a, so that the problem has no bounds. c is kept if it is worth its
    parameter (``WORTH``).
    """
    kept = np.isfinite(errors) & (errors > 0)
    fits: list[PowerLaw | None] = [None] * len(errors)
    enough = np.flatnonzero(kept.sum(axis=1) >= MIN_SIZES)
    log_n = np.log(np.asarray(n, dtype=float))
    for first in range(0, len(enough), TOGETHER):
        together = enough[first : first + TOGETHER]
        log_errors = np.log(np.where(kept[together], errors[together], 1.0))
        for replicate, fit in zip(together.tolist(), _fits(log_n, log_errors.T, kept[together].T), strict=True):
            fits[replicate] = fit
    return fits


def _fits(log_n: np.ndarray, y: np.ndarray, known: np.ndarray) -> list[PowerLaw]:
    """Fits of R curves of log errors y (K, R) at log_n (K,); ``known`` (K, R) masks the values."""
    sizes = _sum(known.astype(float))
    centre, mean = _sum(known * log_n[:, None]) / sizes, _sum(known * y) / sizes
    x, weights = np.where(known, log_n[:, None] - centre, 0.0), known.astype(float)
    least, exponents = np.where(known, y, math.inf).min(axis=0), [np.full(len(mean), b) for b in EXPONENTS]
    starts = [(mean, b, np.full(len(mean), -math.inf)) for b in exponents]
    loss_plain, plain_law = _minimise(x, y, weights, np.array(starts).swapaxes(0, 1))
    starts = [(mean, b, least + math.log(share)) for b in (plain_law[1], *exponents) for share in FLOORS]
    loss_floored, floored_law = _minimise(x, y, weights, np.array(starts).swapaxes(0, 1))
    noise = np.maximum(2 * loss_floored / np.maximum(sizes - 3, 1), 1e-12)
    worth = 2 * (loss_plain - loss_floored) / noise > WORTH
    losses = np.where(worth, loss_floored, loss_plain) / sizes
    height, b, log_floor = np.where(worth, floored_law, plain_law)
    scale = np.exp(np.minimum(height + b * centre, 700.0))
    columns = (values.tolist() for values in (np.exp(log_floor), scale, b, losses))
    return [PowerLaw(*values) for values in zip(*columns, strict=True)]


def _minimise(x: np.ndarray, y: np.ndarray, known: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Minimise the sum of Huber losses of y - log(e^(p0 - p1 x) + e^p2) over p, for each of R curves y at x, (K, R).

    Takes ``FIRST`` steps from all ``starts`` (3, S, R), and continues from the ``BEST`` of them. ``known`` (K, R) is 1
    where there is a value, else 0. Returns the losses (R,) and p (3, R).
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
    chosen = best * curves + np.arange(curves)
    return costs[chosen], p[:, chosen]


def _descend(
    x: np.ndarray, y: np.ndarray, known: np.ndarray, p: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Up to ``steps`` Levenberg-Marquardt steps from S starts p (3, S), and the sums of losses there (S,).

    Each start has its own data, (K, S), and stops once it gains no more. After a step without gain, the next one first
    gives residuals beyond ``HUBER`` more curvature (``outer``); only then is its damping raised.
    """
    result, losses = p.copy(), np.empty(p.shape[1])
    left, damping, outer = np.arange(p.shape[1]), np.full(p.shape[1], 1e-2), np.full(p.shape[1], 0.1)
    ended = np.zeros(p.shape[1], dtype=bool)
    residual, share = _model(p, x, y, known)
    cost = _huber(residual)
    for _ in range(steps):
        tried = p + _step(x, known, residual, share, damping, outer)
        new_residual, new_share = _model(tried, x, y, known)
        new_cost = _huber(new_residual)
        better = ~ended & (new_cost < cost)
        ended |= np.where(better, (cost - new_cost <= 1e-12 * cost) & (damping < 1), damping > 1e6)
        for old, new in ((p, tried), (cost, new_cost), (residual, new_residual), (share, new_share)):
            np.copyto(old, new, where=better)
        damping = np.clip(damping * np.where(better, 0.25, np.where(outer < 1, 1.0, 4.0)), 1e-9, 1e9)
        outer = np.clip(outer * np.where(better, 0.25, 8.0), 1e-3, 1.0)
        if 4 * ended.sum() > len(left):
            result[:, left], losses[left] = p, cost
            going = np.flatnonzero(~ended)
            if not len(going):
                return result, losses
            left, damping, outer, cost, p = left[going], damping[going], outer[going], cost[going], p[:, going]
            ended = ended[going]
            x, y, known, residual, share = (a[:, going] for a in (x, y, known, residual, share))
    result[:, left], losses[left] = p, cost
    return result, losses


def _step(
    x: np.ndarray, known: np.ndarray, residual: np.ndarray, share: np.ndarray, damping: np.ndarray, outer: np.ndarray
) -> np.ndarray:
    """The damped step (3, S): the normal equations, scaled to a unit diagonal, solved by a Cholesky factor.

    Residuals beyond ``HUBER``, where the loss is linear, get the share ``outer`` (S,) of the curvature of reweighted
    squares. The full curvature bounds the loss from above and is safe; a small share converges faster.
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
    """Residuals of the model, 0 where nothing is known, and the power law's share of the model, both (K, S)."""
    law = p[0] - p[1] * x
    beyond = law - p[2]
    ratio = np.exp(-np.abs(beyond))
    share = np.where(beyond > 0, 1.0, ratio) / (1 + ratio)
    return known * (y - np.maximum(law, p[2]) - np.log(1 + ratio)), share


def _huber(residual: np.ndarray) -> np.ndarray:
    """Sums (S,) of Huber losses of residuals (K, S)."""
    size = np.abs(residual)
    within = np.minimum(size, HUBER)
    return _sum(within * (size - within / 2))


def _sum(terms: np.ndarray) -> np.ndarray:
    """Sum over the first axis in a fixed order, so that a curve's sum does not depend on the number of other curves."""
    total: np.ndarray = terms[0].copy()
    for term in terms[1:]:
        total += term
    return total


@dataclass(frozen=True, slots=True)
class CurveFit:
    """Fits error ~ c + a n^-b of one curve, one per replicate, and their means."""

    task: str
    d: int
    label: str
    """``LABEL``, or ``LABEL/STAGE`` for an intermediate predictor."""
    metric: str
    n_first: int
    n_last: int
    fits: tuple[PowerLaw, ...]
    """Fits of the replicates that have enough sizes."""

    @property
    def exponent(self) -> Interval:
        """Mean of b over replicates with its t-interval."""
        return t_interval([fit.exponent for fit in self.fits])

    @property
    def floor(self) -> Interval:
        """Geometric mean of c over replicates with its t-interval; 0 unless most fits have a floor."""
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
    """The fit of each curve with a replicate that has enough sizes; errors that may be negative follow no power of n.

    Curves with the same sizes are fitted together.
    """
    shown = [curve for curve in curves if curve.scale == "log"]
    fits: dict[int, list[PowerLaw | None]] = {}
    for sizes in dict.fromkeys(tuple(curve.n.tolist()) for curve in shown):
        alike = [i for i, curve in enumerate(shown) if tuple(curve.n.tolist()) == sizes]
        in_order = iter(fit_power_laws(np.array(sizes), np.exp(np.concatenate([shown[i].log_values for i in alike]))))
        fits |= {i: list(islice(in_order, len(shown[i].log_values))) for i in alike}
    return [
        CurveFit(curve.task, curve.d, curve.name, curve.metric, int(curve.n[0]), int(curve.n[-1]), kept)
        for i, curve in enumerate(shown)
        if (kept := tuple(fit for fit in fits[i] if fit is not None))
    ]
