"""The results of a suite in a store: curves, thresholds, exponents, fits and verdicts, its figures and its report."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bfc_bench.analysis.alpha_spending import schedule_from
from bfc_bench.analysis.claims import Claim, Finding, Verdict, finding_of, parse_claims, verdicts_on
from bfc_bench.analysis.claims.mean_evidence import MIN_REPLICATES
from bfc_bench.analysis.compare import (
    Comparison,
    ThresholdComparison,
    compare,
    compare_thresholds,
    pairs_of,
    require_known,
)
from bfc_bench.analysis.compute import CostName, FrontierPoint, cost_curves, frontiers, least_costs
from bfc_bench.analysis.curves import by_task, curves, metric_of
from bfc_bench.analysis.interim_analyses import ClaimLooks, looks_at, own_sizes
from bfc_bench.analysis.laws import ScalingLaw, law_of, scaling_laws
from bfc_bench.analysis.replicates_needed import ReplicatesNeeded, replicates_needed
from bfc_bench.analysis.scaling import Scaling, scalings
from bfc_bench.analysis.theory import Expected, Theories, expected
from bfc_bench.analysis.thresholds import NStars
from bfc_bench.errors import UsageError, suggest
from bfc_bench.plugins.manager import Plugins
from bfc_bench.store.export import Records, frame_of
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows
from bfc_bench.store.store import Store
from bfc_bench.stored_suite.curves import Curves
from bfc_bench.suite.model import Suite
from bfc_bench.utils.files import inside, make_folder
from bfc_bench.utils.plain_json import digest
from bfc_bench.version import __version__

if TYPE_CHECKING:
    import altair
    import pandas as pd

    from bfc_bench.report.drawing import Drawing

Levels: TypeAlias = Sequence[float] | float | None
"""Levels of error: one, several, or None for those of the suite."""


@dataclass(frozen=True)
class StoredSuite:
    """One suite version in an open store: its results, its figures and its report.

    By default results are computed from the current rows, which were made under the definitions of the last run.
    """

    store: Store = field(repr=False)
    plugins: Plugins = field(repr=False)
    name: str
    version: int
    path: Path | None = None
    """File of the suite; None if only the store knows the suite."""
    model: Suite | None = field(default=None, repr=False)
    """The suite in its present file; None to use the suite of the last run."""

    @property
    def sessions(self) -> list[dict[str, Any]]:
        """The runs, oldest first: id, started_at, finished_at, definition, provenance."""
        return self.store.sessions(self.name, self.version)

    @property
    def definition(self) -> dict[str, Any]:
        """The suite of the last run, as plain data."""
        return dict(self.sessions[-1]["definition"])

    @cached_property
    def suite(self) -> Suite:
        """The suite in its present file, which may have new claims; without a file, the suite of the last run."""
        return self.model or Suite.parse(self.definition, self.name)

    def axes(self, *, every: bool = False) -> list[dict[str, Any]]:
        """Values on the axes of grids, of each task and learner of the last run; of all runs with ``every``."""
        definitions = [run["definition"] for run in self.sessions] if every else [self.definition]
        entries = [entry for suite in definitions for kind in ("task", "learner") for entry in suite.get(kind, ())]
        return [entry["axes"] for entry in entries if entry.get("axes")]

    @property
    def levels(self) -> list[float]:
        """Error levels eps of N*(eps) in the last run."""
        return list(self.definition["levels"])

    def _levels(self, levels: Levels) -> list[float]:
        """The levels that were asked for, one or several, else the suite's. Raises ``UsageError`` for a text."""
        values = list(levels) if isinstance(levels, Iterable) else [] if levels is None else [levels]
        if not all(isinstance(level, Real) for level in values):
            raise UsageError(f"levels must be a number or a list of numbers, such as [0.1, 0.01]. Got {levels!r}.")
        return values or self.levels

    @property
    def labels(self) -> list[str]:
        """Labels of the learners in the last run."""
        return [entry.get("label") or entry["name"] for entry in self.definition.get("learner", ())]

    def rows(self, *, every: bool = False) -> Records[Row]:
        """One row per cell; ``every`` adds the rows of former definitions of tasks and learners."""
        return Records(self.store.rows(self.name, self.version, every=every))

    def each(self, *, every: bool = False) -> Generator[Row, None, None]:
        """``rows`` one by one, so that they need not be in memory at once."""
        return self.store.each(self.name, self.version, every=every)

    def columns(self, *, every: bool = False) -> Rows:
        """``rows`` as columns, which is faster for many rows."""
        return self.store.columns(self.name, self.version, every=every)

    def distinct(self, column: str, *, every: bool = False) -> list[str]:
        """The distinct values of ``task``, ``label`` or ``status``, sorted."""
        return self.store.distinct(self.name, self.version, column, every=every)

    def frame(self, *, every: bool = False) -> pd.DataFrame:
        """The rows as a pandas frame, with one column per nested value, for example ``feature_errors.S2``."""
        return frame_of(self.each(every=every))

    def artifacts(self, cell: str | Row) -> dict[str, Path]:
        """Paths of the files that a cell's predictor gave, by name; ``cell`` is a row or its ``row.cell``."""
        return self.store.artifacts(cell if isinstance(cell, str) else cell.cell)

    def curves(self, metric: str = "nmse", stage: str | None = None, rows: Rows | None = None) -> Curves:
        """Error against n, one curve per (task, d, label).

        Args:
            metric: Column of the errors.
            stage: Stage of the predictors; by default the final ones.
            rows: The rows to use; by default all current ones.

        Raises:
            UsageError: No row has this metric or stage.
        """
        rows = self.columns() if rows is None else rows
        if stage is not None and stage not in (names := rows.names("stages")):
            raise UsageError(f"curves: the results have no stage {stage!r}.{suggest(stage, names)}")
        groups = by_task(rows).values()
        return Curves(curve for rows in groups for curve in curves(rows, metric_of(rows, metric), stage))

    def thresholds(self, levels: Levels = None, rows: Rows | None = None) -> Records[NStars]:
        """N*(level) of each curve; ``levels`` are by default the suite's, and ``rows`` all current ones."""
        return self.curves(rows=rows).thresholds(self._levels(levels))

    def exponents(self, levels: Levels = None, axis: str = "d") -> Records[Scaling]:
        """Growth of N*(level) with d, or along another axis, for each (task, label) with several values."""
        curves = self.curves()
        axes = ["d", *dict.fromkeys(name for curve in curves for name in curve.axes)]
        if axis not in axes:
            raise UsageError(f"exponents: no curve has an axis {axis!r}.{suggest(axis, axes)}")
        all_scalings = scalings(curves, self._levels(levels), axis)
        return Records(scaling for scaling in all_scalings if len(scaling.thresholds) > 1)

    def least_costs(self, cost: CostName = "fit_flops", levels: Levels = None) -> Records[NStars]:
        """The least cost of a fit of each curve that reaches each level, found like N*."""
        return Records(least_costs(cost_curves(self.columns(), self.curves(), cost), self._levels(levels)))

    def frontier(self, cost: CostName = "fit_flops", metric: str = "nmse") -> Records[FrontierPoint]:
        """The least error of all learners at each cost, by task and d."""
        return Records(frontiers(cost_curves(self.columns(), self.curves(metric), cost)))

    def scaling_laws(self, metric: str = "nmse") -> Records[ScalingLaw]:
        """The law error ~ c + a n^-b of each curve, fitted to all replicates together, with its tests."""
        return Records(scaling_laws(self.curves(metric)))

    def joint_law(
        self, second: str, labels: Collection[str] | None = None, task: str | None = None, d: int | None = None,
        metric: str = "nmse",
    ) -> ScalingLaw:  # fmt: skip
        """The law error ~ c + a M^-p + b n^-q of curves that differ in M, fitted to all replicates together.

        Args:
            second: The number M: ``parameters``, ``d``, or the name of an axis of a grid.
            labels: Labels of the learners; all by default.
            task: The task; all by default.
            d: Input dimension; all by default.
            metric: Column of the errors.

        Raises:
            UsageError: The results have no such task, label or d.
        """
        rows = self._known_rows("joint_law", labels or (), [task] if task else (), [d] if d else ()).where(label=labels)
        return law_of(rows, self.curves(metric, rows=rows), second)

    @cached_property
    def theories(self) -> Theories:
        """Theories of the learners of the last run by (task, d, label); tuned learners have none."""
        from bfc_bench.run.theories import SuiteTheories

        return SuiteTheories(self.definition, self.plugins)

    def theory(self, levels: Levels = None) -> Records[Expected]:
        """N*(level) of theory and measurement for learners with a theory; ``levels`` are by default the suite's."""
        return Records(expected(self.thresholds(levels), self.theories))

    def claims(self, family: bool = False) -> Records[Verdict]:
        """One verdict per claim; with ``family``, a claim is decided only if its ``holm_p`` is at most .05.

        Raises ``UsageError`` for a claim that does not fit the suite.
        """
        return Records(verdict for _, _, verdict in self._judged(family))

    def _judged(self, family: bool = False) -> Iterator[tuple[ClaimLooks, Rows, Verdict]]:
        """Each claim with the rows that it is judged on and its verdict.

        A claim is judged at the last look whose cells all have rows, and undecided before. If the suite plans no looks,
        it is judged once, on all rows.
        """
        rows, judged = self.columns(), list[tuple[ClaimLooks, Rows, Claim, Finding]]()
        for looks in self.looks_by_claim():
            look = looks.current_look or looks.next_look
            own = look.rows if look else rows
            if look and look.finding:
                judged.append((looks, own, looks.claim_at_look, look.finding))
            else:
                finding = looks.without_look(finding_of(looks.claim, own))
                judged.append((looks, own, looks.claim, finding))
        verdicts = verdicts_on([(claim, finding) for *_, claim, finding in judged], family)
        for (looks, own, *_), verdict in zip(judged, verdicts, strict=True):
            yield looks, own, verdict

    @cached_property
    def parsed_claims(self) -> list[Claim]:
        """The claims of the suite. Raises ``UsageError`` for one that does not fit it."""
        return parse_claims(self.suite, self.plugins.claims, str(self.path or self.name))

    def looks_by_claim(self) -> list[ClaimLooks]:
        """The claims with their looks; without, after a run that located N*, as replicates have sizes of their own."""
        looks, rows = self.looks, self.columns()
        sizes = own_sizes(self.definition)
        claims = [claim.among(sizes, self.theories) for claim in self.parsed_claims]
        if looks is None or not sizes:
            return [ClaimLooks(claim, ()) for claim in claims]
        return [looks_at(claim, rows, sizes, looks) for claim in claims]

    @property
    def looks(self) -> list[int] | None:
        """The looks that the suite plans, else those of the first ``run --until-decided``; None if there are none."""
        planned = (run["definition"].get("looks") for run in self.sessions)
        first = next(filter(None, planned), None)
        return self.suite.looks or first

    def replicates_needed(self) -> Records[ReplicatesNeeded]:
        """What would decide each claim: replicates, given the spread so far, or the sizes that would show N*."""
        planned = self.looks or schedule_from(max(self.suite.replicates, MIN_REPLICATES))
        judged = self._judged()
        return Records(replicates_needed(looks, verdict, rows, planned) for looks, rows, verdict in judged)

    def compare(
        self, a: str, b: str, metric: str = "nmse", *, tasks: Collection[str] = (), dims: Collection[int] = ()
    ) -> Records[Comparison]:
        """Compare the errors of two learners by paired tests at every (task, d, n) that both have.

        Args:
            a: Label of one learner.
            b: Label of the other.
            metric: Column of the errors.
            tasks: Tasks to compare at; all by default.
            dims: Input dimensions to compare at; all by default.

        Raises:
            UsageError: The results have no such label, task or d, or no cell that both have.
        """
        comparisons = compare(pairs_of(self._rows_to_compare((a, b), tasks, dims), (a, b), metric))
        if not comparisons:
            raise UsageError(f"compare: {a!r} and {b!r} have no {metric} at the same task, d and n.")
        return Records(comparisons)

    def compare_thresholds(
        self, *labels: str, levels: Levels = None, metric: str = "nmse", tasks: Collection[str] = (),
        dims: Collection[int] = (),
    ) -> Records[ThresholdComparison]:  # fmt: skip
        """Compare N*(level) of each two learners, replicate by replicate, at every (task, d) that both have.

        Args:
            *labels: Labels of the learners; by default all of the suite.
            levels: Levels of error; by default those of the suite.
            metric: Column of the errors.
            tasks: Tasks to compare at; all by default.
            dims: Input dimensions to compare at; all by default.

        Raises:
            UsageError: As of ``compare``.
        """
        rows, names = self._rows_to_compare(labels, tasks, dims), labels or self.labels
        if not (comparisons := compare_thresholds(pairs_of(rows, names, metric), self._levels(levels))):
            raise UsageError(f"compare: no two of {', '.join(names)} have {metric} at the same task and d.")
        return Records(comparisons)

    def _rows_to_compare(self, labels: Sequence[str], tasks: Collection[str], dims: Collection[int]) -> Rows:
        """``_known_rows`` with labels that differ."""
        if twice := [label for label in labels if labels.count(label) > 1]:
            raise UsageError(f"compare: labels must differ. Got {twice[0]!r} twice.")
        return self._known_rows("compare", labels, tasks, dims)

    def _known_rows(self, who: str, labels: Collection[str], tasks: Collection[str], dims: Collection[int]) -> Rows:
        """The rows of some tasks and d. Raises ``UsageError`` if no row has one of them or one of the labels."""
        rows = self.columns()
        for column, wanted in (("task", tasks), ("d", dims), ("label", labels)):
            require_known(rows, who, column, wanted)
        rows = rows.where(task=tasks or None)
        return rows.at(np.isin(rows.d, list(dims))) if dims else rows

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
        place = {label: index for index, label in enumerate(self.labels)}
        curves = sorted(self.curves(metric), key=lambda curve: place.get(curve.label, len(place)))
        drawn = figure(kind, curves, self.columns(), tasks=tasks, labels=learners, dims=d, levels=self._levels(levels))
        drawn.title = self.name
        return drawn

    @property
    def directory(self) -> Path:
        """Default folder of its report. Raises ``OutputError`` if that is not in the store's folder."""
        inside(inside(self.store.directory, "reports"), f"{self.name}@{self.version}")
        return self.store.directory / "reports" / f"{self.name}@{self.version}"

    def report(self, directory: str | Path | None = None, *, tasks: Sequence[str] = ()) -> Path:
        """Write the report and return the path of its page.

        Args:
            directory: Folder to write to; by default one in the store.
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
            verdicts=self.claims(),
            theories=self.theories,
            artifacts=artifacts,
            key=key,
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
        times = self.store.finish_times(self.name, self.version)
        suite = self.suite.model_copy(update={"looks": None, "locate": None})  # a run may have set them
        return digest([__version__, self.definition, suite.definition(), self.looks, times])

    def _repr_html_(self) -> str:
        import pandas as pd

        from bfc_bench.report.tables import summary_table

        table = pd.DataFrame(summary_table(self.curves(), self.levels))
        return f"<b>{self.name}@{self.version}</b> in {self.store.directory}{table._repr_html_()}"
