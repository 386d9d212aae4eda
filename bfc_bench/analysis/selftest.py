"""Measures how often the intervals of this package cover: synthetic learners with known exponents, end to end.

Run ``python -m bfc_bench.analysis.selftest [EXPERIMENTS]``. An experiment has K dimensions from 8 to 32 and R
replicates. A replicate's N* is 5 d^2 exp(.25 N(0,1)), its error 1 / (1 + 9 (n / N*)^3), which is the level .1 at N*,
times exp(.1 N(0,1)) at each n of a grid of ratio sqrt 2. A share of the replicates at the last d is beyond the grid.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.exponents import decay, fit_exponent
from bfc_bench.analysis.intervals import Interval, geometric_mean
from bfc_bench.analysis.thresholds import Crossing, crossings
from bfc_bench.seeds import stream

LEVEL = 0.1
EXPONENT = 2.0
OFFSET = math.log(5.0)
SPREAD = 0.25
NOISE = 0.1
DECAY = 1.5


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
    rng: np.random.Generator, k: int, replicates: int, censored: float, scatter: float = 0.0
) -> dict[int, list[Crossing]]:
    """Crossings by dimension of one synthetic experiment.

    ``censored`` is the expected share of replicates at the last of the ``k`` dimensions that are beyond the grid,
    ``scatter`` the standard deviation of a shift of log N* that all replicates of one d share: no exact power law.
    """
    dims = dimensions(k)
    points = {}
    for d in dims.tolist():
        centre = OFFSET + EXPONENT * math.log(d)
        log_star = centre + scatter * rng.standard_normal() + SPREAD * rng.standard_normal(replicates)
        reach = ndtri(1 - censored) if d == dims[-1] and censored > 0 else 5.0
        log_n = centre + SPREAD * reach + math.log(2) / 2 * np.arange(-12, 1)
        error = 1 / (1 + 9 * np.exp(3 * (log_n - log_star[:, None])))
        measured = error * np.exp(NOISE * rng.standard_normal(error.shape))
        points[d] = crossings(_curve(d, np.exp(log_n), measured), LEVEL)
    return points


def exponent_coverage(k: int, replicates: int, censored: float, experiments: int, scatter: float = 0.0) -> Coverage:
    """Coverage of ``fit_exponent``; the arguments are those of ``experiment``."""
    rng = stream("analysis self-test", k, replicates, censored, scatter)
    fits = [fit_exponent(experiment(rng, k, replicates, censored, scatter)) for _ in range(experiments)]
    kept = [Interval(fit.value, fit.lo, fit.hi, fit.uncensored) for fit in fits if not fit.refused]
    return _coverage(kept, EXPONENT, refused=len(fits) - len(kept))


def threshold_coverage(replicates: int, experiments: int) -> Coverage:
    """Coverage of the geometric mean of N* over R replicates; its bias is in log N*."""
    rng = stream("analysis self-test", "threshold", replicates)
    truth = OFFSET + EXPONENT * math.log(8)
    intervals = []
    for _ in range(experiments):
        found = experiment(rng, 2, replicates, 0.0)[8]
        mean = geometric_mean([crossing.n for crossing in found])
        intervals.append(Interval(math.log(mean.mean), math.log(mean.lo), math.log(mean.hi), mean.count))
    return _coverage(intervals, truth)


def decay_coverage(replicates: int, experiments: int) -> Coverage:
    """Coverage of the exponent of error ~ n^-1.5 where noise is a walk along n, as in nested samples."""
    rng = stream("analysis self-test", "decay", replicates)
    n = np.geomspace(100, 1600, 9)
    intervals = []
    for _ in range(experiments):
        walk = np.cumsum(SPREAD * rng.standard_normal((replicates, len(n))), axis=1)
        intervals.append(decay(_curve(8, n, n**-DECAY * np.exp(walk))))
    return _coverage(intervals, DECAY)


def report(experiments: int) -> Iterator[str]:
    """The lines of a table of all settings, each as soon as it is measured."""
    error = 100 * math.sqrt(0.95 * 0.05 / experiments)
    yield f"Coverage of nominal 95 % intervals, {experiments} experiments each, Monte Carlo error {error:.1f} points."
    yield ""
    yield "exponent of N* in d         exact power law          shift per d, sd .1"
    yield "  K   R  censored   cover %   bias  refused   cover %   bias  refused"
    for k, replicates, censored in itertools.product((3, 4, 5), (3, 5, 10), (0.0, 0.25, 0.5)):
        cells = (exponent_coverage(k, replicates, censored, experiments, scatter) for scatter in (0.0, 0.1))
        yield f"{k:3d} {replicates:3d} {censored:9.2f}" + "".join(map(_cell, cells))
    for name, measure in (("N*", threshold_coverage), ("error decay in n", decay_coverage)):
        yield ""
        yield name
        for replicates in (3, 5, 10):
            yield f"    {replicates:3d}          {_cell(measure(replicates, experiments))}"


def _curve(d: int, n: np.ndarray, values: np.ndarray) -> Curve:
    return Curve("synthetic", d, "synthetic", "synthetic", "nmse", n, tuple(range(len(values))), values)


def _coverage(intervals: list[Interval], truth: float, refused: int = 0) -> Coverage:
    if not intervals:
        return Coverage(math.nan, math.nan, refused)
    share = np.mean([interval.lo <= truth <= interval.hi for interval in intervals])
    return Coverage(float(share), float(np.mean([interval.mean - truth for interval in intervals])), refused)


def _cell(coverage: Coverage) -> str:
    return f"{100 * coverage.share:10.1f} {coverage.bias:+6.3f} {coverage.refused:8d}"


if __name__ == "__main__":
    for line in report(int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
        print(line, flush=True)
