"""The section of a report on one task: its figures and tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bfc_bench.analysis.compute import IN_WORDS, CostCurve, LeastCost, cost_curves, least_costs, shown_cost
from bfc_bench.analysis.curves import Curve, CurvePoint, curves, metric_of
from bfc_bench.analysis.laws import MIN_SIZES, ScalingLaw, scaling_laws
from bfc_bench.analysis.scaling import Scaling, scalings
from bfc_bench.analysis.stages import Quantity, StageErrors, stage_errors
from bfc_bench.analysis.theory import Theories, expected_exponent, expected_n_star, harmonics_slope
from bfc_bench.analysis.thresholds import Reached
from bfc_bench.report import cost_plots, plots, sphere_plots, tables, theory_plots
from bfc_bench.report.artifacts import ShownCell
from bfc_bench.report.gallery import Gallery, Picture
from bfc_bench.report.layout import ReportTable, TableCell, estimate, listing, pivot, worst
from bfc_bench.report.style import Styles
from bfc_bench.report.tables import MISSING, Record, number, sample_size, with_interval
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows
from bfc_bench.tasks.targets.harmonics import part_degree

HEAVY_TAIL = 1.5
"""Ratio of NMSE to trimmed NMSE above which the trimmed curves are shown unfolded."""
LABEL = {"label": "learner"}
QUANTITIES = {
    "feature_errors": "P of {}",
    "uncut_errors": "uncut P of {}",
    "part_errors": "error in {}",
    "span_errors": "span of {}",
    "cka_distance": "1 - CKA of {}",
}
"""Headings of the table of stages, for the name of a layer or a part of the target."""
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
    """The section of one task."""

    name: str
    definition: Mapping[str, Any]
    metric: str = "nmse"
    curves: Sequence[Curve] = ()
    scalings: Sequence[Scaling] = ()
    pictures: list[Picture] = field(default_factory=list)
    trimmed: Picture | None = None
    heavy_tailed: bool = False
    """Whether trimming changes the curves, so that readers need both."""
    grids: list[ReportTable] = field(default_factory=list)
    oracle: Mapping[str, str] = field(default_factory=dict)
    """Facts about the target that learners were told, by label."""
    artifacts: Mapping[str, Sequence[ShownCell]] = field(default_factory=dict)
    """Artifacts of cells by label."""
    brief: bool = False
    """Whether readers must ask for the other figures and tables of the task."""


@dataclass(frozen=True)
class _Task:
    """The rows of a task and the analyses that several figures and tables share."""

    name: str
    rows: Rows
    metric: str
    styles: Styles
    curves: Sequence[Curve]
    trimmed: Sequence[Curve]
    scalings: Sequence[Scaling]
    stages: Sequence[StageErrors]
    degree: int | None = None
    """Degree of a target with one degree on the sphere."""
    asymptotic: Mapping[str, float] = field(default_factory=dict)
    """Exponents of theorems by label."""
    theories: Theories = field(default_factory=dict)
    costs: Sequence[CostCurve] = ()
    """Curves against operations or CPU time."""

    @property
    def metric_name(self) -> str:
        return plots.METRIC_NAMES.get(self.metric, self.metric)

    @property
    def order(self) -> list[str]:
        return list(self.styles)


def build(
    name: str, rows: Sequence[Row], definition: Mapping[str, Any], gallery: Gallery, styles: Styles,
    *, levels: Sequence[float], metric: str, asymptotic: Mapping[str, float] | None = None,
    theories: Theories | None = None, brief: bool = False,
) -> Section:  # fmt: skip
    """Build the section of one task and write its figures."""
    rows = Rows.of(rows)
    metric = metric_of(rows, metric)
    robust = metric == "nmse" and not brief
    trimmed = [c for c in curves(rows, "nmse_trimmed") if np.isfinite(c.values).any()] if robust else []
    measured = curves(rows, metric)
    task = _Task(
        name,
        rows,
        metric,
        styles,
        measured,
        trimmed,
        scalings(measured, levels),
        [] if brief else stage_errors(rows, metric),
        _degree(definition),
        asymptotic or {},
        {} if theories is None or metric != "nmse" else theories,
        [] if brief else cost_curves(rows, [curve for curve in measured if curve.scale == "log"], shown_cost(rows)),
    )
    section = Section(name, definition, metric, measured, task.scalings, brief=brief)
    section.oracle = {r["label"]: r["oracle"] for r in tables.tuning_table(rows) if r["oracle"]}
    _draw(section, task, gallery)
    grids = [*_thresholds(task), _exponents(task)]
    if not brief:
        grids = [*_errors(task), *grids, _laws(task), *_stages(task), _tuning(task), _cost(task)]
    section.grids = [grid for grid in grids if grid.lines]
    return section


def _draw(section: Section, task: _Task, gallery: Gallery) -> None:
    if task.curves:
        thresholds = [reached for scaling in task.scalings for reached in scaling.reached]
        title = f"{task.name}: {task.metric_name} against n"
        figure = plots.learning_curves(task.curves, title, task.styles, reached=thresholds)
        theory_plots.add_theory(figure, task.curves, task.theories)
        section.pictures.append(gallery.add(figure, f"{task.metric_name} against n", f"curves-{task.name}"))
    if task.trimmed:
        figure = plots.learning_curves(task.trimmed, f"{task.name}: trimmed NMSE against n", task.styles)
        section.trimmed = gallery.add(figure, "trimmed NMSE against n", f"curves-trimmed-{task.name}")
        section.heavy_tailed = _heavy_tailed(task)
    if len({curve.d for curve in task.curves}) > 1:
        figure = plots.thresholds_against(task.scalings, f"{task.name}: N* against d", task.styles)
        theory_plots.add_expected_n_star(figure, task.scalings, task.theories)
        theory_plots.add_fits(figure, task.scalings)
        section.pictures.append(gallery.add(figure, "N* against d", f"thresholds-{task.name}"))
    if not section.brief and (degrees := _degree_curves(task)):
        figure = sphere_plots.degree_curves(degrees, f"{task.name}: R² per degree against n")
        section.pictures.append(gallery.add(figure, "R² per degree against n", f"degrees-{task.name}"))
    if shown := [of for of in task.costs if np.isfinite(of.curve.mean).any()]:
        against = cost_plots.AXES[shown[0].cost].partition(",")[0]
        figure = cost_plots.error_against_cost(shown, f"{task.name}: {task.metric_name} against cost", task.styles)
        section.pictures.append(gallery.add(figure, f"{task.metric_name} against {against}", f"costs-{task.name}"))
    if features := features_at_largest_n(task.stages):
        figure = plots.feature_errors(features, f"{task.name}: hidden features by stage, largest n", task.styles)
        section.pictures.append(gallery.add(figure, "feature errors by stage", f"features-{task.name}"))


def _errors(task: _Task) -> Iterable[ReportTable]:
    errors = [point for curve in task.curves for point in curve.points]
    robust = {(p.d, p.label, p.n): number(p.mean) for curve in task.trimmed for p in curve.points}
    most = max((p.replicates for p in errors), default=0)
    mean = " or ".join(dict.fromkeys(curve.mean_in_words for curve in task.curves)) or "geometric mean"
    interval = " or ".join(dict.fromkeys(curve.interval_in_words for curve in task.curves)) or "95 % t-interval"
    note = (
        f"{mean.capitalize()} of {most} replicates, or of R where R is given, with its {interval}. A mean hides rare "
        "failures, so the worst replicate is shown too."
    )
    if not all(curve.counted for curve in task.curves):
        note += " For skewed values, which fewer than 5 replicates cannot reveal, the interval covers 88 to 90 %."
    if robust:
        note += " Trimmed: without the 1 % of test points whose target is farthest from the median."

    def cell(p: CurvePoint) -> TableCell:
        count, failed = p.replicates, p.failed
        remarks = [f"trimmed {robust[key]}"] if count and (key := (p.d, p.label, p.n)) in robust else []
        remarks += [f"median {number(p.median)}"] if failed and count else []
        remarks += worst(p.worst) if count > 1 else ()
        remarks += ["skewed: interval covers less"] if p.skewed else []
        remarks += [f"R = {count}" + f", {failed} failed" * bool(failed)] if count < most else []
        return estimate(p.mean, p.lo, p.hi, *remarks)

    dims = sorted({p.d for p in errors})
    for d in dims:
        at_d = (p for p in errors if p.d == d)
        title, below = f"{task.metric_name} by n, d = {d}", note if d == dims[-1] else ""
        yield pivot(title, at_d, LABEL, "n", cell, head=lambda n: f"n = {n:,}", order=task.order, note=below)


def _least_cost(least: LeastCost) -> str:
    """The least cost of a level with its interval in one line; empty if some replicate does not show it."""
    interval = least.threshold.interval
    known = with_interval(interval.mean, interval.lo, interval.hi)
    return "" if math.isnan(interval.mean) else f"{known} {IN_WORDS[least.cost]}"


def _thresholds(task: _Task) -> Iterable[ReportTable]:
    levels = list(dict.fromkeys(scaling.level for scaling in task.scalings))
    costs = {(of.d, of.label, of.level): of for of in least_costs(task.costs, levels)}

    def cell(reached: Reached) -> TableCell:
        least = costs.get((reached.d, reached.label, reached.level))
        theory = task.theories.get((reached.task, reached.d, reached.label))
        remarks = [tables.ill_behaved_remark(reached.threshold), _least_cost(least) if least else ""]
        if theory is not None:
            remarks.append(f"theory {number(expected_n_star(theory, reached.level), 3)}")
        return TableCell(*sample_size(reached.threshold), tuple(filter(None, remarks)))

    note = (
        "Geometric mean of the replicates with its 95 % interval, or the median if some replicates are censored: they "
        "need more than the largest n (>) or less than the smallest (<). N* is the size at which a replicate's error "
        "first reaches the level; for ill-behaved curves, which rise above it again, the size from which they stay "
        "below is named too. Theory: N* of the mean curve in the learner's own theory, without a free parameter. "
        "FLOPs or CPU s: the least cost of a fit that reaches the level, found like N*."
    )
    for level in levels:
        at_level = (reached for scaling in task.scalings if scaling.level == level for reached in scaling.reached)
        title = f"N*, training points needed for {task.metric_name} ≤ {level:g}"
        below = note if level == levels[-1] else ""
        yield pivot(title, at_level, LABEL, "d", cell, head=lambda d: f"d = {d}", order=task.order, note=below)


def _exponents(task: _Task) -> ReportTable:
    def line(scaling: Scaling) -> Record:
        fit = scaling.exponent
        return {
            "label": scaling.label,
            "level": TableCell(f"{task.metric_name} ≤ {scaling.level:g}"),
            "exponent": estimate(fit.value, fit.lo, fit.hi, digits=3),
            "range": TableCell(MISSING if fit.refused else f"{fit.dims[0]}..{fit.dims[-1]}"),
            "values": TableCell(f"{fit.uncensored} + {fit.censored}"),
            "curvature_p": fit.curvature_p,
            "detectable": fit.detectable,
            "note": "; ".join(filter(None, [fit.method, fit.refused or fit.note])),
            "theory": theory(scaling),
        }

    def theory(scaling: Scaling) -> TableCell:
        """The slope of the learner's own theory, or of B(d, p) if it has none."""
        limit, dims = task.asymptotic.get(scaling.label), scaling.exponent.dims
        asymptotic = "" if limit is None else f"asymptotically {limit:g}"
        slope = expected_exponent(task.theories, task.name, scaling.label, scaling.level, dims)
        if not math.isnan(slope):
            return TableCell(f"{slope:.3g}", asymptotic)
        slope = math.nan if task.degree is None else harmonics_slope(dims, task.degree)
        return (
            TableCell(asymptotic) if math.isnan(slope) else TableCell(f"B(d, {task.degree}): {slope:.3g}", asymptotic)
        )

    note = (
        "The slope over the tested range of d with its 95 % interval; it is not the asymptotic exponent. Points: known "
        "thresholds + bounds. Detectable: the change of slope over the range that the curvature test detects with 80 % "
        "power."
    )
    columns = EXPONENT
    if task.degree is not None or task.asymptotic:
        columns = EXPONENT | {"theory": "theory"}
        note += " Theory: the slope over the same d of N* in the learner's own theory, or of B(d, p), the number of"
        note += " harmonics, for learners without one; then the theorem's exponent."
    records = _ranked(map(line, _with_exponents(task)), task.order)
    return listing("Exponents s of N* ∝ dˢ", records, columns, note)


def _laws(task: _Task) -> ReportTable:
    def cell(law: ScalingLaw) -> TableCell:
        if law.exponents is None:
            return TableCell("no law", law.refused)
        b, c = law.exponents["n"], law.floor
        floor = f"c = {with_interval(c.mean, c.lo, c.hi)}"
        return estimate(b.mean, b.lo, b.hi, floor, *_checks(law), digits=3)

    note = (
        "Exponent b and floor c of one law fitted to all replicates (Huber loss of log error), with t-intervals, "
        "for curves with 5 sizes or more. The law is an assumption, and a curve with a sharp drop does not follow it. "
        "Below: p of its lack of fit, and the measured error at the largest n over the one that the law of the smaller "
        "n predicts."
    )
    title = f"Laws: {task.metric_name} ≈ c + a n⁻ᵇ"
    records = scaling_laws(curve for curve in task.curves if len(curve.n) >= MIN_SIZES)
    return pivot(title, records, LABEL, "d", cell, head=lambda d: f"d = {d}", order=task.order, note=note)


def _checks(law: ScalingLaw) -> list[str]:
    """The lack of fit of a law and its extrapolation, in words."""
    checks = [f"lack of fit p = {law.lack_of_fit_p:.2g}"]
    if not law.extrapolation.refused:
        ratio = law.extrapolation.ratio
        checks.append(f"measured / predicted {with_interval(ratio.mean, ratio.lo, ratio.hi)}")
    return checks


def _stages(task: _Task) -> Iterable[ReportTable]:
    """Error and P_l after each stage, at the largest n of each d."""

    def cell(errors: StageErrors) -> TableCell:
        interval = errors.interval
        return estimate(interval.mean, interval.lo, interval.hi, *(worst(errors.worst) if interval.count > 1 else ()))

    def head(quantity: Quantity) -> str:
        return QUANTITIES[quantity.kind].format(quantity.part) if quantity.part else task.metric_name

    note = (
        "P: relative Procrustes distance of the hidden features from the target's, of as many as the target has, the "
        "most important first; uncut P: of all. Span: what a linear map of them misses. CKA: centred kernel alignment. "
        "Means are geometric, with t-intervals; those of errors in parts of the target (unbiased estimates that may be "
        "negative) and of error rates on data are arithmetic, and intervals of error rates count the test points too."
    )
    dims = sorted({errors.d for errors in task.stages})
    for d in dims:
        n = max(errors.n for errors in task.stages if errors.d == d)
        at_n = (errors for errors in task.stages if (errors.d, errors.n) == (d, n))
        title, below = f"After each stage, d = {d}, n = {n:,}", note if d == dims[-1] else ""
        yield pivot(title, at_n, LABEL | {"stage": "stage"}, "quantity", cell, head=head, order=task.order, note=below)


def _tuning(task: _Task) -> ReportTable:
    note = (
        "Candidates: the number of option sets that were compared on a validation part of the training points; 1 means "
        "not tuned. Tuning never uses test errors. Oracle facts: what the learner was told about the target. Depth and "
        "skips are its L and J_l, listed if the options equal them and could have differed."
    )
    records = _ranked(tables.tuning_table(task.rows), task.order)
    lines = (
        r | {"oracle": TableCell(r["oracle"] or "none", kind="oracle" if r["oracle"] else "text")} for r in records
    )
    return listing("Tuning and oracle use", lines, TUNING, note)


def _cost(task: _Task) -> ReportTable:
    note = "CPU time of fits that ended ok, tuning included. Cells that were trained together share it equally."
    return listing("Cost", _ranked(tables.cost_table(task.rows), task.order), COST, note)


def _ranked(records: Iterable[Record], order: Sequence[str]) -> list[Record]:
    return sorted(records, key=lambda record: order.index(record["label"]))


def features_at_largest_n(stages: Sequence[StageErrors]) -> list[StageErrors]:
    """Feature errors P_l at the largest n, by d and layer."""
    features = [errors for errors in stages if errors.quantity.kind == "feature_errors"]
    largest = {d: max(errors.n for errors in features if errors.d == d) for d in {errors.d for errors in features}}
    shown = (errors for errors in features if errors.n == largest[errors.d])
    return sorted(shown, key=lambda errors: (errors.d, errors.quantity.part))


def _degree(definition: Mapping[str, Any]) -> int | None:
    """The degree of a target with one degree on the sphere, else None."""
    target = definition.get("target", {})
    pure = target.get("kind") == "lowrank-poly" and target.get("form", "gegenbauer") == "gegenbauer"
    return int(target["degree"]) if pure else None


def _with_exponents(task: _Task) -> list[Scaling]:
    """Scalings with 2 measured dimensions or more."""
    return [scaling for scaling in task.scalings if len(scaling.measured_dims) > 1]


def _degree_curves(task: _Task) -> dict[tuple[int, str], dict[int, Curve]]:
    """Errors per degree by (d, label), then degree."""
    degrees = {degree: part for part in task.rows.names("part_errors") if (degree := part_degree(part))}
    by_degree: dict[tuple[int, str], dict[int, Curve]] = {}
    for degree, part in sorted(degrees.items()):
        for curve in curves(task.rows, f"part_errors.{part}"):
            if np.isfinite(curve.values).any():
                by_degree.setdefault((curve.d, curve.label), {})[degree] = curve
    return dict(sorted(by_degree.items(), key=lambda item: (item[0][0], task.order.index(item[0][1]))))


def _heavy_tailed(task: _Task) -> bool:
    robust = {(curve.d, curve.label): curve.mean for curve in task.trimmed}
    ratios = [c.mean / robust[c.d, c.label] for c in task.curves if (c.d, c.label) in robust]
    return any(np.any(ratio > HEAVY_TAIL) for ratio in ratios)
