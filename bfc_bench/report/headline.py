"""The figure that a report begins with: the curves that its first claim speaks of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bfc_bench.analysis.claims.verdict import Verdict
from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.theory import Theories
from bfc_bench.report import plots, theory_plots
from bfc_bench.report.gallery import Gallery, Picture
from bfc_bench.report.section import Section
from bfc_bench.report.style import Drawing, Styles

WIDE, NARROW = 11.4, 4.0
"""Inches: the width of the page, and that of a phone."""
OF_DIMENSION = ("exponent", "slope")
"""Kinds of claims that speak of N* against d."""


@dataclass(frozen=True)
class Headline:
    """A statement and the figure that shows it, drawn for wide screens and for narrow ones."""

    statement: str
    wide: Picture
    narrow: Picture


def headline(
    suite: Mapping[str, Any],
    verdicts: Sequence[Verdict],
    sections: Sequence[Section],
    gallery: Gallery,
    styles: Styles,
    theories: Theories,
) -> Headline | None:
    """Of the first claim on a task that has curves, or else of the first task that has some; None where none has."""
    by_task = {section.name: section for section in sections if any(map(_is_drawn, section.curves))}
    entries = {claim.get("id"): claim for claim in suite.get("claim", ())}
    for verdict in verdicts:
        entry = entries.get(verdict.id, {})
        task = entry.get("task") or next(iter(entry.get("tasks") or ()), None)
        if task in by_task:
            statement = f"{verdict.sign} {verdict.words}: {verdict.statement}"
            return _made(statement, by_task[task], entry, gallery, styles, theories)
    if not by_task:
        return None
    first = next(iter(by_task.values()))
    return _made(
        f"{first.name}: {plots.METRIC_NAMES.get(first.metric, first.metric)}", first, {}, gallery, styles, theories
    )


def _is_drawn(curve: Curve) -> bool:
    return bool(np.isfinite(curve.mean).any() or curve.failures.any())


def _made(
    statement: str,
    section: Section,
    entry: Mapping[str, Any],
    gallery: Gallery,
    styles: Styles,
    theories: Theories,
) -> Headline:
    def drawn(width: float) -> Drawing:
        level = entry.get("level")
        scalings = [s for s in section.scalings if level in (None, s.level) and len(s.measured_dims) > 1]
        if entry.get("kind") in OF_DIMENSION and scalings:
            first = scalings[0].level
            of_level = [scaling for scaling in scalings if scaling.level == first]
            figure = plots.thresholds_against_d(of_level, "", styles, width=width)
            theory_plots.add_expected_n_star(figure, of_level, theories, styles)
            return figure
        dims = sorted({curve.d for curve in section.curves})
        d = entry.get("d") if entry.get("d") in dims else dims[-1]
        curves = [curve for curve in section.curves if curve.d == d]
        reached = [found for scaling in section.scalings for found in scaling.reached]
        figure = plots.learning_curves(curves, "", styles, reached=reached, width=width)
        theory_plots.add_theory(figure, curves, theories, styles)
        return figure

    return Headline(
        statement,
        gallery.add(drawn(WIDE), statement, "headline"),
        gallery.add(drawn(NARROW), statement, "headline-narrow", files=False),
    )
