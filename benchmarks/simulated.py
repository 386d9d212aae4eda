"""Simulated learning curves and errors, whose true N*, exponents and means are known, for ``benchmarks.coverage``.

A replicate's log N* is normal about its centre, its curve is one of ``SHAPES`` times exp(.1 N(0,1)) at each n. Sizes
stand a factor 2 or sqrt 2 apart, or locate N* (``located``); where the grid lies is drawn in each experiment, so that
luck hides no bias.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from scipy.special import expit, logit, ndtri

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.locating import Ladder, sizes_to_run
from bfc_bench.analysis.thresholds import NStar, crossings

LEVEL = 0.1
EXPONENT, OFFSET = 2.0, math.log(5.0)
"""The mean of log N* at d is OFFSET + EXPONENT log d."""
SPREAD = 0.25
"""Standard deviation of log N* between replicates."""
NOISE, DIFFICULT_NOISE = 0.1, 0.3
"""Standard deviations of a log error."""
BEFORE, AFTER = math.log(0.6), math.log(1e-3)
STEEPNESS = 14.0
"""Log errors between which ``sharp`` falls, and its slope."""
FALL = math.log(0.5 / 1e-7)
"""From an error of 1e-7 to the .5 of a failure."""
POINTS = 20_000
"""On which an error rate is counted."""
RESOLVED = 1.1
"""The factor within which sizes are added around N*."""
LARGE = math.log(400.0)
"""Where whole sizes, which are shared by replicates, are as fine as others."""


def smooth(x: np.ndarray) -> np.ndarray:
    """1 / (1 + 9 e^(3x)), x = log(n / N*): the level .1 at N*."""
    return np.asarray(1 / (1 + 9 * np.exp(3 * x)))


def sharp(x: np.ndarray) -> np.ndarray:
    """From .6 to .001, most of it within a step of sqrt 2, as curves of joint training fall: the level .1 at N*."""
    at_level = logit((math.log(LEVEL) - BEFORE) / (AFTER - BEFORE))
    return np.asarray(np.exp(BEFORE + (AFTER - BEFORE) * expit(STEEPNESS * x + at_level)))


def shallow(x: np.ndarray) -> np.ndarray:
    """The level .1 times (n / N*)^-1/2."""
    return np.asarray(LEVEL * np.exp(-x / 2))


def flat(x: np.ndarray) -> np.ndarray:
    """1.28 times the level until just before N*, then steep, as n^-3."""
    return np.asarray(LEVEL * np.exp(0.25 - 3 * np.maximum(0, x + 0.25 / 3)))


def humped(x: np.ndarray) -> np.ndarray:
    """As 1 / n, with a hump to three times the level at 3 N*."""
    return np.asarray(LEVEL * np.exp(-x + 2.2 * (np.exp(-(((x - 1.1) / 0.35) ** 2)) - math.exp(-((1.1 / 0.35) ** 2)))))


SHAPES: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "smooth": smooth, "sharp": sharp, "shallow": shallow, "flat, then steep": flat, "humped": humped
}  # fmt: skip
FAST, DIFFICULT = ("smooth", "sharp"), ("shallow", "flat, then steep", "humped")
"""Shapes that cross the level fast, and those on which noise of 30 % or a hump decides where they seem to."""

Design: TypeAlias = tuple[str, float]
"""Shape of a curve, and ratio of neighbouring sizes."""
USUAL: Design = ("smooth", math.sqrt(2))


def dimensions(k: int) -> np.ndarray:
    """K dimensions from 8 to 32, evenly spaced in logarithm, (K,)."""
    return np.rint(np.geomspace(8, 32, k)).astype(int)


def experiment(
    rng: np.random.Generator, k: int, replicates: int, censored: float, scatter: float = 0.0, design: Design = USUAL
) -> dict[int, list[NStar]]:
    """Crossings by dimension of one synthetic experiment.

    ``censored`` is the expected share of replicates at the last of the ``k`` dimensions that are beyond the grid,
    ``scatter`` the standard deviation of a shift of log N* that all replicates of one d share: no exact power law.
    Sizes span a factor 64.
    """
    shape, ratio = design
    dims = dimensions(k)
    points = {}
    step = math.log(ratio)
    for d in dims.tolist():
        centre = OFFSET + EXPONENT * math.log(d)
        log_star = centre + scatter * rng.standard_normal() + SPREAD * rng.standard_normal(replicates)
        reach = ndtri(1 - censored) * SPREAD if d == dims[-1] and censored > 0 else 5 * SPREAD + step * rng.uniform()
        log_n = centre + reach + step * np.arange(-round(math.log(64) / step), 1)
        points[d] = crossings(measured(rng, d, shape, log_n, log_star), LEVEL)
    return points


def sizes(rng: np.random.Generator, shape: str, ratio: float) -> np.ndarray:
    """log n from 1/32 of N* to 5 steps above it, for ``DIFFICULT`` shapes to 32 times N*, (K,)."""
    steps = round(math.log(32) / math.log(ratio))
    return np.asarray(
        OFFSET + math.log(ratio) * (rng.uniform() + np.arange(-steps, steps + 1 if shape in DIFFICULT else 6))
    )


def located(rng: np.random.Generator, shape: str, log_star: np.ndarray, noise: float) -> Curve:
    """Curves of replicates with log N* of ``log_star`` (R,), at the sizes that locate N* of each."""
    first = round(math.exp(OFFSET + LARGE - math.log(2) * (5 + rng.uniform())))
    ladder = Ladder(first, 1024 * first)
    n = np.array(ladder.fine)
    errors = measured(rng, 8, shape, np.log(n), log_star + LARGE, noise).values
    tried = np.isin(np.broadcast_to(n, errors.shape), ladder.upward[:2])
    while True:
        any_tried = tried.any(axis=0)
        curve = curve_of(8, n[any_tried], np.where(tried, errors, math.nan)[:, any_tried])
        curve = replace(curve, tried=tried[:, any_tried])
        sizes = sizes_to_run(curve, [LEVEL], RESOLVED, ladder)
        if not sizes:
            return curve
        for replicate, wanted in sizes.items():
            tried[replicate] |= np.isin(n, [*wanted])


def measured(
    rng: np.random.Generator, d: int, shape: str, log_n: np.ndarray, log_star: np.ndarray, noise: float = NOISE
) -> Curve:
    """Curves of replicates with log N* of ``log_star`` (R,) at ``log_n`` (K,)."""
    errors = SHAPES[shape](log_n - log_star[:, None])
    return curve_of(d, np.exp(log_n), errors * np.exp(noise * rng.standard_normal(errors.shape)))


def curve_of(d: int, n: np.ndarray, values: np.ndarray) -> Curve:
    return Curve("synthetic", d, "synthetic", "nmse", n, tuple(range(len(values))), values)


def _log_rates(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Error rates counted on 20,000 points, of rates that differ by 30 % about .01."""
    rates = np.exp(math.log(0.01) + 0.3 * rng.standard_normal(shape))
    counted = np.maximum(rng.binomial(POINTS, rates) / POINTS, 0.5 / POINTS)
    return np.asarray(np.log(counted) - math.log(0.01))


ERRORS: Mapping[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "normal logs": lambda rng, shape: rng.standard_normal(shape),
    "t3 logs": lambda rng, shape: rng.standard_t(3, shape),
    "skewed logs": lambda rng, shape: rng.exponential(size=shape) - 1,
    "1 of 10 fails": lambda rng, shape: rng.standard_normal(shape) + FALL * ((rng.uniform(size=shape) < 0.1) - 0.1),
    "error rates": _log_rates,
}
"""Logarithms of errors of R replicates, (experiments, R), of mean 0."""


def log_noise(rng: np.random.Generator, replicates: int, second: int, sizes: int, kind: str) -> np.ndarray:
    """Noise of log errors (R, M, K): 10 % each, or ``along the curve``: a level of each replicate (30 %) and of each of
    its curves (15 %), and 15 % with a correlation of .7 from one size to the next."""
    noise = rng.standard_normal((replicates, second, sizes))
    if kind == "independent":
        return 0.1 * noise
    for k in range(1, sizes):
        noise[:, :, k] = 0.7 * noise[:, :, k - 1] + math.sqrt(1 - 0.7**2) * noise[:, :, k]
    levels = 0.3 * rng.standard_normal((replicates, 1, 1)) + 0.15 * rng.standard_normal((replicates, second, 1))
    return np.asarray(0.15 * noise + levels)
