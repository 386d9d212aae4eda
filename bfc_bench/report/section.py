"""The section of a report on one task: its figures and tables."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bfc_bench.analysis.compute import IN_WORDS, CostCurve, cost_curves, least_costs, shown_cost
from bfc_bench.analysis.curves import Curve, CurvePoint, curves, metric_of
from bfc_bench.analysis.laws import MIN_SIZES, ScalingLaw, scaling_laws
from bfc_bench.analysis.scaling import Scaling, scalings
from bfc_bench.analysis.stages import at_largest_n, stage_curves
from bfc_bench.analysis.theory import Theories, expected_exponent, expected_n_star, harmonics_slope
from bfc_bench.analysis.thresholds import NStars
from bfc_bench.report import plots, tables
from bfc_bench.report.artifacts import ShownCell
from bfc_bench.report.drawing import Drawing
from bfc_bench.report.page_figures import PageFigure, for_page
from bfc_bench.report.style import Styles
from bfc_bench.report.tables import Record, ReportTable, TableCell, estimate, listing, number, pivot, with_interval
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
TUNING = {"label": "learner", "learner": "plugin", "candidates": "candidates", "oracle": "oracle facts",
          "chosen": "chosen (cells)"}  # fmt: skip
EXPONENT = {"label": "learner", "level": "level", "exponent": "s", "range": "d", "points": "points",
            "curvature_p": "curvature p", "detectable": "detectable", "note": "method"}  # fmt: skip


@dataclass
class Section:
    """What was measured on one task, and what the report shows of it."""

    name: str
    definition: Mapping[str, Any]
    rows: Rows
    metric: str
    styles: Styles
    curves: Sequence[Curve]
    scalings: Sequence[Scaling]
    theories: Theories
    asymptotic: Mapping[str, float] = field(default_factory=dict)
    """Exponents of theorems by label."""
    brief: bool = False
    """Whether readers must ask for the other figures and tables of the task."""
    trimmed_curves: Sequence[Curve] = ()
    stages: Sequence[Curve] = ()
    """Curves after each stage of training."""
    costs: Sequence[CostCurve] = ()
    """Curves against operations or CPU time."""
    pictures: list[PageFigure] = field(default_factory=list)
    trimmed: PageFigure | None = None
    grids: Sequence[ReportTable] = ()
    """N* and its exponents, which readers see at once."""
    further: Sequence[ReportTable] = ()
    """The other tables, which are folded."""
    artifacts: Mapping[str, Sequence[ShownCell]] = field(default_factory=dict)
    """Artifacts of cells by label."""

    @property
    def metric_name(self) -> str:
        """The metric as readers know it."""
        return tables.metric_name(self.metric)

    @property
    def order(self) -> list[str]:
        """The labels of all tasks."""
        return list(self.styles)

    @property
    def degree(self) -> int | None:
        """The degree of a target with one degree on the sphere, else None."""
        target = self.definition.get("target", {})
        pure = target.get("kind") == "lowrank-poly" and target.get("form", "gegenbauer") == "gegenbauer"
        return int(target["degree"]) if pure else None

    @cached_property
    def oracle(self) -> dict[str, str]:
        """Facts about the target that learners were told, by label."""
        return {record["label"]: record["oracle"] for record in tables.tuning_table(self.rows) if record["oracle"]}

    @property
    def heavy_tailed(self) -> bool:
        """Whether trimming changes the curves, so that readers need both."""
        robust = {(curve.d, curve.label): curve.mean for curve in self.trimmed_curves}
        ratios = [c.mean / robust[c.d, c.label] for c in self.curves if (c.d, c.label) in robust]
        return any(np.any(ratio > HEAVY_TAIL) for ratio in ratios)


def build(
    name: str, rows: Sequence[Row], definition: Mapping[str, Any], styles: Styles,
    *, levels: Sequence[float], asymptotic: Mapping[str, float] | None = None,
    theories: Theories | None = None, brief: bool = False,
) -> Section:  # fmt: skip
    """Build the section of one task with its figures."""
    rows = Rows.of(rows)
    metric = metric_of(rows)
    place = {label: index for index, label in enumerate(styles)}
    measured = sorted(curves(rows, metric), key=lambda curve: (curve.d, place[curve.label]))
    section = Section(
        name, definition, rows, metric, styles, measured, scalings(measured, levels),
        theories if theories and metric == "nmse" else {}, asymptotic or {}, brief,
    )  # fmt: skip
    if not brief:
        robust = curves(rows, "nmse_trimmed") if metric == "nmse" else []
        section.trimmed_curves = [curve for curve in robust if np.isfinite(curve.values).any()]
        section.stages = sorted(stage_curves(rows, metric), key=lambda curve: place[curve.label])
        section.costs = cost_curves(rows, measured, shown_cost(rows))
    _draw(section)
    section.grids = [*_thresholds(section), _exponents(section)]
    if not brief:
        section.further = [*_errors(section), _laws(section), *_stages(section), _tuning(section)]
    return section


def _draw(section: Section) -> None:
    """Draw the figures of a section."""

    def add(figure: Drawing, title: str, what: str) -> None:
        section.pictures.append(for_page(figure, title, f"{what}-{section.name}"))

    metric, styles = section.metric_name, section.styles
    if section.curves:
        add(plots.learning_curves(section.curves, styles), f"{metric} against n", "curves")
    if section.trimmed_curves:
        figure = plots.learning_curves(section.trimmed_curves, styles)
        section.trimmed = for_page(figure, "trimmed NMSE against n", f"curves-trimmed-{section.name}")
    if len({curve.d for curve in section.curves}) > 1:
        add(plots.thresholds_against(section.scalings, styles), "N* against d", "thresholds")
    if not section.brief and (degrees := _degree_curves(section)):
        add(plots.degree_curves(degrees), "R² per degree against n", "degrees")
    costs = [of for of in section.costs if np.isfinite(of.curve.mean).any()]
    different = {(of.curve.d, cost) for of in costs for cost in of.costs.tolist()}
    if len(different) > len({d for d, _ in different}):
        drawn = plots.error_against_cost(costs, styles)
        add(drawn, f"{metric} against {drawn.x.title.partition(',')[0]}", "costs")
    if features := features_at_largest_n(section.stages):
        add(plots.feature_errors(features, styles), "feature errors by stage", "features")


def _errors(section: Section) -> Iterable[ReportTable]:
    errors = [point for curve in section.curves for point in curve.points]
    robust = {(p.d, p.label, p.n): number(p.mean) for curve in section.trimmed_curves for p in curve.points}
    most = max((p.replicates for p in errors), default=0)
    mean = " or ".join(dict.fromkeys(curve.mean_in_words for curve in section.curves)) or "geometric mean"
    interval = " or ".join(dict.fromkeys(curve.interval_in_words for curve in section.curves)) or "95 % t-interval"
    note = (
        f"{mean.capitalize()} of {most} replicates, or of R where R is given, with its {interval}. A mean hides rare "
        "failures, so the worst replicate is shown too."
    )
    if not all(curve.counted for curve in section.curves):
        note += " For skewed values, which fewer than 5 replicates cannot reveal, the interval covers 88 to 90 %."
    if robust:
        note += " Trimmed: without the 1 % of test points whose target is farthest from the median."

    def cell(p: CurvePoint) -> TableCell:
        count, failed = p.replicates, p.failed
        remarks = [f"trimmed {robust[key]}"] if count and (key := (p.d, p.label, p.n)) in robust else []
        remarks += [f"median {number(p.median)}"] if failed and count else []
        remarks += tables.worst(p.worst) if count > 1 else ()
        remarks += ["skewed: interval covers less"] if p.skewed else []
        remarks += [f"R = {count}" + f", {failed} failed" * bool(failed)] if count < most else []
        return estimate(p.mean, p.lo, p.hi, *remarks)

    dims = sorted({p.d for p in errors})
    for d in dims:
        at_d = (p for p in errors if p.d == d)
        title, below = f"{section.metric_name} by n, d = {d}", note if d == dims[-1] else ""
        yield pivot(title, at_d, LABEL, "n", cell, head=lambda n: f"n = {n:,}", note=below)


def _least_cost(least: NStars) -> str:
    """The least cost of a level with its interval in one line; empty if some replicate does not show it."""
    interval = least.interval
    text = with_interval(interval.mean, interval.lo, interval.hi)
    return "" if math.isnan(interval.mean) else f"{text} {IN_WORDS[least.cost]}"


def _thresholds(section: Section) -> Iterable[ReportTable]:
    levels = list(dict.fromkeys(scaling.level for scaling in section.scalings))
    costs = {(of.d, of.label, of.level): of for of in least_costs(section.costs, levels)}

    def cell(reached: NStars) -> TableCell:
        least = costs.get((reached.d, reached.label, reached.level))
        theory = section.theories.get((reached.task, reached.d, reached.label))
        remarks = [tables.censored(reached), tables.ill_behaved_remark(reached)]
        remarks += [_least_cost(least)] if least else []
        if theory is not None:
            remarks.append(f"theory {number(expected_n_star(theory, reached.level), 3)}")
        return TableCell(*tables.sample_size(reached), tuple(filter(None, remarks)))

    note = (
        "Geometric mean of the replicates with its 95 % interval; those that need more than the largest n (>) or no "
        "more than the smallest (≤) enter as bounds. The learner that needs the fewest at the largest d comes first. "
        "N* is the size at which a replicate's error first reaches the level; for ill-behaved curves, which rise above "
        "it again, the size from which they stay below is named too. Theory: N* of the mean curve in the learner's own "
        "theory, without a free parameter. FLOPs or CPU s: the least cost of a fit that reaches it, found like N*."
    )
    for level in levels:
        of_level = [scaling for scaling in section.scalings if scaling.level == level]
        at_level = [reached for scaling in of_level for reached in scaling.thresholds.values()]
        at_level.sort(key=lambda reached: (-reached.d, reached.rank))
        title = f"N*, training points needed for {section.metric_name} ≤ {level:g}"
        below = note if level == levels[-1] else ""
        yield pivot(title, at_level, LABEL, "d", cell, head=lambda d: f"d = {d}", note=below)


def _exponents(section: Section) -> ReportTable:
    def line(scaling: Scaling) -> Record:
        fit = scaling.exponent
        of_fit = {"curvature_p": fit.curvature_p, "detectable": fit.detectable, "theory": theory(scaling)}
        return {"label": scaling.label} | tables.exponent_cells(scaling) | of_fit

    def theory(scaling: Scaling) -> TableCell:
        """The slope of the learner's own theory, or of B(d, p) if it has none."""
        limit, dims = section.asymptotic.get(scaling.label), scaling.exponent.dims
        asymptotic = "" if limit is None else f"asymptotically {limit:g}"
        slope = expected_exponent(section.theories, section.name, scaling.label, scaling.level, dims)
        if not math.isnan(slope):
            return TableCell(f"{slope:.3g}", asymptotic)
        slope = math.nan if section.degree is None else harmonics_slope(dims, section.degree)
        if math.isnan(slope):
            return TableCell(asymptotic)
        return TableCell(f"B(d, {section.degree}): {slope:.3g}", asymptotic)

    note = (
        "The slope over the tested range of d with its 95 % interval; it is not the asymptotic exponent. Points: known "
        "thresholds + bounds. Detectable: the change of slope over the range that the curvature test detects with 80 % "
        "power."
    )
    columns = EXPONENT
    if section.degree is not None or section.asymptotic:
        columns = EXPONENT | {"theory": "theory"}
        note += " Theory: the slope over the same d of N* in the learner's own theory, or of B(d, p), the number of"
        note += " harmonics, for learners without one; then the theorem's exponent."
    records = (line(scaling) for scaling in section.scalings if len(scaling.measured_dims) > 1)
    return listing("Exponents s of N* ∝ dˢ", records, columns, note)


def _laws(section: Section) -> ReportTable:
    def cell(law: ScalingLaw) -> TableCell:
        if law.refused:
            return TableCell("no law", law.refused)
        b, c = law.exponents["n"], law.floor
        remarks = [f"c = {with_interval(c.mean, c.lo, c.hi)}", f"lack of fit p = {law.lack_of_fit_p:.2g}"]
        if not law.extrapolation.refused:
            ratio = law.extrapolation.ratio
            remarks.append(f"measured / predicted {with_interval(ratio.mean, ratio.lo, ratio.hi)}")
        return estimate(b.mean, b.lo, b.hi, *remarks, digits=3)

    note = (
        "Exponent b and floor c of one law fitted to all replicates (Huber loss of log error), with t-intervals, "
        "for curves with 5 sizes or more. The law is an assumption, and a curve with a sharp drop does not follow it. "
        "Below: p of its lack of fit, and the measured error at the largest n over the one that the law of the smaller "
        "n predicts."
    )
    title = f"Laws: {section.metric_name} ≈ c + a n⁻ᵇ"
    records = scaling_laws(curve for curve in section.curves if curve.shared.sum() >= MIN_SIZES)
    return pivot(title, records, LABEL, "d", cell, head=lambda d: f"d = {d}", note=note)


def _stages(section: Section) -> Iterable[ReportTable]:
    """Error and P_l after each stage, at the largest n of each d."""

    def cell(curve: Curve) -> TableCell:
        (point,) = curve.points
        remarks = tables.worst(point.worst) if point.replicates > 1 else ()
        return estimate(point.mean, point.lo, point.hi, *remarks)

    def head(metric: str) -> str:
        kind, _, part = metric.partition(".")
        return QUANTITIES[kind].format(part) if part else section.metric_name

    note = (
        "P: relative Procrustes distance of the hidden features from the target's, of as many as the target has, the "
        "most important first; uncut P: of all. Span: what a linear map of them misses. CKA: centred kernel alignment. "
        "Means are geometric, with t-intervals; those of errors in parts of the target (unbiased estimates that may be "
        "negative) and of error rates on data are arithmetic, and intervals of error rates count the test points too."
    )
    at_n = at_largest_n(section.stages)
    dims = sorted({curve.d for curve in at_n})
    for d in dims:
        at_d = [curve for curve in at_n if curve.d == d]
        title, below = f"After each stage, d = {d}, n = {at_d[0].n[0]:,}", note if d == dims[-1] else ""
        yield pivot(title, at_d, LABEL | {"stage_name": "stage"}, "metric", cell, head=head, note=below)


def _tuning(section: Section) -> ReportTable:
    note = (
        "Candidates: the number of option sets that were compared on a validation part of the training points; 1 means "
        "not tuned. Tuning never uses test errors. Oracle facts: what the learner was told about the target. Depth and "
        "skips are its L and J_l, listed if the options equal them and could have differed."
    )
    records = sorted(tables.tuning_table(section.rows), key=lambda record: section.order.index(record["label"]))
    lines = (
        r | {"oracle": TableCell(r["oracle"] or "none", kind="oracle" if r["oracle"] else "text")} for r in records
    )
    return listing("Tuning and oracle use", lines, TUNING, note)


def features_at_largest_n(stages: Sequence[Curve]) -> list[Curve]:
    """Feature errors P_l at the largest n, by layer and d."""
    features = at_largest_n([curve for curve in stages if curve.metric.startswith("feature_errors.")])
    return sorted(features, key=lambda curve: (curve.metric, curve.d))


def _degree_curves(section: Section) -> dict[int, list[Curve]]:
    """The curves of errors per degree."""
    degrees = {degree: part for part in section.rows.names("part_errors") if (degree := part_degree(part))}
    found = {degree: curves(section.rows, f"part_errors.{part}") for degree, part in sorted(degrees.items())}
    measured = {degree: [of for of in of_degree if np.isfinite(of.values).any()] for degree, of_degree in found.items()}
    return {
        degree: sorted(of_degree, key=lambda curve: section.order.index(curve.label))
        for degree, of_degree in measured.items()
        if of_degree
    }
