"""Requirements of a plot, tested on made-up rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bfc_bench.plugins import draw_figure
from bfc_bench.store.row import Row
from bfc_bench.testing.assertions import rng
from bfc_bench.testing.requirement import require, requirement

LABELS, DIMS, SIZES, REPLICATES = ("first", "second"), (5, 10), (50, 100, 200), 3


@dataclass
class PlotTrial:
    """A tested plot."""

    plot: Callable[[Sequence[Row]], Mapping[str, Any]]

    @property
    def rows(self) -> list[Row]:
        """New rows of two learners on two tasks, one with real labels and one with binary ones; some cells failed."""
        return [
            self._row(task, label, d, n, replicate)
            for task in ("values", "classes")
            for label in LABELS
            for d in DIMS
            for n in SIZES
            for replicate in range(REPLICATES)
        ]

    def _row(self, task: str, label: str, d: int, n: int, replicate: int) -> Row:
        error = float(min(1.0, d / n) * np.exp(rng("plot", task, label, d, n, replicate).normal(0, 0.2)))
        cell = f"{task}-{label}-{d}-{n}-{replicate}"
        row = Row(cell, "check", 1, task, label, label, {}, d, n, replicate, "ok")
        if label == "second" and replicate == 0:
            return replace(row, status="failed", reason="ValueError: made up")
        if task == "classes":
            row = replace(row, error_rate=min(error, 0.5))
        else:
            row = replace(row, nmse=error, nmse_trimmed=error / 2, train_nmse=error / 3)
        return replace(row, fit_cpu_seconds=n / 1e4, fit_wall_seconds=n / 1e4, parameters=d)

    def figures(self, rows: Sequence[Row]) -> dict[str, Any]:
        """The figures by file stem; fails unless the plot returns a mapping."""
        figures = self.plot(rows)
        require(isinstance(figures, Mapping), f"a plot must return {{file stem: figure}}. Got {type(figures).__name__}")
        return dict(figures)


@requirement()
def figures_have_file_stems(trial: PlotTrial) -> None:
    """``plot(rows)`` returns one figure or more, by names that a file can have."""
    stems = list(trial.figures(trial.rows))
    require(bool(stems), "made-up results of two learners must give one figure or more. Got none")
    for stem in stems:
        fine = isinstance(stem, str) and stem not in ("", ".", "..") and Path(stem).name == stem and "\\" not in stem
        require(fine, f"a file stem must be a text without a folder, such as 'every-cell'. Got {stem!r}")


@requirement(figures_have_file_stems)
def figures_can_be_drawn(trial: PlotTrial) -> None:
    """Each is a chart of Altair or a figure of Matplotlib, and is drawn without an error."""
    for figure in trial.figures(trial.rows).values():
        draw_figure(figure)


@requirement(figures_have_file_stems)
def results_are_not_changed(trial: PlotTrial) -> None:
    """The plot does not write into the rows, which other plots are given too."""
    rows = trial.rows
    trial.figures(rows)
    require(rows == trial.rows, "the plot changes the rows that it is given")


@requirement(figures_have_file_stems)
def results_without_errors_are_accepted(trial: PlotTrial) -> None:
    """Cells that all failed, and no rows at all, raise nothing."""
    for rows in ([row for row in trial.rows if row.status == "failed"], []):
        for figure in trial.figures(rows).values():
            draw_figure(figure)
