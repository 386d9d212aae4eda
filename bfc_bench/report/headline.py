"""The first figure of a report: the curves of its first claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bfc_bench.analysis.claims.verdict import Verdict
from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.theory import Theories
from bfc_bench.report import plots, theory_plots
from bfc_bench.report.drawing import Drawing
from bfc_bench.report.gallery import Gallery, Picture
from bfc_bench.report.section import Section
from bfc_bench.report.style import Styles

OF_DIMENSION = ("exponent", "slope")
"""Kinds of claims about N* against d."""


@dataclass(frozen=True)
class Headline:
    """A statement and its figure."""

    statement: str
    picture: Picture


def headline(
    suite: Mapping[str, Any],
    verdicts: Sequence[Verdict],
    sections: Sequence[Section],
    gallery: Gallery,
    styles: Styles,
    theories: Theories,
) -> Headline | None:
    """The headline for the first claim whose task has curves, else for the first task with curves."""
    by_task = {section.name: section for section in sections if any(map(_has_values, section.curves))}
    entries = {claim.get("id"): claim for claim in suite.get("claim", ())}
    for verdict in verdicts:
        entry = entries.get(verdict.id, {})
        task = entry.get("task") or next(iter(entry.get("tasks") or ()), None)
        if isinstance(task, str) and task in by_task:
            statement = f"{verdict.sign} {verdict.words}: {verdict.statement}"
            return _headline(statement, by_task[task], entry, gallery, styles, theories)
    if not by_task:
        return None
    first = next(iter(by_task.values()))
    return _headline(
        f"{first.name}: {plots.METRIC_NAMES.get(first.metric, first.metric)}", first, {}, gallery, styles, theories
    )


def _has_values(curve: Curve) -> bool:
    return bool(np.isfinite(curve.mean).any() or curve.failures.any())


def _headline(
    statement: str,
    section: Section,
    entry: Mapping[str, Any],
    gallery: Gallery,
    styles: Styles,
    theories: Theories,
) -> Headline:
    figure = _figure(section, entry, styles, theories)
    return Headline(statement, gallery.add(figure, statement, "headline"))


def _figure(section: Section, entry: Mapping[str, Any], styles: Styles, theories: Theories) -> Drawing:
    level = entry.get("level")
    scalings = [s for s in section.scalings if level in (None, s.level) and len(s.measured_dims) > 1]
    if entry.get("kind") in OF_DIMENSION and scalings:
        of_level = [scaling for scaling in scalings if scaling.level == scalings[0].level]
        figure = plots.thresholds_against(of_level, "", styles)
        theory_plots.add_expected_n_star(figure, of_level, theories)
        return figure
    dims = sorted({curve.d for curve in section.curves})
    d = entry.get("d") if entry.get("d") in dims else dims[-1]
    curves = [curve for curve in section.curves if curve.d == d]
    thresholds = [reached for scaling in section.scalings for reached in scaling.reached]
    figure = plots.learning_curves(curves, "", styles, reached=thresholds)
    theory_plots.add_theory(figure, curves, theories)
    return figure
