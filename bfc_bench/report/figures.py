"""Single figures of a suite, for papers and notebooks: which kinds there are, and what they show."""

from collections.abc import Sequence

from bfc_bench.analysis.compare import require_known
from bfc_bench.analysis.compute import cost_curves, shown_cost
from bfc_bench.analysis.curves import Curve, by_task
from bfc_bench.analysis.scaling import scalings
from bfc_bench.analysis.stages import stage_curves
from bfc_bench.errors import UsageError, suggest
from bfc_bench.report import plots
from bfc_bench.report.drawing import Drawing
from bfc_bench.report.section import features_at_largest_n
from bfc_bench.report.style import assign
from bfc_bench.store.rows import Rows

KINDS = {
    "curves": "error against n",
    "n-star": "N* against d",
    "cost": "error against the cost of fits",
    "features": "errors of hidden features after each stage",
}
"""Kinds of figures, and what they show."""
OF_ONE_TASK = ("n-star", "features")


def figure(
    kind: str,
    curves: Sequence[Curve],
    rows: Rows,
    *,
    tasks: Sequence[str] = (),
    labels: Sequence[str] = (),
    dims: Sequence[int] = (),
    levels: Sequence[float] = (),
) -> Drawing:
    """One figure of a suite."""
    if kind not in KINDS:
        raise UsageError(f"There is no kind of figure {kind!r}.{suggest(kind, KINDS)}")
    for field, asked_for in (("task", tasks), ("label", labels), ("d", dims)):
        require_known(rows, "figure", field, asked_for)

    def is_shown(task: str, label: str, d: int) -> bool:
        return task in (tasks or [task]) and label in (labels or [label]) and d in (dims or [d])

    chosen = [curve for curve in curves if is_shown(curve.task, curve.label, curve.d)]
    drawn_tasks = list(dict.fromkeys(curve.task for curve in chosen))
    if kind in OF_ONE_TASK and len(drawn_tasks) > 1:
        raise UsageError(f"A figure of kind {kind!r} shows one task. Choose one of: {', '.join(drawn_tasks)}.")
    together = [group.distinct("label") for group in by_task(rows).values()]
    styles = assign(labels) if labels else assign((curve.label for curve in curves), together)
    drawn: Drawing | None = None
    if kind == "curves":
        drawn = plots.learning_curves(chosen, styles)
    elif kind == "n-star":
        drawn = plots.thresholds_against(scalings(chosen, levels), styles)
    elif kind == "cost":
        costs = cost_curves(rows, [curve for curve in chosen if curve.scale == "log"], shown_cost(rows))
        if costs:
            drawn = plots.error_against_cost(costs, styles)
    else:
        stages = [curve for curve in stage_curves(rows) if is_shown(curve.task, curve.label, curve.d)]
        drawn = plots.feature_errors(features_at_largest_n(stages), styles)
    if drawn is None or not drawn.records:
        raise UsageError(f"The results have nothing for a figure of kind {kind!r}: {KINDS[kind]}.")
    return drawn
