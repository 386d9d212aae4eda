"""Says in words what the results on a table mean: how many rows, which learner, how sure."""

import math
from collections.abc import Sequence
from typing import TypeAlias

from bfc_bench.analysis.compare import ALPHA, compare
from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.forecast import forecast
from bfc_bench.analysis.intervals import Interval
from bfc_bench.analysis.thresholds import NStars, threshold
from bfc_bench.cli.failures import failure_lines
from bfc_bench.extras.try_table.table_facts import TableFacts
from bfc_bench.report.tables import censored, interval_text, number, sample_size, with_interval
from bfc_bench.stored_suite import StoredSuite

BASELINES = ("mean", "most-frequent")
IN_WORDS = {2: "twice", 4: "four times"}
LITTLE = 0.1
"""More rows change little if twice as many are expected to lower the error by less than this share."""
Result: TypeAlias = tuple[Curve, Interval]
"""The curve of a learner, and its error at one size."""


def answer(stored: StoredSuite, facts: TableFacts) -> list[str]:
    """Lines of text about the results of the suite that was made for a table."""
    curves = list(stored.curves())
    notes = [f"  {line}" for line in failure_lines(stored)]
    results = {n: _results(curves, n) for n in sorted({int(n) for curve in curves for n in curve.n})}
    most = max(map(len, results.values()), default=0)
    if not most:
        return ["No learner has a result:", *notes]
    # The kernel method may end at a smaller size; a size with fewer learners was not run to its end.
    sizes = [n for n, labels in results.items() if len(labels) >= max(most - 1, 1)]
    n, last = sizes[-1], results[sizes[-1]]
    if last[0][0].name in BASELINES:
        notes.append(f"  No learner is better than the baseline: these columns tell little about {facts.target!r}.")
    meaning = f"Errors are the fraction of {facts.tested:,} test rows whose {facts.target!r} is predicted wrongly."
    if not facts.classes:
        meaning = (
            f"Errors are mean squared errors on {facts.tested:,} test rows over the variance of {facts.target!r}: 1 is "
            f"no better than the mean. The typical error, its root, is in the unit of {facts.target!r}."
        )
    return [
        meaning,
        f"\nWith {n:,} training rows, best first:",
        *(f"  {c.name}: {number(i.mean, 3)} {interval_text(i.lo, i.hi, 3)}{_typical(i.mean, facts)}" for c, i in last),
        "\nWhich learner is better?",
        *(_compared(last[0][0], rival, n) for rival, _ in last[1:] if rival is last[1][0] or rival.name in BASELINES),
        "  Repetitions are other draws from this table: p and intervals say nothing about another table.",
        "\nHow many rows do you need?",
        *_rows_needed([curve for curve, _ in last if curve.name not in BASELINES], n, stored.levels, facts),
        "\nWould more rows help?",
        *_growth(last[0], sizes, facts),
        *(["\nNote:", *notes] if notes else []),
    ]


def _results(curves: Sequence[Curve], n: int) -> list[Result]:
    """The learners with an error at one size, best first."""
    pairs = [(c, i) for c in curves for size, i in zip(c.n, c.intervals, strict=True) if size == n and i.count]
    return sorted(pairs, key=lambda pair: pair[1].mean)


def _typical(error: float, facts: TableFacts) -> str:
    return "" if facts.classes else f" (typical error {number(math.sqrt(error) * facts.deviation, 3)})"


def _compared(best: Curve, rival: Curve, n: int) -> str:
    pair = next((item for item in compare([(best, rival)]) if item.n == n), None)
    if pair is None or math.isnan(pair.p):
        return f"  {best.name} against {rival.name}: too few repetitions to tell."
    if math.isnan(pair.ratio):
        size = f"its error less that of {rival.name} is {with_interval(pair.difference, pair.lo, pair.hi)}"
    else:
        size = f"its error is {with_interval(pair.ratio, pair.lo, pair.hi)} times that of {rival.name}"
    chance = f"{size} (p = {number(pair.p)}, {pair.pairs} repetitions)."
    if pair.p <= ALPHA:
        return f"  {best.name} is better than {rival.name}: {chance}"
    return f"  It is not sure that {best.name} is better than {rival.name}: {chance} More repetitions can tell."


def _rows_needed(curves: Sequence[Curve], n: int, levels: Sequence[float], facts: TableFacts) -> list[str]:
    """N* of each learner at the two smallest levels that one reaches in half of the repetitions, and the next level.

    Beyond ``n``, the largest size, nothing but this bound is known: curves flatten, some before they reach the level.
    """
    by_level = {level: [threshold(curve, level) for curve in curves] for level in sorted(levels, reverse=True)}
    reached = [level for level in by_level if any(2 * of.right < len(of.replicates) for of in by_level[level])]
    lines = []
    for level in reached[-2:]:
        needs = [f"{curve.name} {_needs(of)}" for curve, of in zip(curves, by_level[level], strict=True)]
        lines.append(f"  For an error of {level:g}{_typical(level, facts)}: {'; '.join(needs)}.")
    if level := next((level for level in by_level if level not in reached), 0.0):
        lines.append(f"  No learner reaches an error of {level:g}{_typical(level, facts)} with {n:,} rows.")
    return lines


def _needs(of: NStars) -> str:
    """N* with its interval as tables have them, or the bound if it lies beyond the largest size of a repetition."""
    largest = min((each.n for each in of.replicates if each.censored == "right"), default=math.inf)
    if of.interval.mean > largest or of.interval.lo >= largest:
        return f"more than {largest:,.0f}"
    bounds = censored(of)
    return " ".join(filter(None, [*sample_size(of), f"({bounds})" if bounds else ""]))


def _growth(best: Result, sizes: Sequence[int], facts: TableFacts) -> list[str]:
    """How the error of the best learner changed from the last size but one, and what to expect of more rows."""
    curve, leader = best
    before = _results([curve], sizes[-2]) if len(sizes) > 1 else []
    if not before or not before[0][1].mean:
        return ["  One size does not tell."]
    was, now, n = before[0][1].mean, leader.mean, sizes[-1]
    change = f"from {number(was)} to {number(now)} ({round(now / was - 1, 2) + 0.0:+.0%})"
    lines = [f"  From {sizes[-2]:,} to {n:,} rows the error of {curve.name} went {change}."]
    for times, words in IN_WORDS.items():
        found = forecast(curve, n, times)
        if found.count:
            ends = f"{number(found.lo, 3)} to {number(found.hi, 3)}"
            expected = f"an error of {number(found.mean, 3)} (90 %: {ends}){_typical(found.mean, facts)}"
            lines.append(f"  With {times * n:,} rows, {words} as many, expect {expected}.")
    if forecast(curve, n).mean > (1 - LITTLE) * now:
        lines.append("  So more rows of this kind change little. Other columns may help more.")
    return lines
