"""The tables of a run as plain data: lists of flat records, for the report, for MLflow and for the terminal."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, get_args

from bfc_bench.analysis.curves import FLOOR, Curve, curves
from bfc_bench.analysis.exponents import decay, fit_exponent
from bfc_bench.analysis.intervals import geometric_mean
from bfc_bench.analysis.theory import harmonics_slope
from bfc_bench.analysis.thresholds import threshold
from bfc_bench.store.row import Row, Status

Record: TypeAlias = dict[str, Any]
LEVELS = (0.1, 0.01)
FINAL = "final"
"""Stands for the final predictor among the stages."""
STATUSES: tuple[Status, ...] = get_args(Status)
MISSING = "\N{EN DASH}"


def metric_of(rows: Iterable[Row], metric: str = "nmse") -> str:
    """The metric, or ``error_rate`` where only that was measured: tasks with binary labels have no NMSE."""
    rows = [row for row in rows if row.status == "ok"]
    binary = all(getattr(row, metric) is None for row in rows) and any(row.error_rate is not None for row in rows)
    return "error_rate" if binary else metric


def by_task(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by task, in order of appearance."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.task].append(row)
    return dict(groups)


def status_table(rows: Iterable[Row]) -> list[Record]:
    """Cells per (task, label): how many of each status, and their CPU time in seconds."""
    groups = {
        key: group for rows_of in by_task(rows).values() for key, group in _grouped(rows_of, "task", "label").items()
    }
    statuses = sorted({row.status for group in groups.values() for row in group}, key=STATUSES.index)
    return [
        {"task": task, "label": label, "cells": len(group)}
        | {status: sum(row.status == status for row in group) for status in statuses}
        | {"cpu_seconds": sum(row.fit_cpu_seconds or 0.0 for row in group)}
        for (task, label), group in groups.items()
    ]


def error_table(found: Iterable[Curve]) -> list[Record]:
    """Geometric mean over replicates with its 95 % interval, median and worst, for each point of each curve."""
    return [
        {"task": curve.task, "d": curve.d, "label": curve.label, "metric": curve.metric, "n": int(curve.n[k])}
        | {"mean": interval.mean, "lo": interval.lo, "hi": interval.hi}
        | {"median": float(curve.median[k]), "worst": float(curve.worst[k])}
        | {"replicates": interval.count, "failed": int(curve.failures[k])}
        for curve in found
        for k, interval in enumerate(curve.intervals)
        if interval.count or curve.failures[k]
    ]


def threshold_table(found: Iterable[Curve], levels: Sequence[float] = LEVELS) -> list[Record]:
    """N*(level) of each curve, with the replicates censored below the smallest and beyond the largest n."""
    records = []
    for curve in found:
        for level in levels:
            reached = threshold(curve, level)
            interval = reached.interval
            records.append(
                {"task": curve.task, "d": curve.d, "label": curve.label, "metric": curve.metric, "level": level}
                | {"n_star": interval.mean, "lo": interval.lo, "hi": interval.hi, "replicates": len(reached.crossings)}
                | {"below": reached.left, "beyond": reached.right, "text": str(reached)}
            )
    return records


def exponent_table(found: Iterable[Curve], levels: Sequence[float] = LEVELS, degree: int | None = None) -> list[Record]:
    """Exponent of N*(level) in d for each (task, label) measured at 2 dimensions or more, or why there is none.

    For a target of one ``degree`` on the sphere ``harmonics_slope`` is that of log B(d, degree) over the same d.
    """
    groups: dict[tuple[str, str], list[Curve]] = defaultdict(list)
    for curve in found:
        if any(interval.count for interval in curve.intervals):
            groups[curve.task, curve.label].append(curve)
    records = []
    for (task, label), members in groups.items():
        for level in levels if len(members) >= 2 else ():
            fit = fit_exponent({curve.d: threshold(curve, level).crossings for curve in members})
            first, last = fit.range or (None, None)
            records.append(
                {"task": task, "label": label, "level": level, "exponent": fit.value, "lo": fit.lo, "hi": fit.hi}
                | {"d_first": first, "d_last": last, "values": fit.uncensored, "bounds": fit.censored}
                | {"curvature_p": fit.curvature_p, "detectable": fit.detectable, "lack_of_fit_p": fit.lack_of_fit_p}
                | {"method": fit.method, "note": fit.refused or fit.note}
                | ({} if degree is None else {"harmonics_slope": harmonics_slope(fit.dims, degree)})
            )
    return records


def decay_table(found: Iterable[Curve]) -> list[Record]:
    """Exponent b of error ~ n^-b over all sizes of each curve, with its interval over replicates."""
    records = []
    for curve in found:
        slope = decay(curve)
        if slope.count:
            records.append(
                {"task": curve.task, "d": curve.d, "label": curve.label, "metric": curve.metric}
                | {"n_first": int(curve.n[0]), "n_last": int(curve.n[-1])}
                | {"decay": slope.mean, "lo": slope.lo, "hi": slope.hi, "replicates": slope.count}
            )
    return records


def stage_values(rows: Iterable[Row], metric: str = "nmse") -> dict[tuple[str, int, int, str, str, str], list[float]]:
    """Values over replicates by (task, d, n, label, stage, quantity), stages in order of training, the last ``final``.

    The quantity is the metric, ``P of S2`` (feature error), ``span of S2`` (span error) or ``1 - CKA of S2``, with the
    name of the layer, or ``error in degree2``. Learners that show neither stages nor features are left out.
    """
    values: dict[tuple[str, int, int, str, str, str], list[float]] = defaultdict(list)
    for row in rows:
        if row.status == "ok" and (row.stages or row.feature_errors):
            final = {metric: getattr(row, metric), "feature_errors": row.feature_errors}
            final |= row.chosen.get("measured") or {}
            for stage, measured in [*row.stages.items(), (FINAL, final)]:
                quantities = {metric: measured.get(metric)}
                for part, error in (measured.get("feature_errors") or {}).items():
                    quantities[f"error in {part}" if part.startswith("degree") else f"P of {part}"] = error
                quantities |= {f"span of {layer}": e for layer, e in (measured.get("span_errors") or {}).items()}
                quantities |= {f"1 - CKA of {layer}": 1 - c for layer, c in (measured.get("cka") or {}).items()}
                for quantity, value in quantities.items():
                    if isinstance(value, int | float) and math.isfinite(value):
                        key = (row.task, row.d, row.n, row.label, stage, quantity)
                        values[key].append(max(float(value), FLOOR))
    return dict(values)


def stage_table(rows: Iterable[Row], metric: str = "nmse") -> list[Record]:
    """Error and feature error after each stage: geometric mean over replicates with its 95 % interval."""
    records = []
    for (task, d, n, label, stage, quantity), values in stage_values(rows, metric).items():
        interval = geometric_mean(values)
        records.append(
            {"task": task, "d": d, "n": n, "label": label, "stage": stage, "quantity": quantity}
            | {"mean": interval.mean, "lo": interval.lo, "hi": interval.hi, "replicates": interval.count}
        )
    return records


def tuning_table(rows: Iterable[Row]) -> list[Record]:
    """Per (task, label): candidates tried per cell, how often each was chosen, oracle facts used, options."""
    records = []
    for (task, label), group in _grouped((row for row in rows if row.status == "ok"), "task", "label").items():
        counts = sorted({int(row.chosen.get("candidates") or 1) for row in group})
        choices = Counter(_assignments(row.chosen.get("tuned") or {}) for row in group)
        oracle = sorted({fact for row in group for fact in row.chosen.get("oracle") or ()})
        tuned = {name for row in group for name in row.chosen.get("tuned") or {}}
        fixed = {name: value for name, value in group[0].options.items() if name not in tuned}
        records.append(
            {"task": task, "label": label, "learner": group[0].learner, "candidates": "-".join(map(str, counts))}
            | {"chosen": "; ".join(f"{choice} ({count})" for choice, count in choices.most_common() if choice)}
            | {"oracle": ", ".join(oracle), "options": _assignments(fixed)}
        )
    return records


def cost_table(rows: Iterable[Row]) -> list[Record]:
    """Per (task, label): CPU seconds in all and per cell at the largest n (tuning included), peak memory, device."""
    records = []
    for (task, label), group in _grouped((row for row in rows if row.status == "ok"), "task", "label").items():
        largest = max(row.n for row in group)
        seconds = [row.fit_cpu_seconds for row in group if row.n == largest and row.fit_cpu_seconds is not None]
        memory = [row.peak_memory_bytes for row in group if row.peak_memory_bytes is not None]
        records.append(
            {"task": task, "label": label, "cells": len(group)}
            | {"cpu_seconds": sum(row.fit_cpu_seconds or 0.0 for row in group), "largest_n": largest}
            | {"cpu_seconds_at_largest_n": statistics.median(seconds) if seconds else None}
            | {"peak_memory_mb": max(memory) / 1e6 if memory else None}
            | {"device": ", ".join(sorted({row.device for row in group if row.device}))}
        )
    return records


def problem_table(rows: Iterable[Row]) -> list[Record]:
    """Cells that are not ok, or that are with a caution, grouped by status, task, label and reason.

    Failures come first, cautions next, skips last.
    """
    groups = _grouped((row for row in rows if row.status != "ok" or row.reason), "status", "task", "label", "reason")
    return [
        {"status": status, "task": task, "label": label, "reason": reason or "no reason given", "cells": len(group)}
        | {"d": _listed(row.d for row in group), "n": _listed(row.n for row in group)}
        for (status, task, label, reason), group in sorted(groups.items(), key=lambda item: _severity(item[0][0]))
    ]


def _severity(status: Status) -> tuple[bool, bool, int]:
    return status == "skipped", status == "ok", STATUSES.index(status)


def summary_table(rows: Iterable[Row], levels: Sequence[float] = LEVELS, metric: str = "nmse") -> list[Record]:
    """One record per (task, d, label), as text for a terminal: error at the largest n, N* of each level, cells.

    ``best_n`` is the size with the least geometric mean; ``error`` that mean at ``n``, the largest size measured.
    """
    records = []
    for task, group in by_task(rows).items():
        used = metric_of(group, metric)
        cells = {key: Counter(row.status for row in members) for key, members in _grouped(group, "d", "label").items()}
        for curve in curves(group, used):
            measured = [
                (int(n), interval) for n, interval in zip(curve.n, curve.intervals, strict=True) if interval.count
            ]
            last_n, last = measured[-1] if measured else (None, None)
            best_n = min(measured, key=lambda item: item[1].mean)[0] if measured else None
            status = cells[curve.d, curve.label]
            records.append(
                {"task": task, "d": curve.d, "label": curve.label, "metric": used, "best_n": best_n, "n": last_n}
                | {"error": with_interval(last.mean, last.lo, last.hi) if last else "no value"}
                | {f"N*({level:g})": str(threshold(curve, level)) for level in levels}
                | {"ok": status["ok"], "failed": status.total() - status["ok"] - status["skipped"]}
                | {"skipped": status["skipped"]}
            )
    return records


def number(value: float | None, digits: int = 2) -> str:
    """Two significant digits: ``0.30``, ``1,342``, ``3.1e-7``; a dash for what is missing."""
    if value is None or math.isnan(value):
        return MISSING
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else ("∞" if value > 0 else "-∞")
    if 1e-3 <= abs(value) < 1e5:
        return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:#.{digits}g}".rstrip(".")
    return re.sub(r"e([+-])0*(\d)", lambda m: f"e{m[1].strip('+')}{m[2]}", f"{value:.{digits - 1}e}")


def with_interval(mean: float, lo: float, hi: float) -> str:
    """``3.1e-7 [2.2e-7, 4.5e-7]``, or the mean alone where one replicate gives no interval."""
    return number(mean) if math.isnan(lo) else f"{number(mean)} [{number(lo)}, {number(hi)}]"


def _grouped(rows: Iterable[Row], *fields: str) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(getattr(row, name) for name in fields)].append(row)
    return dict(groups)


def _assignments(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in options.items())


def _listed(values: Iterator[int]) -> str:
    return ", ".join(map(str, sorted(set(values))))
