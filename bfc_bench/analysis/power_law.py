"""Curves as error ~ c + a n^-b: the exponent of a decay that may end on a floor, with intervals over replicates."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.intervals import Interval, geometric_mean, t_interval

HUBER = 0.1
"""Residuals of log error beyond it count linearly, not as squares: one bad size does not bend a fit."""
EXPONENTS = (0.25, 0.5, 1.0, 2.0, 4.0)
FLOORS = (1e-3, 0.1, 0.5, 0.9)
"""Starts: every exponent with every share of the least error as the floor c."""
STEPS = 100
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
    for sizes in np.unique(kept, axis=0):
        if sizes.sum() >= MIN_SIZES:
            alike = np.flatnonzero((kept == sizes).all(axis=1))
            log_n = np.log(np.asarray(n, dtype=float)[sizes])
            fits = _fits(log_n, np.log(np.ascontiguousarray(errors[alike][:, sizes])))
            for replicate, fit in zip(alike.tolist(), fits, strict=True):
                found[replicate] = fit
    return found


def _fits(log_n: np.ndarray, log_errors: np.ndarray) -> list[PowerLaw]:
    """The fits of curves (R, K) that are measured at the same sizes (K,)."""
    centre, means, least = float(log_n.mean()), log_errors.mean(axis=1), log_errors.min(axis=1)
    starts = np.array([[(mean, b) for b in EXPONENTS] for mean in means])
    plain = _least(log_n - centre, log_errors, starts)
    starts = np.array(
        [
            [(mean, b, low + math.log(share)) for b in (slope, *EXPONENTS) for share in FLOORS]
            for mean, slope, low in zip(means, plain[1][:, 1], least, strict=True)
        ]
    )
    floored = _least(log_n - centre, log_errors, starts)
    fits = []
    for i in range(len(log_errors)):
        noise = max(2 * floored[0][i] / max(len(log_n) - 3, 1), 1e-12)
        losses, laws = floored if 2 * (plain[0][i] - floored[0][i]) / noise > WORTH else plain
        loss, law = float(losses[i]), laws[i]
        floor = math.exp(law[2]) if len(law) > 2 else 0.0
        scale = math.exp(min(law[0] + law[1] * centre, 700.0))
        fits.append(PowerLaw(floor, scale, float(law[1]), loss / len(log_n)))
    return fits


def _least(x: np.ndarray, y: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least sums (R,) of Huber losses of y - log(e^(p0 - p1 x) [+ e^p2]), and their p (R, P).

    Of each of the curves y (R, K) at x (K,), from its ``starts`` (R, S, P). Levenberg-Marquardt on reweighted squares,
    all starts of all curves at once; a curve is done when none of its starts gains any more.
    """
    curves, count, parameters = starts.shape
    losses, found = np.empty(curves), np.empty((curves, parameters))
    left = np.arange(curves)
    p, y = starts.astype(float).reshape(-1, parameters), np.repeat(y, count, axis=0)
    damping = np.full((len(p), 1), 1e-2)
    residuals, slopes = _model(p, x, y)
    cost = _huber(residuals)

    def note(which: np.ndarray) -> None:
        costs = cost.reshape(-1, count)[which]
        best = costs.argmin(axis=1)
        here = np.arange(len(best))
        losses[left[which]] = costs[here, best]
        found[left[which]] = p.reshape(-1, count, parameters)[which][here, best]

    for _ in range(STEPS):
        weighted = slopes * np.minimum(1.0, HUBER / np.maximum(np.abs(residuals), 1e-300))[..., None]
        square, pull = weighted.swapaxes(1, 2) @ slopes, np.einsum("skp,sk->sp", weighted, residuals)
        scale = np.einsum("spp->sp", square) + 1e-12
        step = np.linalg.solve(square + (damping * scale)[:, None] * np.eye(parameters), pull[..., None])[..., 0]
        tried = p + np.clip(step, -3.0, 3.0)
        residuals_there, slopes_there = _model(tried, x, y)
        cost_there = _huber(residuals_there)
        better = cost_there < cost
        gain = np.where(better, cost - cost_there, -math.inf).reshape(-1, count).max(axis=1)
        caution = np.where(better, damping[:, 0], -math.inf).reshape(-1, count).max(axis=1)
        done = better.reshape(-1, count).any(axis=1) & (gain < 1e-9) & (caution < 1)
        if done.any():
            note(done)
            left, going = left[~done], np.repeat(~done, count)
            if not len(left):
                return losses, found
            p, y, damping, cost, better, tried = (a[going] for a in (p, y, damping, cost, better, tried))
            residuals, slopes = residuals[going], slopes[going]
            residuals_there, slopes_there, cost_there = residuals_there[going], slopes_there[going], cost_there[going]
        p[better], cost[better] = tried[better], cost_there[better]
        residuals[better], slopes[better] = residuals_there[better], slopes_there[better]
        damping = np.clip(np.where(better[:, None], damping / 4, damping * 4), 1e-9, 1e9)
    note(np.ones(len(left), dtype=bool))
    return losses, found


def _model(p: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is left of y (S, K), and the slopes of the model in p (S, K, p)."""
    law = p[:, :1] - p[:, 1:2] * x
    if p.shape[1] == 2:
        return y - law, np.stack(np.broadcast_arrays(1.0, -x * np.ones_like(law)), axis=2)
    model = np.logaddexp(law, p[:, 2:])
    share = np.exp(law - model)
    return y - model, np.stack([share, -x * share, 1 - share], axis=2)


def _huber(residuals: np.ndarray) -> np.ndarray:
    """Sums of losses (S,) of residuals (S, K)."""
    size = np.abs(residuals)
    return np.asarray(np.where(size <= HUBER, size**2 / 2, HUBER * (size - HUBER / 2)).sum(axis=1))


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
    """Of each curve of which some replicate has enough sizes. Errors that may be negative follow no power of n."""
    found = []
    for curve in curves:
        if curve.scale == "log":
            fits = fit_power_laws(curve.n, np.exp(curve.log_values))
            if kept := tuple(fit for fit in fits if fit is not None):
                ends = int(curve.n[0]), int(curve.n[-1])
                found.append(CurveFit(curve.task, curve.d, curve.name, curve.metric, *ends, kept))
    return found
