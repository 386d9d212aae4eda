"""The first figure of a report: the curves of its first claim."""

from collections.abc import Mapping, Sequence
from typing import Any

from bfc_bench.analysis.claims.verdict import Verdict
from bfc_bench.report import plots
from bfc_bench.report.drawing import Drawing
from bfc_bench.report.page_figures import PageFigure, for_page
from bfc_bench.report.section import Section

OF_DIMENSION = ("exponent", "slope")
"""Kinds of claims about N* against d."""


def headline(suite: Mapping[str, Any], verdicts: Sequence[Verdict], sections: Sequence[Section]) -> PageFigure | None:
    """The figure of the first claim whose task has curves, else of the first task with curves; its title says which."""
    by_task = {section.name: section for section in sections if any(curve.points for curve in section.curves)}
    if not by_task:
        return None
    first = next(iter(by_task.values()))
    statement, entry = f"{first.name}: {first.metric_name}", dict[str, Any]()
    entries = {claim.get("id"): claim for claim in suite.get("claim", ())}
    for verdict in verdicts:
        claim = entries.get(verdict.id, {})
        task = claim.get("task") or next(iter(claim.get("tasks") or ()), None)
        if isinstance(task, str) and task in by_task:
            statement, entry, first = f"{verdict.sign} {verdict.words}: {verdict.statement}", claim, by_task[task]
            break
    return for_page(_figure(first, entry), statement, "headline")


def _figure(section: Section, entry: Mapping[str, Any]) -> Drawing:
    level = entry.get("level")
    scalings = [s for s in section.scalings if level in (None, s.level) and len(s.measured_dims) > 1]
    if entry.get("kind") in OF_DIMENSION and scalings:
        of_level = [scaling for scaling in scalings if scaling.level == scalings[0].level]
        return plots.thresholds_against(of_level, section.styles)
    dims = sorted({curve.d for curve in section.curves})
    d = entry.get("d") if entry.get("d") in dims else dims[-1]
    return plots.learning_curves([curve for curve in section.curves if curve.d == d], section.styles)
