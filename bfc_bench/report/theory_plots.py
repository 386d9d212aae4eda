"""Draws theoretical curves over figures of measured values, without changing their axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.scaling import Scaling
from bfc_bench.analysis.theory import Theories, expected_n_star
from bfc_bench.report.drawing import Drawing
from bfc_bench.report.plots import panel_title

NOTE = "Thin dashes without markers: theory, no free parameter."
LOOK = {"type": "line", "strokeWidth": 1.3, "strokeDash": [4, 3]}
FIT = {"type": "line", "strokeWidth": 1.2}
POINTS = 60
"""Points of a drawn curve."""


def add_theory(figure: Drawing, curves: Sequence[Curve], theories: Theories) -> None:
    """Draw the expected NMSE against n over ``plots.learning_curves``.

    Args:
        figure: The figure of the same ``curves``.
        curves: Learning curves.
        theories: Theories by (task, d, label).
    """
    several = len({curve.task for curve in curves}) > 1
    records = []
    for curve in curves:
        theory = theories.get((curve.task, curve.d, curve.label))
        if theory is None or curve.metric != "nmse" or curve.stage is not None:
            continue
        panel = f"{curve.task}, d = {curve.d}" if several else f"d = {curve.d}"
        for n in np.geomspace(curve.n[0], curve.n[-1], POINTS).tolist():
            records.append({"panel": panel, "label": curve.label, "n": n, "error": float(theory.nmse(n))})
    _add(figure, records)


def add_expected_n_star(figure: Drawing, scalings: Sequence[Scaling], theories: Theories) -> None:
    """Draw the expected N* against d over a figure of N*.

    Args:
        figure: A figure of the same ``scalings`` with one panel per level.
        scalings: Measured N*.
        theories: Theories by (task, d, label).
    """
    records = []
    for scaling in scalings:
        if scaling.metric != "nmse":
            continue
        panel = panel_title(scaling)
        for d in scaling.measured_dims:
            if theory := theories.get((scaling.task, d, scaling.label)):
                size = expected_n_star(theory, scaling.level)
                records.append({"panel": panel, "label": scaling.label, figure.x.field: float(d), "N*": float(size)})
    _add(figure, records)


def add_fits(figure: Drawing, scalings: Sequence[Scaling]) -> None:
    """Draw the fitted power law N* = c d^s of each learner over a figure of N* against d."""
    records = []
    for scaling in scalings:
        fit = scaling.exponent
        if fit.refused:
            continue
        at = {"panel": panel_title(scaling), "label": scaling.label, "s": fit.value}
        at["interval"] = f"[{fit.lo:.2f}, {fit.hi:.2f}]"
        for d in (fit.dims[0], fit.dims[-1]):
            records.append(at | {figure.x.field: float(d), "N*": float(np.exp(fit.intercept) * d**fit.value)})
    if records:
        figure.add("fit", FIT, records, tooltip={"label": "learner", "s": "s", "interval": "interval"})
        figure.notes.append("Thin line: the fitted N* ∝ dˢ; its s is under the pointer and in the table.")


def _add(figure: Drawing, records: Sequence[dict[str, object]]) -> None:
    count = len(figure.marks)
    figure.add("theory", LOOK, records)
    if len(figure.marks) > count:
        figure.notes.append(NOTE)
