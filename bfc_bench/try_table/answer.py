"""Says in words what the results on a table mean: how many rows, which learner, how sure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bfc_bench.analysis.compare import ALPHA, MIN_PAIRS, compare
from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.thresholds import threshold
from bfc_bench.report.tables import number, with_interval
from bfc_bench.stored_suite import StoredSuite
from bfc_bench.try_table.look import TableFacts

BASELINES = ("mean", "most-frequent")


@dataclass(frozen=True)
class _Last:
    """The error of a learner at one size."""

    label: str
    mean: float
    lo: float
    hi: float
    curve: Curve


def answer(stored: StoredSuite, facts: TableFacts) -> list[str]:
    """Lines of text about the results of the suite that was made for a table.

    Args:
        stored: The results.
        facts: What was found in the table.
    """
    curves = [curve for curve in stored.curves() if len(curve.n)]
    results = {int(n): [item for c in curves if (item := _last(c, int(n)))] for curve in curves for n in curve.n}
    most = max(map(len, results.values()), default=0)
    if not most:
        return ["No learner has a result: " + "; ".join(_reasons(stored))]
    # The kernel method may end at a smaller size; a size with fewer learners was not run to its end.
    sizes = sorted(n for n, items in results.items() if len(items) >= max(most - 1, 1))
    n = sizes[-1]
    last = sorted(results[n], key=lambda item: item.mean)
    lines = [_meaning(facts), "", f"With {n:,} training rows, best first:"]
    lines += [f"  {item.label}: {_error(item, facts)}" for item in last]
    lines += ["", "Which learner is better?", *_comparisons(last, n)]
    lines += ["  Repetitions are other draws from this table: p and intervals say nothing about another table."]
    lines += ["", "How many rows do you need?", *_rows_needed(last, stored.levels, facts)]
    lines += ["", "Would more rows help?", *_growth(last, sizes)]
    return lines + _cautions(stored, last, facts)


def _meaning(facts: TableFacts) -> str:
    if facts.classes:
        return f"Errors are the fraction of {facts.tested:,} test rows whose {facts.target!r} is predicted wrongly."
    return (
        f"Errors are mean squared errors on {facts.tested:,} test rows over the variance of {facts.target!r}: "
        f"1 is no better than the mean. The typical error, its root, is in the unit of {facts.target!r}."
    )


def _last(curve: Curve, n: int) -> _Last | None:
    for size, interval in zip(curve.n, curve.intervals, strict=True):
        if int(size) == n and interval.count:
            return _Last(curve.name, interval.mean, interval.lo, interval.hi, curve)
    return None


def _error(item: _Last, facts: TableFacts) -> str:
    text = with_interval(item.mean, item.lo, item.hi)
    if facts.classes:
        return text
    return f"{text}, typical error {number(math.sqrt(item.mean) * facts.deviation, 3)}"


def _comparisons(last: Sequence[_Last], n: int) -> list[str]:
    """The best learner against the next one and against the baseline."""
    best, *others = last
    if not others:
        return ["  There is one learner only."]
    rivals = [others[0], *(item for item in others[1:] if item.label in BASELINES)]
    return [f"  {_compared(best, rival, n)}" for rival in rivals]


def _compared(best: _Last, rival: _Last, n: int) -> str:
    found = next((item for item in compare(best.curve, rival.curve) if item.n == n), None)
    if found is None or found.pairs < MIN_PAIRS:
        return f"{best.label} against {rival.label}: too few repetitions to tell."
    if math.isnan(found.p):
        return f"{best.label} against {rival.label}: {found.refused}."
    if math.isnan(found.ratio):
        size = f"its error is lower by {number(-found.difference)} [{number(-found.hi)}, {number(-found.lo)}]"
    else:
        size = f"its error is {with_interval(found.ratio, found.lo, found.hi)} times that of {rival.label}"
    chance = f"p = {number(found.p)}"
    if found.p <= ALPHA:
        return f"{best.label} is better than {rival.label}: {size} ({chance}, {found.pairs} repetitions)."
    return (
        f"It is not sure that {best.label} is better than {rival.label}: {size} ({chance}, {found.pairs} repetitions). "
        "More repetitions can tell."
    )


def _rows_needed(last: Sequence[_Last], levels: Sequence[float], facts: TableFacts) -> list[str]:
    """N* of each learner at the smallest level that one reaches, and the next level, which none reaches."""
    useful = [item for item in last if item.label not in BASELINES]
    lines: list[str] = []
    ordered = sorted(levels, reverse=True)
    reached = [level for level in ordered if any(_reached(item.curve, level) for item in useful)]
    for level in reached[-2:]:
        needs = [f"{item.label} {_needs(item.curve, level)}" for item in useful]
        lines.append(f"  For an error of {_level(level, facts)}: {'; '.join(needs)}.")
    beyond = [level for level in ordered if level not in reached]
    if beyond:
        lines.append(f"  No learner reaches an error of {_level(beyond[0], facts)} with the rows that were tried.")
    return lines


def _level(level: float, facts: TableFacts) -> str:
    if facts.classes:
        return f"{level:g}"
    return f"{level:g} (typical error {number(math.sqrt(level) * facts.deviation, 3)})"


def _reached(curve: Curve, level: float) -> bool:
    """Whether at least half of the replicates reach a level."""
    found = threshold(curve, level)
    return bool(found.crossings) and 2 * found.right < len(found.crossings)


def _needs(curve: Curve, level: float) -> str:
    """The number of rows that a level takes, as far as it is known."""
    found, first, last = threshold(curve, level), int(curve.n.min()), int(curve.n.max())
    if not found.crossings:
        return "unknown"
    total = len(found.crossings)
    if found.left == total:
        return f"fewer than {first:,} rows"
    if found.right == total:
        return f"more than {last:,} rows"
    if found.left or found.right:
        known = [f"about {number(found.median[0])} rows"] * (found.median[0] == found.median[1])
        few = [f"fewer than {first:,} in {found.left} of {total} repetitions"] * bool(found.left)
        many = [f"more than {last:,} in {found.right} of {total} repetitions"] * bool(found.right)
        return ", ".join(known + few + many)
    ranges = {crossing.within for crossing in found.crossings if crossing.within}
    if len(ranges) == 1 and all(crossing.within for crossing in found.crossings):
        low, high = next(iter(ranges))
        return f"between {low:,.0f} and {high:,.0f} rows"
    interval = found.interval
    between = "" if math.isnan(interval.lo) else f" [{number(interval.lo)}, {number(interval.hi)}]"
    return f"about {number(interval.mean)} rows{between}"


def _growth(last: Sequence[_Last], sizes: Sequence[int]) -> list[str]:
    """How the error of the best learner changed from the last size but one."""
    best = last[0]
    before = _last(best.curve, sizes[-2]) if len(sizes) > 1 else None
    if before is None or not before.mean:
        return ["  One size does not tell."]
    change = 1 - best.mean / before.mean
    went = f"went from {number(before.mean)} to {number(best.mean)}"
    text = f"From {sizes[-2]:,} to {sizes[-1]:,} rows the error of {best.label} {went}"
    if change > 0.1:
        return [f"  {text}, by {change:.0%}: it still falls, so more rows are likely to help."]
    if change > 0.03:
        return [f"  {text}, by {change:.0%}: more rows help a little."]
    return [f"  {text}: more rows of this kind change little. Other columns may help more."]


def _cautions(stored: StoredSuite, last: Sequence[_Last], facts: TableFacts) -> list[str]:
    cautions = [f"  {reason}" for reason in _reasons(stored)]
    if last[0].label in BASELINES:
        cautions.append(f"  No learner is better than the baseline: these columns tell little about {facts.target!r}.")
    return ["", "Note:", *cautions] if cautions else []


def _reasons(stored: StoredSuite) -> list[str]:
    """Why cells have no result."""
    found: dict[str, int] = {}
    for row in stored.rows():
        if row.status not in ("ok", "skipped"):
            text = f"{row.label}: {row.status}: {row.reason}"
            found[text] = found.get(text, 0) + 1
    return [f"{text} ({count} cells)" for text, count in found.items()]
