"""Measures how often the intervals of this package cover: synthetic learners with known truths, end to end.

``bfc-bench check --statistics`` prints the table; ``docs/statistics.md`` holds its last output and explains it.

A replicate's log N* is normal about its centre, its curve is one of ``SHAPES`` times exp(.1 N(0,1)) at each n. Sizes
stand a factor 2 or sqrt 2 apart; where the grid lies is drawn in each experiment, so that luck hides no bias.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtri

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.exponents import decay, fit_exponent
from bfc_bench.analysis.intervals import Interval
from bfc_bench.analysis.thresholds import Crossing, crossings, threshold
from bfc_bench.seeds import stream

LEVEL = 0.1
EXPONENT = 2.0
OFFSET = math.log(5.0)
SPREAD = 0.25
NOISE = 0.1
DECAY = 1.5
REPLICATES = (3, 5, 10)
RATIOS = {"2": 2.0, "√2": math.sqrt(2)}

BEFORE, AFTER = math.log(0.6), math.log(1e-3)
STEEPNESS = 14.0


def smooth(x: np.ndarray) -> np.ndarray:
    """1 / (1 + 9 e^(3x)), x = log(n / N*): the level .1 at N*."""
    return np.asarray(1 / (1 + 9 * np.exp(3 * x)))


def sharp(x: np.ndarray) -> np.ndarray:
    """From .6 to .001, most of it within a step of sqrt 2, as curves of joint training fall: the level .1 at N*."""
    at_level = logit((math.log(LEVEL) - BEFORE) / (AFTER - BEFORE))
    return np.asarray(np.exp(BEFORE + (AFTER - BEFORE) * expit(STEEPNESS * x + at_level)))


SHAPES: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {"smooth": smooth, "sharp": sharp}


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often an interval held the truth, of the experiments in which there was one."""

    share: float
    bias: float
    """Mean of estimate minus truth."""
    refused: int = 0


def dimensions(k: int) -> np.ndarray:
    """K dimensions from 8 to 32, evenly spaced in logarithm, (K,)."""
    return np.rint(np.geomspace(8, 32, k)).astype(int)


def experiment(
    rng: np.random.Generator,
    k: int,
    replicates: int,
    censored: float,
    scatter: float = 0.0,
    shape: str = "smooth",
    ratio: float = math.sqrt(2),
) -> dict[int, list[Crossing]]:
    """Crossings by dimension of one synthetic experiment.

    ``censored`` is the expected share of replicates at the last of the ``k`` dimensions that are beyond the grid,
    ``scatter`` the standard deviation of a shift of log N* that all replicates of one d share: no exact power law.
    Sizes span a factor 64, ``ratio`` apart.
    """
    dims = dimensions(k)
    points = {}
    step = math.log(ratio)
    for d in dims.tolist():
        centre = OFFSET + EXPONENT * math.log(d)
        log_star = centre + scatter * rng.standard_normal() + SPREAD * rng.standard_normal(replicates)
        reach = ndtri(1 - censored) * SPREAD if d == dims[-1] and censored > 0 else 5 * SPREAD + step * rng.uniform()
        log_n = centre + reach + step * np.arange(-round(math.log(64) / step), 1)
        points[d] = crossings(_measured(rng, d, shape, log_n, log_star), LEVEL)
    return points


def exponent_coverage(
    k: int,
    replicates: int,
    censored: float,
    experiments: int,
    scatter: float = 0.0,
    shape: str = "smooth",
    ratio: float = math.sqrt(2),
) -> Coverage:
    """Coverage of ``fit_exponent``; the arguments are those of ``experiment``."""
    rng = stream("analysis self-test", k, replicates, censored, scatter, shape, ratio)
    fits = [fit_exponent(experiment(rng, k, replicates, censored, scatter, shape, ratio)) for _ in range(experiments)]
    kept = [Interval(fit.value, fit.lo, fit.hi, fit.uncensored) for fit in fits if not fit.refused]
    return _coverage(kept, EXPONENT, refused=len(fits) - len(kept))


def threshold_coverage(replicates: int, experiments: int, shape: str = "smooth", ratio: float = 2.0) -> Coverage:
    """Coverage of the geometric mean of N* over R replicates; its bias is in log N*."""
    rng = stream("analysis self-test", "threshold", replicates, shape, ratio)
    intervals = []
    for _ in range(experiments):
        log_n = OFFSET + math.log(ratio) * (rng.uniform() + np.arange(-round(math.log(32) / math.log(ratio)), 6))
        log_star = OFFSET + SPREAD * rng.standard_normal(replicates)
        mean = threshold(_measured(rng, 8, shape, log_n, log_star), LEVEL).interval
        intervals.append(Interval(math.log(mean.mean), math.log(mean.lo), math.log(mean.hi), mean.count))
    return _coverage(intervals, OFFSET)


def decay_coverage(replicates: int, experiments: int) -> Coverage:
    """Coverage of the exponent of error ~ n^-1.5 where noise is a walk along n, as in nested samples."""
    rng = stream("analysis self-test", "decay", replicates)
    n = np.geomspace(100, 1600, 9)
    intervals = []
    for _ in range(experiments):
        walk = np.cumsum(SPREAD * rng.standard_normal((replicates, len(n))), axis=1)
        intervals.append(decay(_curve(8, n, n**-DECAY * np.exp(walk))))
    return _coverage(intervals, DECAY)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table."""

    method: str
    family: str
    """Of curves, or of the errors at one n."""
    ratio: str
    """Of neighbouring sizes; empty where one size is meant."""
    replicates: int
    coverage: Coverage
    warning: str = ""
    """What the report says where the conditions of a line that does not cover show; empty where none is needed."""

    def __str__(self) -> str:
        share, bias = f"{100 * self.coverage.share:.1f}", f"{self.coverage.bias:+.3f}"
        cells = (self.method, self.family, self.ratio, str(self.replicates), share, bias, self.warning)
        return f"| {' | '.join(cells)} |"


HEADER = (
    "| interval | curves or errors | sizes apart | R | coverage, % | bias | what the report says |\n"
    "|---|---|---|---|---|---|---|"
)


def lines(experiments: int) -> Iterator[Line]:
    """Every line of the table, each as soon as it is measured."""
    for shape, (name, ratio), r in itertools.product(SHAPES, RATIOS.items(), REPLICATES):
        yield Line("N*", shape, name, r, threshold_coverage(r, experiments, shape, ratio))
    for shape, (name, ratio), r in itertools.product(SHAPES, RATIOS.items(), REPLICATES):
        coverage = exponent_coverage(4, r, 0.25, max(1, experiments // 2), shape=shape, ratio=ratio)
        yield Line("exponent in d, 4 d", shape, name, r, coverage)
    for r in REPLICATES:
        yield Line("decay in n", "nested samples", "√2", r, decay_coverage(r, experiments))


def report(experiments: int) -> Iterator[str]:
    """The table as text, line by line."""
    error = 100 * math.sqrt(0.95 * 0.05 / experiments)
    yield f"Nominal 95 % intervals, {experiments} experiments a line, exponents half: error {error:.1f} points."
    yield ""
    yield HEADER
    yield from map(str, lines(experiments))


def _measured(rng: np.random.Generator, d: int, shape: str, log_n: np.ndarray, log_star: np.ndarray) -> Curve:
    errors = SHAPES[shape](log_n - log_star[:, None])
    return _curve(d, np.exp(log_n), errors * np.exp(NOISE * rng.standard_normal(errors.shape)))


def _curve(d: int, n: np.ndarray, values: np.ndarray) -> Curve:
    return Curve("synthetic", d, "synthetic", "synthetic", "nmse", n, tuple(range(len(values))), values)


def _coverage(intervals: Sequence[Interval] | Iterable[Interval], truth: float, refused: int = 0) -> Coverage:
    intervals = list(intervals)
    if not intervals:
        return Coverage(math.nan, math.nan, refused)
    share = np.mean([interval.lo <= truth <= interval.hi for interval in intervals])
    return Coverage(float(share), float(np.mean([interval.mean - truth for interval in intervals])), refused)
