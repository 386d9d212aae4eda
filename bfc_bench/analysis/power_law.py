"""Power-law fits error ~ c + a n^-b of learning curves, with an optional floor c and intervals over replicates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice, product
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
    losses, p = _minimum([log_n], y, known)
    scale = np.exp(np.minimum(p[0], 700.0))
    columns = (values.tolist() for values in (np.exp(p[2]), scale, p[1], losses))
    return [PowerLaw(*values) for values in zip(*columns, strict=True)]


def _minimum(logs: Sequence[np.ndarray], y: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fits of log(sum_j e^(h_j - b_j x_j) + c) to log errors y (K, R), for J axes x_j = ``logs[j]`` (K,).

    Returns the mean losses (R,) and the parameters (2 J + 1, R): h_1, b_1, ..., h_J, b_J, log c, which is -inf if the
    floor is not worth its parameter. ``known`` (K, R) masks the values.
    """
    sizes, weights = _sum(known.astype(float)), known.astype(float)
    centres = [_sum(known * x[:, None]) / sizes for x in logs]
    x = [np.where(known, of[:, None] - centre, 0.0) for of, centre in zip(logs, centres, strict=True)]
    loss_plain, plain = _minimise(x, y, weights, _starts(len(logs), y, known))
    loss_floored, floored = _minimise(x, y, weights, _starts(len(logs), y, known, list(plain[1:-1:2])))
    noise = np.maximum(2 * loss_floored / np.maximum(sizes - len(plain), 1), 1e-12)
    worth = 2 * (loss_plain - loss_floored) / noise > WORTH
    p = np.where(worth, floored, plain)
    for j, centre in enumerate(centres):
        p[2 * j] += p[2 * j + 1] * centre
    return np.where(worth, loss_floored, loss_plain) / sizes, p


def fit_with_floor(logs: Sequence[np.ndarray], y: np.ndarray, near: np.ndarray | None = None) -> np.ndarray:
    """Fits of log(sum_j e^(h_j - b_j x_j) + c), c > 0, to R curves of log errors y, (K, R), without missing values.

    The floor is always fitted; where the errors show none, it is far below them.

    Args:
        logs: Logarithms x_j of J axes, (K,) each.
        y: Log errors, (K, R).
        near: Parameters (2 J + 1,) from which to start; by default the search starts from many exponents.

    Returns:
        Parameters (2 J + 1, R): h_1, b_1, ..., h_J, b_J, log c.
    """
    known = np.ones(y.shape, dtype=bool)
    centres = [float(x.mean()) for x in logs]
    x = [np.repeat(of[:, None] - centre, y.shape[1], axis=1) for of, centre in zip(logs, centres, strict=True)]
    if near is None:
        starts = _starts(len(logs), y, known, ())
    else:
        start = near.copy()
        start[:-1:2] -= start[1:-1:2] * centres
        lower = np.minimum(start[-1], y.min(axis=0) + math.log(FLOORS[0]))
        starts = np.repeat(start[:, None, None], 2, axis=1) * np.ones((1, 1, y.shape[1]))
        starts[-1, 1] = lower
    _, p = _minimise(x, y, known.astype(float), starts)
    for j, centre in enumerate(centres):
        p[2 * j] += p[2 * j + 1] * centre
    return p


def _starts(axes: int, y: np.ndarray, known: np.ndarray, exponents: Sequence[np.ndarray] | None = None) -> np.ndarray:
    """Starting values (2 J + 1, S, R) with equal terms at the centre: all ``EXPONENTS``, without a floor.

    With ``exponents``, J of (R,) or none, these are added, and each start has every floor of ``FLOORS``.
    """
    curves = y.shape[1]
    height = _sum(known * y) / _sum(known.astype(float)) - math.log(axes)
    grid = [tuple(np.full(curves, b) for b in each) for each in product(EXPONENTS, repeat=axes)]
    if exponents is None:
        ends = [(each, np.full(curves, -math.inf)) for each in grid]
    else:
        least = np.where(known, y, math.inf).min(axis=0)
        grid = [tuple(exponents)] * bool(len(exponents)) + grid
        ends = [(each, least + math.log(share)) for each in grid for share in FLOORS]
    rows = [[*chain.from_iterable((height, b) for b in each), log_floor] for each, log_floor in ends]
    return np.array(rows).swapaxes(0, 1)


def _minimise(
    x: Sequence[np.ndarray], y: np.ndarray, known: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise the sum of Huber losses of y - log(sum_j e^(h_j - b_j x_j) + c), for each of R curves y at x_j, (K, R).

    Takes ``FIRST`` steps from all ``starts`` (P, S, R), and continues from the ``BEST`` of them. ``known`` (K, R) is 1
    where there is a value, else 0. Returns the losses (R,) and the parameters (P, R).
    """
    parameters, count, curves = starts.shape
    curve = np.tile(np.arange(curves), count)
    p, costs = starts.reshape(parameters, -1), np.empty(0)
    if count > BEST:
        p, costs = _descend([of[:, curve] for of in x], y[:, curve], known[:, curve], p, FIRST)
        lowest = np.argsort(costs.reshape(count, curves), axis=0, kind="stable")[:BEST]
        p, curve = p[:, (lowest * curves + np.arange(curves)).ravel()], np.tile(np.arange(curves), BEST)
    p, costs = _descend([of[:, curve] for of in x], y[:, curve], known[:, curve], p, STEPS)
    best = costs.reshape(-1, curves).argmin(axis=0)
    chosen = best * curves + np.arange(curves)
    return costs[chosen], p[:, chosen]


def _descend(
    x: Sequence[np.ndarray], y: np.ndarray, known: np.ndarray, p: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Up to ``steps`` Levenberg-Marquardt steps from S starts p (P, S), and the sums of losses there (S,).

    Each start has its own data, (K, S), and stops once it gains no more. After a step without gain, the next one first
    gives residuals beyond ``HUBER`` more curvature (``outer``); only then is its damping raised.
    """
    result, losses = p.copy(), np.empty(p.shape[1])
    left, damping, outer = np.arange(p.shape[1]), np.full(p.shape[1], 1e-2), np.full(p.shape[1], 0.1)
    ended = np.zeros(p.shape[1], dtype=bool)
    residual, shares = _model(p, x, y, known)
    cost = _huber(residual)
    for _ in range(steps):
        tried = p + _step(x, known, residual, shares, damping, outer)
        new_residual, new_shares = _model(tried, x, y, known)
        new_cost = _huber(new_residual)
        better = ~ended & (new_cost < cost)
        ended |= np.where(better, (cost - new_cost <= 1e-12 * cost) & (damping < 1), damping > 1e6)
        for old, new in ((p, tried), (cost, new_cost), (residual, new_residual), (shares, new_shares)):
            np.copyto(old, new, where=better)
        damping = np.clip(damping * np.where(better, 0.25, np.where(outer < 1, 1.0, 4.0)), 1e-9, 1e9)
        outer = np.clip(outer * np.where(better, 0.25, 8.0), 1e-3, 1.0)
        if 4 * ended.sum() > len(left):
            result[:, left], losses[left] = p, cost
            going = np.flatnonzero(~ended)
            if not len(going):
                return result, losses
            left, damping, outer, cost, p = left[going], damping[going], outer[going], cost[going], p[:, going]
            ended, shares = ended[going], shares[:, :, going]
            y, known, residual = (a[:, going] for a in (y, known, residual))
            x = [of[:, going] for of in x]
    result[:, left], losses[left] = p, cost
    return result, losses


def _step(
    x: Sequence[np.ndarray],
    known: np.ndarray,
    residual: np.ndarray,
    shares: np.ndarray,
    damping: np.ndarray,
    outer: np.ndarray,
) -> np.ndarray:
    """The damped step (P, S): the normal equations, scaled to a unit diagonal, solved by a Cholesky factor.

    Residuals beyond ``HUBER``, where the loss is linear, get the share ``outer`` (S,) of the curvature of reweighted
    squares. The full curvature bounds the loss from above and is safe; a small share converges faster.
    """
    size = np.abs(residual)
    curved = known * np.where(size <= HUBER, 1.0, outer * HUBER / np.maximum(size, HUBER))
    slopes = _slopes(x, shares)
    bent = curved * slopes
    count, one = len(slopes), 1 + damping
    scale = [np.sqrt(_sum(bent[i] * slopes[i]) + 1e-12) for i in range(count)]
    pull = _sum((np.clip(residual, -HUBER, HUBER) * slopes).swapaxes(0, 1))
    lower: dict[tuple[int, int], np.ndarray] = {}
    step: list[np.ndarray] = []
    for i in range(count):
        for j in range(i):
            inner = _sum(bent[i] * slopes[j]) / (scale[i] * scale[j])
            lower[i, j] = (inner - sum(lower[i, k] * lower[j, k] for k in range(j))) / lower[j, j]
        lower[i, i] = np.sqrt(np.maximum(one - sum(lower[i, k] ** 2 for k in range(i)), 1e-12))
        step.append((pull[i] / scale[i] - sum(lower[i, k] * step[k] for k in range(i))) / lower[i, i])
    for i in reversed(range(count)):
        step[i] = (step[i] - sum(lower[k, i] * step[k] for k in range(i + 1, count))) / lower[i, i]
    return np.asarray(np.clip(np.array(step) / np.array(scale), -3.0, 3.0))


def _slopes(x: Sequence[np.ndarray], shares: np.ndarray) -> np.ndarray:
    """Derivatives of the model's logarithm by h_1, b_1, ..., h_J, b_J and log c, (P, K, S)."""
    slopes = np.empty((2 * len(x) + 1, *shares.shape[1:]))
    for j, of in enumerate(x):
        slopes[2 * j], slopes[2 * j + 1] = shares[j], -of * shares[j]
    slopes[-1] = shares[-1]
    return slopes


def _model(p: np.ndarray, x: Sequence[np.ndarray], y: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Residuals of the model, (K, S), 0 where nothing is known, and the share of each term in it, (J + 1, K, S)."""
    terms = np.empty((len(x) + 1, *y.shape))
    for j, of in enumerate(x):
        terms[j] = p[2 * j] - p[2 * j + 1] * of
    terms[-1] = p[-1]
    largest = terms.max(axis=0)
    shares = np.exp(terms - largest)
    total = _sum(shares)
    return known * (y - largest - np.log(total)), shares / total


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
