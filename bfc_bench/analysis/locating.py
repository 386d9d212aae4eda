"""Which sizes locate N* of each replicate within a factor: upward, and then inside the step of its fit."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import fmean

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.thresholds import NStar, crossings

MOST = 12
"""Largest number of sizes of a replicate for one level, beside those upward."""
NEAR = (1.2, 1.45)
"""Factors from a step's end at which further sizes show whether noise put it there."""
BESIDE, FEW, CLOSE = 1.5, 3, 3.0
"""They are added if fewer than ``FEW`` sizes within this factor have a mean within ``CLOSE`` standard deviations of the
noise from the level."""


@dataclass(frozen=True)
class Ladder:
    """The sizes that may be chosen: the same for all replicates and learners that start alike."""

    first: int
    last: int
    given: Collection[int] = ()
    """Sizes of the suite; they do not count as added."""

    @cached_property
    def upward(self) -> list[int]:
        """From the first by factors of 2 to the last."""
        return self._by(1)

    @cached_property
    def fine(self) -> list[int]:
        """From the first by factors of 2^(1/8) to the last."""
        return self._by(8)

    def nearest(self, sizes: Iterable[float]) -> set[int]:
        """The size of the ladder nearest to each, in logarithm."""
        return {min(self.fine, key=lambda n: abs(math.log(n / size))) for size in sizes}

    def _by(self, parts: int) -> list[int]:
        count = math.ceil(parts * math.log2(self.last / self.first)) + 1
        return sorted({min(round(self.first * 2 ** (k / parts)), self.last) for k in range(count)})


def sizes_to_run(curve: Curve, levels: Sequence[float], factor: float, ladder: Ladder) -> dict[int, set[int]]:
    """The sizes that each replicate of a curve needs next; empty where N* is located at all levels.

    1. Upward by factors of 2, until two neighbouring sizes are at most the level. Nothing beyond is needed, and large
       sizes are what costs. A hump beyond is not seen.
    2. If a size at most the level has a larger one above it, sizes at +-20 % of both.
    3. The middle of the step of the fit of all sizes, until it is within the factor. With noise, further sizes beside
       it, where few sizes are close to the level.

    At most ``MOST`` sizes for each level follow those upward. Failed sizes are not tried again. ``factor`` is the
    largest ratio of the sizes between which N* lies, or of neighbouring sizes of the ladder.
    """
    wanted: dict[int, set[int]] = {replicate: set() for replicate in curve.replicates}
    room = MOST * len(levels)
    for level in levels:
        bound = level if curve.scale == "linear" else math.log(level)
        n_star_of = {n_star.replicate: n_star for n_star in crossings(curve, level)}
        for replicate, tried, errors in zip(curve.replicates, curve.was_tried, curve.scaled.tolist(), strict=True):
            cells = {n: error for n, error, was in zip(curve.n.tolist(), errors, tried, strict=True) if was}
            n_star = n_star_of.get(replicate)
            new = _upward(cells, ladder.upward, bound, n_star)
            if not new and n_star:
                new = _inside(cells, bound, factor, ladder, n_star, curve.noise)
                added = (cells.keys() | wanted[replicate]) - {*ladder.upward, *ladder.given}
                new = set(sorted(new)[: max(room - len(added), 0)])
            wanted[replicate] |= new
    return {replicate: sizes for replicate, sizes in wanted.items() if sizes}


def _upward(cells: Mapping[int, float], sizes: Sequence[int], bound: float, n_star: NStar | None) -> set[int]:
    """The next sizes upward: the two that would end it, or the second of them; empty after two at most the level.

    Two that are so by noise alone, while the fit stays above the level, do not end it.
    """
    reached = n_star is not None and n_star.censored != "right"
    below = False
    for k, n in enumerate(sizes):
        if n not in cells:
            return {*sizes[k : k + (1 if below else 2)]} - cells.keys()
        if below and cells[n] <= bound and reached:
            break
        below = cells[n] <= bound
    return set()


def _inside(
    cells: Mapping[int, float], bound: float, factor: float, ladder: Ladder, n_star: NStar, noise: float
) -> set[int]:
    """The next sizes after those upward; ``cells`` are the errors by size, nan where one failed."""
    measured = {n: error for n, error in cells.items() if not math.isnan(error)}
    upward = [n for n in ladder.upward if n in measured]
    rises = {n for pair in pairwise(upward) if measured[pair[0]] <= bound < measured[pair[1]] for n in pair}
    if beside_rises := ladder.nearest(n * by for n in rises for by in (1 / NEAR[0], NEAR[0])) - cells.keys():
        return beside_rises
    if n_star.censored == "right":
        return set()
    start, end = round(n_star.step[0] or n_star.step[1]), round(n_star.step[1])
    between = {n for n in ladder.fine if start < n < end} - cells.keys()
    if end > factor * start and between:
        return {min(between, key=lambda n: abs(math.log(n * n / (start * end))))}
    beside_step: set[float] = set()
    for edge, sign in ((start, -1), (end, 1)):
        close = [error for n, error in measured.items() if 0 <= sign * math.log(n / edge) <= math.log(BESIDE)]
        if len(close) < FEW and abs(fmean(close) - bound) < CLOSE * noise:
            beside_step |= {edge * by**sign for by in NEAR}
    return ladder.nearest(beside_step) - cells.keys()
