"""The tables of a report: records of rows, their layout as lines of cells, and how numbers read."""

import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, get_args

import numpy as np

from bfc_bench.analysis.curves import FLOOR, METRIC_NAMES, Curve
from bfc_bench.analysis.scaling import Scaling
from bfc_bench.analysis.thresholds import NStars, threshold
from bfc_bench.store.row import AXES, Row, Status
from bfc_bench.store.rows import Rows

T = TypeVar("T")
Record: TypeAlias = dict[str, Any]
LEVELS = (0.1, 0.01)
STATUSES: tuple[Status, ...] = get_args(Status)
MISSING = "\N{EN DASH}"
ROUNDING = 1e-14
"""Errors below it, the square of single precision, come from rounding: a third digit of them says nothing."""


def metric_name(metric: str) -> str:
    """A metric as readers know it."""
    return METRIC_NAMES.get(metric, metric)


def cells_table(rows: Iterable[Row]) -> Iterator[Record]:
    """Number of cells of each status and what fits cost, per (task, label).

    CPU seconds, with tuning, are those of all fits, and the median of one that ended ok at the largest n.
    """
    rows = Rows.of(rows)
    statuses = sorted(rows.distinct("status"), key=STATUSES.index)
    for (task, label), group in rows.groups("task", "label").items():
        counts, ok = Counter(group.column("status")), group.where(status="ok")
        largest = int(ok.n.max()) if len(ok) else None
        seconds, memory = _known(ok.where(n=largest), "fit_cpu_seconds"), _known(ok, "peak_memory_bytes")
        yield (
            {"task": task, "label": label, "cells": len(group)}
            | {status: counts[status] for status in statuses}
            | {"cpu_seconds": cpu_seconds(group), "largest_n": largest}
            | {"cpu_seconds_at_largest_n": statistics.median(seconds) if seconds else None}
            | {"peak_memory_mb": max(memory) / 1e6 if memory else None}
            | {"device": ", ".join(sorted(filter(None, ok.distinct("device"))))}
        )


def cpu_seconds(rows: Rows) -> float:
    """CPU seconds of all fits that have a time."""
    return sum(_known(rows, "fit_cpu_seconds"))


def _known(rows: Rows, name: str) -> list[float]:
    """The numbers of a column that are there."""
    numbers = rows.number(name)
    known: list[float] = numbers[~np.isnan(numbers)].tolist()
    return known


def tuning_table(rows: Iterable[Row]) -> Iterator[Record]:
    """Candidates per cell, chosen options with counts and oracle facts, per (task, label)."""
    for (task, label), group in Rows.of(rows).where(status="ok").groups("task", "label").items():
        candidates = group.number("chosen", "candidates")
        counts = np.unique(np.where(candidates > 0, candidates, 1)).astype(int).tolist()
        choices = Counter(group.mapped_column("tuned", lambda tuned: _assignments(tuned or {})))
        oracle = sorted({fact for facts in group.distinct("oracle") for fact in facts or ()})
        yield (
            {"task": task, "label": label, "learner": group.distinct("learner")[0]}
            | {"candidates": "-".join(map(str, counts))}
            | {"chosen": "; ".join(f"{choice} ({count})" for choice, count in choices.most_common() if choice)}
            | {"oracle": ", ".join(oracle)}
        )


def problem_table(rows: Iterable[Row]) -> list[Record]:
    """Cells that are not ok or have a caution, grouped by status, task, label and reason.

    Failures come first, then cautions, then skips.
    """
    rows = Rows.of(rows)
    with_reason = np.array(rows.mapped_column("reason", bool), dtype=bool)
    groups = rows.at(~rows.ok | with_reason).groups("status", "task", "label", "reason")
    return [
        {"status": status, "task": task, "label": label, "reason": reason or "no reason given", "cells": len(group)}
        | {"d": _listed(group.d), "n": _listed(group.n)}
        for (status, task, label, reason), group in sorted(groups.items(), key=lambda item: _severity(item[0][0]))
    ]


def _severity(status: Status) -> tuple[bool, bool, int]:
    return status == "skipped", status == "ok", STATUSES.index(status)


def summary_table(curves: Sequence[Curve], levels: Sequence[float] = LEVELS) -> list[Record]:
    """One record of texts per curve, with a column for each axis of a grid.

    Of a task and d, the learner that needs the fewest points comes first, at the smallest level that tells them apart,
    then the one with the lowest error. ``best_n`` is the size with the lowest mean, ``error`` the mean at ``n``, the
    largest measured size, and ``worst`` the worst replicate there.
    """
    tasks, ranked = list(dict.fromkeys(curve.task for curve in curves)), list[tuple[tuple[float, ...], Record]]()
    for curve in curves:
        measured = [point for point in curve.points if point.replicates]
        last = measured[-1] if measured else None
        best_n = min(measured, key=lambda point: point.mean).n if measured else None
        failed, skipped = int(curve.failures.sum()), sum(at_n.get("skipped", 0) for at_n in curve.statuses)
        reached = {level: threshold(curve, level) for level in levels}
        beyond = [f"{text} at {level:g}" for level, of in reached.items() if (text := censored(of))]
        record = (
            {"task": curve.task, "d": curve.d, "label": curve.label}
            | {f"{AXES}{axis}": value for axis, value in curve.axes.items()}
            | {"metric": curve.metric, "best_n": best_n, "n": last.n if last else None}
            | {"error": with_interval(last.mean, last.lo, last.hi) if last else "no value"}
            | {"worst": number(last.worst) if last else ""}
            | {f"N*({level:g})": _reached(of) for level, of in reached.items()}
            | {"censored": "; ".join(beyond)}
            | {"ok": int(curve.was_tried.sum()) - failed - skipped, "failed": failed, "skipped": skipped}
        )
        sizes = [reached[level].rank for level in sorted(levels)]
        ranked.append(((tasks.index(curve.task), curve.d, *sizes, last.mean if last else math.inf), record))
    return [record for _, record in sorted(ranked, key=lambda pair: pair[0])]


def _reached(threshold: NStars) -> str:
    return " ".join(
        filter(None, [*sample_size(threshold), f"({remark})" if (remark := ill_behaved_remark(threshold)) else ""])
    )


def number(value: float | None, digits: int = 2) -> str:
    """A number with two significant digits: ``0.30``, ``1,342``, ``3.1e-7``; a dash for None and nan."""
    if value is None or math.isnan(value):
        return MISSING
    if 0 < value <= FLOOR * (1 + 1e-9):
        return f"≤ {FLOOR:.0e}"
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else ("∞" if value > 0 else "-∞")
    if 1e-3 <= abs(value) < 1e5:
        rounded = float(f"{abs(value):.{digits}g}")
        return f"{value:,.0f}" if rounded >= 10**digits else f"{value:#,.{digits}g}".rstrip(".")
    return re.sub(r"e([+-])0*(\d)", lambda m: f"e{m[1].strip('+')}{m[2]}", f"{value:.{digits - 1}e}")


def interval_text(lo: float, hi: float, digits: int = 2) -> str:
    """``[2.2e-7, 4.5e-7]``; empty if the lower end is nan."""
    return "" if math.isnan(lo) else f"[{number(lo, digits)}, {number(hi, digits)}]"


def with_interval(mean: float, lo: float, hi: float) -> str:
    """``3.1e-7 [2.2e-7, 4.5e-7]``, with up to five digits if the interval's ends read alike or like 1: ``1.0002``."""
    if math.isnan(lo):
        return number(mean)
    ends = list(map(float, dict.fromkeys(f"{end:.9g}" for end in (lo, hi, 1.0) if math.isfinite(end))))
    rounded = max(abs(lo), abs(hi)) < ROUNDING
    digits = 2 if rounded else next((d for d in range(2, 5) if len({number(end, d) for end in ends}) == len(ends)), 5)
    return f"{number(mean, digits)} {interval_text(lo, hi, digits)}"


def sample_size(threshold: NStars) -> tuple[str, str]:
    """N* and its interval as texts: ``391`` and ``[325, 472]``. Without replicates the first is ``no data``.

    If some replicates are censored, what lies beyond what is known of these reads as their bound: ``113`` and ``[≤100,
    130]``, or ``>800`` and ``[601, >800]``. If all of it does, the texts are ``≤100`` or ``>800`` and nothing.
    """
    left, right = max(_beyond(threshold, "left"), default=0.0), min(_beyond(threshold, "right"), default=math.inf)
    interval = threshold.interval
    if not interval.count:
        return "no data", ""
    if interval.count in (threshold.left, threshold.right):
        return (f"≤{_size(left)}" if left else f">{_size(right)}"), ""
    mean, lo, hi = (
        f"≤{_size(left)}" if n < left else f">{_size(right)}" if n > right else MISSING if math.isnan(n) else _size(n)
        for n in (interval.mean, interval.lo, interval.hi)
    )
    return mean, "" if math.isnan(interval.lo) or mean == lo == hi else f"[{lo}, {hi}]"


def censored(threshold: NStars) -> str:
    """How many replicates are censored, ``1 of 3 ≤100``; empty if none is, or all are, which ``sample_size`` says."""
    total, left, right = len(threshold.replicates), _beyond(threshold, "left"), _beyond(threshold, "right")
    if total in (len(left), len(right)):
        return ""
    parts = [f"{len(left)} of {total} ≤{_size(max(left))}"] if left else []
    return ", ".join(parts + ([f"{len(right)} of {total} >{_size(min(right))}"] if right else []))


def _beyond(threshold: NStars, side: str) -> list[float]:
    """The bounds of the replicates that are censored on this side."""
    return [each.n for each in threshold.replicates if each.censored == side]


def ill_behaved_remark(threshold: NStars) -> str:
    """A remark on ill-behaved curves, with the size from which they stay below the level; empty if none is."""
    if not threshold.ill_behaved:
        return ""
    stays = "it ends above" if math.isinf(threshold.last) else f"stays below from {_size(threshold.last)}"
    return f"ill-behaved: {threshold.ill_behaved} of {len(threshold.replicates)} rise above again, {stays}"


def _size(n: float) -> str:
    return "<1" if n < 1 else f"{n:.0f}" if n >= 100 else f"{n:.3g}"


def _assignments(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in options.items())


def _listed(values: np.ndarray) -> str:
    return ", ".join(map(str, np.unique(values).tolist()))


@dataclass(frozen=True)
class TableCell:
    """One cell of a table: a value, its interval below it, and remarks."""

    text: str
    detail: str = ""
    remarks: tuple[str, ...] = ()
    kind: str = ""
    """CSS class: ``label`` and ``status`` get a mark, ``text`` is aligned to the left and wraps."""
    address: str = ""
    """Target of a link; empty for none."""


@dataclass(frozen=True)
class ReportTable:
    """One table of the report."""

    caption: str
    header: Sequence[str]
    lines: Sequence[Sequence[TableCell]] = field(repr=False)
    note: str = ""


def pivot(
    caption: str,
    records: Iterable[T],
    lines: Mapping[str, str],
    column: str,
    cell: Callable[[T], TableCell],
    *,
    head: Callable[[Any], str] = str,
    note: str = "",
) -> ReportTable:
    """A table with one line per value of the attributes ``lines`` and one column per value of ``column``.

    Lines stand in the order of the records.
    """
    records = list(records)
    columns = list(dict.fromkeys(getattr(record, column) for record in records))
    if all(isinstance(value, int) for value in columns):
        columns.sort()
    keys = dict.fromkeys(tuple(getattr(record, name) for name in lines) for record in records)
    cells = {
        (tuple(getattr(record, name) for name in lines), getattr(record, column)): cell(record) for record in records
    }
    body = [
        [*map(plain_cell, lines, key), *(cells.get((key, value), TableCell("")) for value in columns)] for key in keys
    ]
    return ReportTable(caption, [*lines.values(), *map(head, columns)], body, note)


def listing(caption: str, records: Iterable[Record], columns: Mapping[str, str], note: str = "") -> ReportTable:
    """A table with one line per record."""
    body = [[plain_cell(name, record.get(name)) for name in columns] for record in records]
    return ReportTable(caption, list(columns.values()), body, note)


def plain_cell(name: str, value: Any) -> TableCell:
    """The cell of a field: floats with two digits, everything else unchanged."""
    if isinstance(value, TableCell):
        return value
    if name in ("label", "status", "verdict"):
        return TableCell(str(value), kind="label" if name == "label" else "status")
    if isinstance(value, bool | str):
        return TableCell(str(value), kind="text")
    if isinstance(value, int):
        return TableCell(f"{value:,}")
    return TableCell(number(value))


def worst(value: float) -> tuple[str, ...]:
    """A remark with the value of the worst replicate, which a mean hides; empty for nan."""
    return () if math.isnan(value) else (f"worst {number(value)}",)


def estimate(mean: float, lo: float, hi: float, *remarks: str, digits: int = 2) -> TableCell:
    """A cell with a mean and its interval."""
    return TableCell(number(mean, digits), interval_text(lo, hi, digits), remarks)


def exponent_cells(scaling: Scaling) -> Record:
    """What a table says of the exponent of N*."""
    fit = scaling.exponent
    return {
        "level": TableCell(f"{metric_name(scaling.metric)} ≤ {scaling.level:g}"),
        "exponent": estimate(fit.value, fit.lo, fit.hi, digits=3),
        "range": TableCell(MISSING if fit.refused else f"{fit.dims[0]}..{fit.dims[-1]}"),
        "points": TableCell(f"{fit.uncensored} + {fit.censored}"),
        "note": "; ".join(filter(None, [fit.method, fit.refused or fit.note])),
    }
