"""``python -m benchmarks.coverage_of_verdicts [--quick]``: how often verdicts are false if the truth is the bound.

A claim says that the mean of R logarithms is at most 0, and it is 0, so every verdict counts as false. The code that
judges suites decides, once with Student's interval and once with its own. ``docs/coverage.txt`` has the last output.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bfc_bench.analysis.alpha_spending import SCHEDULE, levels, schedule_from
from bfc_bench.analysis.claims.mean_evidence import Evidence, Region, evidence
from bfc_bench.analysis.claims.verdict import decide
from bfc_bench.analysis.intervals import CONFIDENCE, t_quantile
from bfc_bench.analysis.skewed_t import cautious_reach
from bfc_bench.seeds import stream

REPLICATES = (3, 4, 5, 8, 12, 20, 50, 100, 160, 200)
SCHEDULES = (SCHEDULE, (5, 8, 12, 20), schedule_from(3, 200))
"""Five looks as they are planned for 3 replicates, four that begin at 5, and ten up to 200."""
HARD, HARDER = 0.2, 4.0
"""Share of teachers that are harder than the others, and by how many standard deviations."""
FAILS, WORSE = 0.02, math.log(0.5 / 1e-7)
"""Share of replicates that fail, with an error of .5 in the place of 1e-7."""
SHARED = 0.5
"""Correlation of replicates that share a teacher."""

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]

WORLDS: Mapping[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "t3": lambda rng, shape: rng.standard_t(3, shape),
    "skewed": lambda rng, shape: rng.exponential(size=shape) - 1,
    "a fifth of teachers harder": lambda rng, shape: _mixed(rng, shape, HARD, HARDER),
    "2 % fail": lambda rng, shape: _mixed(rng, shape, FAILS, WORSE),
}
"""Logarithms of errors of R replicates, (experiments, R), of mean 0."""

CLUSTERS = {"pairs share a teacher": 2, "fours share a teacher": 4}
"""Replicates per teacher."""
EFFECTS = (0.5, 1.0, 2.0, 4.0)
"""By how many standard deviations of a replicate the truth lies inside the bound."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: shares of false verdicts (supported, contradicted)."""

    world: str
    looks: str
    student: tuple[float, float]
    both: tuple[float, float]
    blocks: tuple[float, float] | None = None
    """With one value per teacher."""

    def __str__(self) -> str:
        rates = (self.student, self.both, self.blocks)
        shown = (f"{100 * rate[0]:.1f} / {100 * rate[1]:.1f}" if rate else "" for rate in rates)
        return f"| {self.world} | {self.looks} | {' | '.join(shown)} |"


HEADER = "| logarithms | R | Student's t | both rules | both rules, blocks |\n|---|---|---|---|---|"


def verdicts(x: np.ndarray, schedule: Sequence[int], size: int = 1) -> dict[str, tuple[float, float]]:
    """Shares of verdicts (supported, contradicted) on a mean of at most 0, by rule: ``student``, ``both``, ``blocks``.

    Args:
        x: Logarithms, (experiments, R).
        schedule: Replicates at each look; with a single one, at the usual level.
        size: Replicates per teacher, neighbours in ``x``.
    """
    confidences = [1 - 2 * level for level in levels(schedule)]
    words = {"student": "", "both": ""} | ({"blocks": ""} if size > 1 else {})
    counts = {rule: {"supported": 0, "contradicted": 0} for rule in words}
    for values in x:
        open_rules = set(words)
        for r, confidence in zip(schedule, confidences, strict=True):
            piece = evidence(values[:r])
            pieces = {"student": piece.of_symmetric_values(), "both": piece}
            if "blocks" in open_rules:
                pieces["blocks"] = evidence(np.mean(part) for part in np.split(values[:r], range(size, r, size)))
            for rule in sorted(open_rules):
                word = _word(pieces[rule], confidence)
                if word != "undecided":
                    counts[rule][word] += 1
                    open_rules.discard(rule)
    return {rule: (count["supported"] / len(x), count["contradicted"] / len(x)) for rule, count in counts.items()}


def lines(experiments: int) -> Iterator[Line]:
    """Every line of the table, each as soon as it is measured."""
    for world, draw in WORLDS.items():
        for schedule in ((r,) for r in REPLICATES):
            yield _line(world, schedule, draw, experiments)
        for schedule in SCHEDULES:
            yield _line(world, schedule, draw, experiments)
    for world, size in CLUSTERS.items():
        for schedule in ((8,), (20,), (200,), SCHEDULE, schedule_from(3, 200)):
            yield _line(world, schedule, lambda rng, shape, size=size: _shared(rng, shape, size), experiments, size)


EFFECTS_HEADER = "| truth inside the bound by | Student's t | both rules |\n|---|---|---|"


def effect_lines(experiments: int) -> Iterator[str]:
    """How often five looks at normal logarithms support what is true, by the effect."""
    for effect in EFFECTS:
        x = WORLDS["normal"](stream("true verdicts", effect), (experiments, SCHEDULE[-1])) - effect
        rates = verdicts(x, SCHEDULE)
        yield f"| {effect:g} sd | {100 * rates['student'][0]:.1f} | {100 * rates['both'][0]:.1f} |"


def report(experiments: int) -> Iterator[str]:
    """The table as text, line by line."""
    error = 100 * math.sqrt(0.025 * 0.975 / experiments)
    yield (
        f"False verdicts in %, supported / contradicted, if the truth is the bound. {experiments} experiments a line: "
        f"Monte Carlo error {error:.1f} points at 2.5 %."
    )
    yield ""
    factors = ", ".join(f"{_widening(r):.2f} at R = {r}" for r in REPLICATES)
    yield f"Interval of values without skewness over Student's, on either side: {factors}."
    yield ""
    yield HEADER
    yield from map(str, lines(experiments))
    yield ""
    yield f"True verdicts in % after five looks at normal logarithms, {SCHEDULE[0]} to {SCHEDULE[-1]} replicates."
    yield ""
    yield EFFECTS_HEADER
    yield from effect_lines(experiments)


def _widening(count: int) -> float:
    return cautious_reach(CONFIDENCE, count - 1, count, 0.0) / t_quantile(count - 1)


def _line(world: str, schedule: Sequence[int], draw: Draw, experiments: int, size: int = 1) -> Line:
    rng = stream("false verdicts", world, *schedule)
    rates = verdicts(draw(rng, (experiments, schedule[-1])), schedule, size)
    looks = str(schedule[0]) if len(schedule) == 1 else f"{len(schedule)} looks, {schedule[0]} to {schedule[-1]}"
    return Line(world, looks, rates["student"], rates["both"], rates.get("blocks"))


def _word(piece: Evidence, confidence: float) -> str:
    """The verdict; at an undecided look, without the search for its reasons."""
    lo, hi = piece.bounds(confidence)
    return "undecided" if lo <= 0 < hi else decide(Region(hi=0.0), [("", piece)], confidence).verdict


def _mixed(rng: np.random.Generator, shape: tuple[int, int], share: float, shift: float) -> np.ndarray:
    """Normal values; a share of them is larger by ``shift``. Their mean is 0."""
    return np.asarray(rng.standard_normal(shape) + shift * ((rng.uniform(size=shape) < share) - share))


def _shared(rng: np.random.Generator, shape: tuple[int, int], size: int) -> np.ndarray:
    """Normal values; ``size`` neighbours share half of their variance."""
    experiments, r = shape
    teachers = np.repeat(rng.standard_normal((experiments, -(-r // size))), size, axis=1)[:, :r]
    return np.asarray(math.sqrt(SHARED) * teachers + math.sqrt(1 - SHARED) * rng.standard_normal(shape))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage_of_verdicts")
    parser.add_argument("--quick", action="store_true", help="a tenth of the experiments")
    for text in report(400 if parser.parse_args().quick else 4000):
        print(text, flush=True)
