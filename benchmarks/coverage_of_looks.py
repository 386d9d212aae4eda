"""``python -m benchmarks.coverage_of_looks``: how often claims are decided wrongly that are looked at again and again.

Claims are judged at the looks of ``alpha_spending.py`` until they are decided. ``docs/coverage.txt`` has the output.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.simulated import DIFFICULT_NOISE, EXPONENT, LARGE, LEVEL, OFFSET, SHAPES, SPREAD, dimensions, measured
from bfc_bench.analysis.alpha_spending import LAST, SCHEDULE, levels
from bfc_bench.analysis.claims import Claim
from bfc_bench.analysis.claims.beats import Beats
from bfc_bench.analysis.claims.exponent import ExponentClaim
from bfc_bench.analysis.claims.reaches import Reaches
from bfc_bench.analysis.claims.succeeds import Succeeds
from bfc_bench.analysis.interim_analyses import Look, SizesByCurve, looks_at
from bfc_bench.analysis.intervals import t_quantile
from bfc_bench.analysis.sizes_needed import finer_sizes, sizes_beyond_grid
from bfc_bench.seeds import stream
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows


def error_of_looks(spent: Sequence[float], experiments: int) -> float:
    """How often one of the looks of ``SCHEDULE``, at one-sided levels, is wrong where the truth is the bound."""
    x = stream("analysis self-test", "looks").standard_normal((experiments, SCHEDULE[-1]))
    wrong = np.zeros(experiments, dtype=bool)
    for r, level in zip(SCHEDULE, spent, strict=True):
        error = x[:, :r].std(axis=1, ddof=1) / math.sqrt(r)
        wrong |= x[:, :r].mean(axis=1) > t_quantile(r - 1, 1 - 2 * level) * error
    return float(wrong.mean())


@dataclass(frozen=True, slots=True)
class Looked:
    """How a claim ends that is looked at until it is decided or has had all its looks."""

    claim: str
    effect: float
    """By how many standard deviations of a replicate the truth lies inside the bound."""
    supported: float
    contradicted: float
    """Shares of the experiments."""
    replicates: float
    """Used, on average."""

    def __str__(self) -> str:
        truth = f"{self.effect:g} sd inside" if self.effect else "on the bound"
        shares = f"{100 * self.supported:.1f} | {100 * self.contradicted:.1f}"
        return f"| {self.claim} | {truth} | {shares} | {self.replicates:.1f} |"


LOOKED = "| claim | truth | supported, % | contradicted, % | mean replicates |\n|---|---|---|---|---|"

CLAIMS: Mapping[str, tuple[Claim, Callable[[np.random.Generator, float], list[Row]]]] = {
    "reaches": (
        Reaches(id="c", label="a", task="t", at_most=1.0),
        lambda rng, effect: _rows("a", np.exp(rng.standard_normal((LAST, 1)) - effect)),
    ),
    "beats": (
        Beats(id="c", label="a", against=("b",), task="t"),
        lambda rng, effect: _pair(np.exp(2 * rng.standard_normal((LAST, 1))), rng, effect),
    ),
    "succeeds": (
        Succeeds(id="c", label="a", task="t", level=1.0, share=0.5),
        lambda rng, effect: _rows("a", np.exp(rng.standard_normal((LAST, 1)) - effect)),
    ),
    "exponent": (
        ExponentClaim(id="c", label="a", task="t", level=LEVEL, at_most=EXPONENT),
        lambda rng, effect: [
            row
            for d, shift in zip(dimensions(4).tolist(), (-1.5, -0.5, 0.5, 1.5), strict=True)
            for row in _grown(rng, d, -effect * shift)
        ],
    ),
}
"""Claims with the results of 20 replicates whose truth lies inside the bound by an effect."""


def looked_at(claim: str, experiments: int, effect: float = 0.0) -> Looked:
    """The verdicts on one of ``CLAIMS`` by the code that judges suites, look by look."""
    rng = stream("analysis self-test", "looked at", claim, effect)
    stated, draw = CLAIMS[claim]
    found = []
    for _ in range(experiments):
        rows = Rows.of(draw(rng, effect))
        curves = rows.groups("task", "label", "d")
        sizes = {(task, label, d): tuple(np.unique(of.n).tolist()) for (task, label, d), of in curves.items()}
        look = looks_at(stated, rows, sizes, SCHEDULE).current_look
        found.append(_found(look))
    return _looked(claim, effect, found)


PAIRS = (("smooth", "smooth"), ("sharp", "flat, then steep"), ("shallow", "humped"))
"""Shapes of the curves of two learners."""


def n_star_looked_at(shapes: Sequence[str], experiments: int, *, adds: bool) -> Looked:
    """The verdicts on a claim that N* of one learner is at most that of another, where both are equal.

    Sizes stand a factor 2 apart; ``adds`` says whether looks after the first add sizes, as ``--until-decided`` does.
    """
    stated = Beats(id="c", label="a", against=("b",), task="t", d=8, level=LEVEL)
    found = []
    for number in range(experiments):
        rng = stream("analysis self-test", "looks with sizes", *shapes, number)
        start = math.exp(OFFSET + LARGE - math.log(2) * (5 + rng.uniform()))
        sizes = tuple(np.rint(start * 2.0 ** np.arange(11)).astype(int).tolist())
        log_star = OFFSET + LARGE + SPREAD * rng.standard_normal((2, LAST, 1))
        draw = partial(_measured_at, number, dict(zip("ab", zip(shapes, log_star, strict=True), strict=True)))
        own: SizesByCurve = {("t", label, 8): sizes for label in "ab"}
        reads = own
        for r in SCHEDULE:
            look = looks_at(stated, draw(reads, r), own, SCHEDULE).current_look
            while adds and r > SCHEDULE[0] and (wider := _with_more_sizes(look, stated, reads)) != reads:
                reads = wider
                look = looks_at(stated, draw(reads, r), own, SCHEDULE).current_look
            if _found(look)[0] != "undecided":
                break
        found.append(_found(look))
    return _looked(f"N*, {' beside '.join(shapes)}, {'with added' if adds else 'without added'} sizes", 0.0, found)


def _found(look: Look | None) -> tuple[str, int]:
    assert look is not None, "all rows are there"
    assert look.finding is not None
    return look.finding.verdict, look.replicates


def _with_more_sizes(look: Look | None, stated: Claim, reads: SizesByCurve) -> SizesByCurve:
    """The sizes after those are added that would narrow the interval of an undecided claim."""
    if _found(look)[0] != "undecided":
        return reads
    claim, wider = stated.at_look(look.at), dict(reads)
    new_sizes = sizes_beyond_grid(claim, look.rows, look.finding, look.more) or finer_sizes(claim, look.rows, look.more)
    for new in new_sizes:
        curve = (new.task, new.label, new.d)
        wider[curve] = tuple(sorted({*wider[curve], *new.sizes}))
    return wider


def _measured_at(
    number: int, curves: Mapping[str, tuple[str, np.ndarray]], reads: SizesByCurve, replicates: int
) -> Rows:
    """The rows at some sizes of curves of a shape and log N*: an error at one size does not hang on the others."""
    rows = []
    for label, (shape, log_star) in curves.items():
        n = reads["t", label, 8]
        noise = [stream("analysis self-test", "size", number, label, size).standard_normal(LAST) for size in n]
        errors = SHAPES[shape](np.log(n) - log_star) * np.exp(DIFFICULT_NOISE * np.array(noise).T)
        rows += _rows(label, errors[:replicates], n)
    return Rows.of(rows)


def _looked(claim: str, effect: float, found: Sequence[tuple[str, int]]) -> Looked:
    share = {word: float(np.mean([verdict == word for verdict, _ in found])) for word in ("supported", "contradicted")}
    return Looked(claim, effect, share["supported"], share["contradicted"], float(np.mean([r for _, r in found])))


def _rows(label: str, values: np.ndarray, n: Sequence[int] = (100,), d: int = 8) -> list[Row]:
    """Rows with an NMSE of ``values``, (R, K)."""
    return [
        Row(
            cell=f"{label}-{d}-{size}-{replicate}", suite="s", suite_version=1, task="t", learner="l", label=label,
            options={}, d=d, n=size, replicate=replicate, status="ok", nmse=float(value), fit_cpu_seconds=float(size),
        )
        for replicate, line in enumerate(values) for size, value in zip(n, line, strict=True)
    ]  # fmt: skip


def _pair(common: np.ndarray, rng: np.random.Generator, effect: float) -> list[Row]:
    """Two learners whose errors have in common what a teacher does to both."""
    return [*_rows("b", common), *_rows("a", common * np.exp(rng.standard_normal(common.shape) - effect))]


def _grown(rng: np.random.Generator, d: int, shift: float) -> list[Row]:
    """Curves of 20 replicates at one d whose log N* is shifted by so many of its standard deviations."""
    centre = OFFSET + EXPONENT * math.log(d)
    n = np.rint(np.exp(centre) * 2.0 ** np.arange(-3, 4)).astype(int)
    log_star = centre + SPREAD * (shift + rng.standard_normal(LAST))
    return _rows("a", measured(rng, d, "smooth", np.log(n), log_star).values, n.tolist(), d)


def looked_lines(experiments: int) -> Iterator[Looked]:
    """Every line of the table of looks, each as soon as it is measured."""
    for claim in CLAIMS:
        yield looked_at(claim, max(1, experiments // 5) if claim == "exponent" else experiments)
    for effect in (0.5, 1.0, 2.0, 4.0):
        yield looked_at("reaches", max(1, experiments // 5), effect)
    for shapes, adds in itertools.product(PAIRS, (False, True)):
        yield n_star_looked_at(shapes, max(1, experiments // 5), adds=adds)


def report(experiments: int = 200) -> Iterator[str]:
    """What looking again costs as text, line by line, each as soon as it is measured."""
    spending, again = (
        100 * error_of_looks(spent, 200 * experiments) for spent in (levels(SCHEDULE), (0.025,) * len(SCHEDULE))
    )
    rates = f"{spending:.2f} % with the levels of `alpha_spending.py`, {again:.2f} % with .025 each"
    yield f"Looks at R = {', '.join(map(str, SCHEDULE))}, wrong on one side where the truth is the bound: {rates}."
    yield ""
    claims = 5 * experiments
    error = 100 * math.sqrt(0.025 * 0.975 / claims)
    yield (
        f"Claims judged at these looks, by the code that judges suites. {claims} experiments a line, a fifth of them "
        f"for exponents, effects and N*: Monte Carlo error {error:.1f} points on the bound. Curves of N* have "
        f"{100 * DIFFICULT_NOISE:g} % of noise, and sizes 2 apart."
    )
    yield ""
    yield LOOKED
    yield from map(str, looked_lines(claims))


if __name__ == "__main__":
    for line in report():
        print(line, flush=True)
