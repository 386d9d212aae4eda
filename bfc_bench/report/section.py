"""What the report shows of one task: its figures and its tables."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bfc_bench.analysis.curves import Curve, curves
from bfc_bench.analysis.exponents import Exponent, fit_exponent
from bfc_bench.analysis.thresholds import Threshold, threshold
from bfc_bench.report import plots, sphere_plots, tables
from bfc_bench.report.gallery import Gallery, Picture
from bfc_bench.report.layout import Table, TableCell, estimate, listing, pivot
from bfc_bench.report.style import Styles
from bfc_bench.report.tables import MISSING, Record, number
from bfc_bench.store.row import Row

HEAVY_TAIL = 1.5
"""Ratio of NMSE to trimmed NMSE from which the trimmed curves are shown unfolded."""
LABEL = {"label": "learner"}
TUNING = {
    "label": "learner",
    "learner": "plugin",
    "candidates": "candidates",
    "oracle": "oracle facts",
    "chosen": "chosen (cells)",
}
EXPONENT = {
    "label": "learner",
    "level": "level",
    "exponent": "s",
    "range": "d",
    "values": "points",
    "curvature_p": "curvature p",
    "detectable": "detectable",
    "note": "method",
}
COST = {
    "label": "learner",
    "cells": "cells",
    "cpu_seconds": "CPU s, all",
    "cpu_seconds_at_largest_n": "CPU s per cell at the largest n",
    "largest_n": "largest n",
    "peak_memory_mb": "peak memory, MB",
    "device": "device",
}


@dataclass
class Section:
    """One task's part of the page."""

    name: str
    definition: Mapping[str, Any]
    pictures: list[Picture] = field(default_factory=list)
    trimmed: Picture | None = None
    heavy_tailed: bool = False
    """Whether trimming changes the picture, so that both curves must be seen."""
    grids: list[Table] = field(default_factory=list)
    oracle: Mapping[str, str] = field(default_factory=dict)
    """Facts about the target that learners were told, by label."""


@dataclass(frozen=True)
class _Task:
    """A task's rows with what is computed from them once."""

    name: str
    rows: Sequence[Row]
    metric: str
    levels: Sequence[float]
    styles: Styles
    found: Sequence[Curve]
    trimmed: Sequence[Curve]
    degree: int | None = None
    """Of a target of one degree on the sphere."""
    asymptotic: Mapping[str, float] = field(default_factory=dict)
    """Exponents that theorems give, by label."""

    @property
    def metric_name(self) -> str:
        return plots.METRIC_NAMES.get(self.metric, self.metric)

    @property
    def order(self) -> list[str]:
        return list(self.styles)


def build(
    name: str, rows: Sequence[Row], definition: Mapping[str, Any], gallery: Gallery, styles: Styles,
    *, levels: Sequence[float], metric: str, asymptotic: Mapping[str, float] | None = None,
) -> Section:  # fmt: skip
    """The section of task ``name`` from its ``rows``, its figures written by ``gallery`` in the report's ``styles``.

    ``asymptotic`` are exponents of N* as d grows that theorems give, by label.
    """
    metric = tables.metric_of(rows, metric)
    trimmed = [c for c in curves(rows, "nmse_trimmed") if np.isfinite(c.values).any()] if metric == "nmse" else []
    found = curves(rows, metric)
    task = _Task(name, rows, metric, levels, styles, found, trimmed, _degree(definition), asymptotic or {})
    section = Section(name, definition)
    section.oracle = {r["label"]: r["oracle"] for r in tables.tuning_table(rows) if r["oracle"]}
    _draw(section, task, gallery)
    grids = [
        *_errors(task),
        *_thresholds(task),
        _exponents(task),
        _decay(task),
        *_stages(task),
        _tuning(task),
        _cost(task),
    ]
    section.grids = [grid for grid in grids if grid.lines]
    return section


def _draw(section: Section, task: _Task, gallery: Gallery) -> None:
    if task.found:
        figure = plots.learning_curves(task.found, f"{task.name}: {task.metric_name} against n", task.styles)
        section.pictures.append(gallery.add(figure, f"{task.metric_name} against n", f"curves-{task.name}"))
    if task.trimmed:
        figure = plots.learning_curves(task.trimmed, f"{task.name}: trimmed NMSE against n", task.styles)
        section.trimmed = gallery.add(figure, "trimmed NMSE against n", f"curves-trimmed-{task.name}")
        section.heavy_tailed = _heavy_tailed(task)
    if len({curve.d for curve in task.found}) > 1:
        reached: dict[float, dict[str, dict[int, Any]]] = {level: {} for level in task.levels}
        for level, by_label in reached.items():
            for curve in task.found:
                by_label.setdefault(curve.label, {})[curve.d] = threshold(curve, level)
        figure = plots.thresholds_against_d(reached, f"{task.name}: N* against d", task.metric, task.styles)
        section.pictures.append(gallery.add(figure, "N* against d", f"thresholds-{task.name}"))
        if task.degree is not None:
            figure = sphere_plots.exponent_lines(
                _fits(task), task.degree, f"{task.name}: exponents", task.metric, task.styles, task.asymptotic
            )
            section.pictures.append(gallery.add(figure, "exponents and theory", f"exponents-{task.name}"))
    if degrees := _degree_curves(task):
        figure = sphere_plots.degree_curves(degrees, f"{task.name}: R² per degree against n")
        section.pictures.append(gallery.add(figure, "R² per degree against n", f"degrees-{task.name}"))
    if features := _features_at_largest_n(task):
        figure = plots.feature_errors(features, f"{task.name}: hidden features by stage, largest n", task.styles)
        section.pictures.append(gallery.add(figure, "feature errors by stage", f"features-{task.name}"))


def _errors(task: _Task) -> Iterable[Table]:
    errors = tables.error_table(task.found)
    robust = {(r["d"], r["label"], r["n"]): number(r["mean"]) for r in tables.error_table(task.trimmed)}
    most = max((r["replicates"] for r in errors), default=0)
    note = f"Geometric mean of {most} replicates, unless R says otherwise, with its 95 % t-interval."
    if robust:
        note += " Trimmed: without the 1 % of test points whose target is farthest from the median."

    def cell(r: Record) -> TableCell:
        count, failed = r["replicates"], r["failed"]
        remarks = [f"trimmed {robust[key]}"] if count and (key := (r["d"], r["label"], r["n"])) in robust else []
        remarks += [f"median {number(r['median'])}", f"worst {number(r['worst'])}"] if failed and count else []
        remarks += [f"R = {count}" + f", {failed} failed" * bool(failed)] if count < most else []
        return estimate(r["mean"], r["lo"], r["hi"], *remarks)

    dims = sorted({r["d"] for r in errors})
    for d in dims:
        at_d = (r for r in errors if r["d"] == d)
        title, below = f"{task.metric_name} by n, d = {d}", note if d == dims[-1] else ""
        yield pivot(title, at_d, LABEL, "n", cell, head=lambda n: f"n = {n:,}", order=task.order, note=below)


def _thresholds(task: _Task) -> Iterable[Table]:
    def cell(r: Record) -> TableCell:
        split = re.fullmatch(r"(\S.*?) ([\[(].*)", r["text"])
        return TableCell(split[1], split[2]) if split else TableCell(r["text"].strip("()"))

    note = (
        "Geometric mean of the replicates with its 95 % t-interval. Where some replicates are censored, their median: "
        "they need more than the largest n (>) or less than the smallest (<)."
    )
    reached = tables.threshold_table(task.found, task.levels)
    for level in task.levels:
        at_level = (r for r in reached if r["level"] == level)
        title = f"N*, training points needed for {task.metric_name} ≤ {level:g}"
        below = note if level == task.levels[-1] else ""
        yield pivot(title, at_level, LABEL, "d", cell, head=lambda d: f"d = {d}", order=task.order, note=below)


def _exponents(task: _Task) -> Table:
    def line(r: Record) -> Record:
        refused = np.isnan(r["exponent"])
        return r | {
            "level": TableCell(f"{task.metric_name} ≤ {r['level']:g}"),
            "exponent": estimate(r["exponent"], r["lo"], r["hi"], digits=3),
            "range": TableCell(MISSING if refused else f"{r['d_first']}..{r['d_last']}"),
            "values": TableCell(f"{r['values']} + {r['bounds']}"),
            "note": "; ".join(filter(None, [r["method"], r["note"]])),
            "theory": theory(r),
        }

    def theory(r: Record) -> TableCell:
        limit = task.asymptotic.get(r["label"])
        asymptotic = "" if limit is None else f"asymptotically {limit:g}"
        slope = r.get("harmonics_slope", math.nan)
        return (
            TableCell(asymptotic) if math.isnan(slope) else TableCell(f"B(d, {task.degree}): {slope:.3g}", asymptotic)
        )

    note = (
        "The slope over the tested range of d, with its 95 % interval: not the asymptotic exponent. Points: thresholds "
        "reached + bounds. Detectable: the change of slope over the range that the curvature test finds at 80 % power."
    )
    columns = EXPONENT
    if task.degree is not None or task.asymptotic:
        columns = EXPONENT | {"theory": "theory"}
        note += " Theory: the slope of B(d, p) over the same d, which kernels follow, and the theorem's exponent."
    records = _ranked(tables.exponent_table(task.found, task.levels, task.degree), task.order)
    return listing("Exponents s of N* ∝ dˢ", map(line, records), columns, note)


def _decay(task: _Task) -> Table:
    def cell(r: Record) -> TableCell:
        return estimate(r["decay"], r["lo"], r["hi"], digits=3)

    records = tables.decay_table(task.found)
    sizes = {(r["n_first"], r["n_last"]) for r in records}
    span = f"n = {min(a for a, _ in sizes):,}..{max(b for _, b in sizes):,}" if sizes else "n"
    note = "One slope per replicate over all its sizes. A curve with a sharp fall or a floor has no single exponent."
    title = f"Decay: exponent b of {task.metric_name} ∝ n⁻ᵇ over {span}"
    return pivot(title, records, LABEL, "d", cell, head=lambda d: f"d = {d}", order=task.order, note=note)


def _stages(task: _Task) -> Iterable[Table]:
    """Error and P_l after each stage, at the largest n of each d."""

    def cell(r: Record) -> TableCell:
        return estimate(r["mean"], r["lo"], r["hi"])

    def head(quantity: str) -> str:
        return task.metric_name if quantity == task.metric else quantity

    records = tables.stage_table(task.rows, task.metric)
    note = (
        "P: Procrustes distance of the hidden features from the target's, relative; span: what a linear map of them "
        "misses; CKA: centred kernel alignment. Geometric means with t-interval."
    )
    dims = sorted({r["d"] for r in records})
    for d in dims:
        n = max(r["n"] for r in records if r["d"] == d)
        at_n = (r for r in records if (r["d"], r["n"]) == (d, n))
        title, below = f"After each stage, d = {d}, n = {n:,}", note if d == dims[-1] else ""
        yield pivot(title, at_n, LABEL | {"stage": "stage"}, "quantity", cell, head=head, order=task.order, note=below)


def _tuning(task: _Task) -> Table:
    note = (
        "Candidates: option sets compared on a validation part of the training points, the tuning budget; 1 means not "
        "tuned. Test error is never used."
    )
    records = _ranked(tables.tuning_table(task.rows), task.order)
    lines = (
        r | {"oracle": TableCell(r["oracle"] or "none", kind="oracle" if r["oracle"] else "text")} for r in records
    )
    return listing("Tuning and oracle use", lines, TUNING, note)


def _cost(task: _Task) -> Table:
    note = "CPU time of fits that ended ok, tuning included; an equal share where cells were trained together."
    return listing("Cost", _ranked(tables.cost_table(task.rows), task.order), COST, note)


def _ranked(records: Iterable[Record], order: Sequence[str]) -> list[Record]:
    return sorted(records, key=lambda record: order.index(record["label"]))


def _features_at_largest_n(task: _Task) -> dict[tuple[int, str], dict[tuple[str, str], list[float]]]:
    """P_l by (d, layer), then (label, stage)."""
    values = {
        (*key[:5], key[5].removeprefix("P of ")): v
        for key, v in tables.stage_values(task.rows, task.metric).items()
        if key[5].startswith("P of ")
    }
    largest = {d: max(n for _, at, n, *_ in values if at == d) for d in {key[1] for key in values}}
    found: dict[tuple[int, str], dict[tuple[str, str], list[float]]] = {}
    for (_, d, n, label, stage, layer), v in sorted(values.items(), key=lambda item: (item[0][1], item[0][5])):
        if n == largest[d]:
            found.setdefault((d, layer), {})[label, stage] = v
    return found


def _degree(definition: Mapping[str, Any]) -> int | None:
    """The degree of a target that is of one degree on the sphere."""
    target = definition.get("target", {})
    pure = target.get("kind") == "lowrank-poly" and target.get("form", "gegenbauer") == "gegenbauer"
    return int(target["degree"]) if pure else None


def _fits(task: _Task) -> dict[float, dict[str, tuple[Exponent, dict[int, Threshold]]]]:
    """Exponent and thresholds by level and label, for labels measured at 2 dimensions or more."""
    fits: dict[float, dict[str, tuple[Exponent, dict[int, Threshold]]]] = {}
    for level in task.levels:
        reached: dict[str, dict[int, Threshold]] = {}
        for curve in task.found:
            reached.setdefault(curve.label, {})[curve.d] = threshold(curve, level)
        fits[level] = {
            label: (fit_exponent({d: found.crossings for d, found in by_d.items()}), by_d)
            for label, by_d in reached.items()
            if sum(bool(found.crossings) for found in by_d.values()) > 1
        }
    return fits


def _degree_curves(task: _Task) -> dict[tuple[int, str], dict[int, Curve]]:
    """Errors per degree by (d, label), then degree."""
    names = {name for row in task.rows for name in row.feature_errors if re.fullmatch(r"degree\d+", name)}
    found: dict[tuple[int, str], dict[int, Curve]] = {}
    for degree in sorted(int(name.removeprefix("degree")) for name in names):
        for curve in curves(task.rows, f"feature_errors.degree{degree}"):
            if np.isfinite(curve.values).any():
                found.setdefault((curve.d, curve.label), {})[degree] = curve
    return dict(sorted(found.items(), key=lambda item: (item[0][0], task.order.index(item[0][1]))))


def _heavy_tailed(task: _Task) -> bool:
    robust = {(curve.d, curve.label): curve.mean for curve in task.trimmed}
    ratios = [c.mean / robust[c.d, c.label] for c in task.found if (c.d, c.label) in robust]
    return any(np.any(ratio > HEAVY_TAIL) for ratio in ratios)
