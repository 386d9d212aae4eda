"""Shows the results of a suite in a store, as figures and in its report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING

from bfc_bench.analysis.compare import require_known
from bfc_bench.stored_suite.results import Levels, Results
from bfc_bench.utils.files import inside, make_folder
from bfc_bench.utils.plain_json import digest

if TYPE_CHECKING:
    import altair

    from bfc_bench.report.drawing import Drawing


@dataclass(frozen=True)
class StoredSuite(Results):
    """One suite version in an open store: its results, its figures and its report."""

    def plot(
        self, task: str | Sequence[str] = (), metric: str = "nmse", *, kind: str = "curves",
        learners: Sequence[str] = (), d: Sequence[int] = (), levels: Levels = None,
    ) -> altair.FacetChart:  # fmt: skip
        """A figure of the suite as a chart of Altair, which you can change, save and show in a notebook.

        Args:
            task: Tasks to show; all by default.
            metric: Column of the errors.
            kind: ``curves`` (error against n), ``n-star`` (N* against d), ``cost`` (error against
                the cost of fits) or ``features`` (errors of hidden features after each stage).
            learners: Labels of the learners to show, in the order of the legend; all by default.
            d: Input dimensions to show; all by default.
            levels: Levels of error for N*; by default those of the suite.

        Raises:
            UsageError: There is no such kind, task, learner or d, or the results have nothing of this kind.
        """
        return self.drawing(task, metric, kind=kind, learners=learners, d=d, levels=levels).chart()

    def drawing(
        self, task: str | Sequence[str] = (), metric: str = "nmse", *, kind: str = "curves",
        learners: Sequence[str] = (), d: Sequence[int] = (), levels: Levels = None,
    ) -> Drawing:  # fmt: skip
        """The same figure as the report draws it.

        Args:
            task: Tasks to show; all by default.
            metric: Column of the errors.
            kind: Kind of the figure, as of ``plot``.
            learners: Labels of the learners to show; all by default.
            d: Input dimensions to show; all by default.
            levels: Levels of error for N*; by default those of the suite.

        Raises:
            UsageError: As of ``plot``.
        """
        from bfc_bench.report.figures import figure

        tasks = [task] if isinstance(task, str) and task else list(task)
        curves = sorted(self.curves(metric), key=lambda curve: self._place(curve.label))
        return figure(
            kind, curves, self.columns(), tasks=tasks, labels=learners, dims=d, levels=self._levels(levels),
            title=self.name,
        )  # fmt: skip

    def _place(self, label: str) -> int:
        """The place of a label in the suite; labels that it does not have come last."""
        return self.labels.index(label) if label in self.labels else len(self.labels)

    @property
    def directory(self) -> Path:
        """Default folder of its report. Raises ``OutputError`` if that is not in the store's folder."""
        inside(inside(self.store.directory, "reports"), f"{self.name}@{self.version}")
        return self.store.directory / "reports" / f"{self.name}@{self.version}"

    def report(
        self, directory: str | Path | None = None, *, figures: Sequence[str] = (), tasks: Sequence[str] = (),
    ) -> Path:  # fmt: skip
        """Write the report and return the path of its page.

        Args:
            directory: Folder to write to; by default one in the store.
            figures: Formats of figure files beside the page: any of ``svg``, ``png``, ``pdf`` and ``json``.
            tasks: Tasks to write about, with all their figures and tables; by default all, in a large suite with
                learning curves and N* alone.

        Raises:
            OutputError: The report cannot be written; an earlier page remains.
            UsageError: The results have no such task.
        """
        from bfc_bench.report.html import write_report

        private = not directory
        of_tasks = re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(tasks)).strip("-.")
        directory = Path(directory or (self.directory / "tasks" / of_tasks if tasks else self.directory))
        key = "" if tasks else self._key  # before the rows are read: what is added meanwhile makes the page outdated
        rows = self.columns()
        require_known(rows, "report", "task", tasks)
        artifacts = [
            (row, self.artifacts(row))
            for row in (self.each() if (self.store.directory / "artifacts").exists() else ())
            if row.artifacts and (not tasks or row.task in tasks)
        ]
        make_folder(directory, private=private)
        suite = self.definition
        if tasks:
            suite = {**suite, "task": [task for task in suite["task"] if task["name"] in tasks]}
        return write_report(
            directory,
            suite=suite,
            rows=rows.where(task=tasks) if tasks else rows,
            sessions=self.sessions,
            levels=self.levels,
            extra_figures=self.plugins.figures(rows),
            verdicts=self._verdicts(rows),
            theories=self.theories,
            artifacts=artifacts,
            key=key,
            suffixes=figures,
            complete=bool(tasks),
        )

    @property
    def reported(self) -> bool:
        """Whether the report in the store is up to date."""
        return self.is_shown_in(self.directory)

    def is_shown_in(self, directory: Path) -> bool:
        """Whether the report in a folder is up to date."""
        from bfc_bench.report.source_key import key_of

        return key_of(directory) == self._key

    @property
    def _key(self) -> str:
        """A digest of everything that a report shows: rows, looks, the suite as run and in its file, the release."""
        looks = self.store.looks.of(self.name, self.version)
        times = self.store.finish_times(self.name, self.version)
        return digest([installed_version("bfc-bench"), self.definition, self.suite.definition(), *looks, times])

    def _repr_html_(self) -> str:
        import pandas as pd

        from bfc_bench.report.tables import summary_table

        table = pd.DataFrame(summary_table(self.columns(), self.levels))
        return f"<b>{self.name}@{self.version}</b> in {self.store.directory}{table._repr_html_()}"
