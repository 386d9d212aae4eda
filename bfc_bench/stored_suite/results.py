"""Computes the results of a suite from its rows: curves, thresholds, exponents, fits and verdicts."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bfc_bench.analysis.claims import Verdict, decided_together, judge, parse_claims
from bfc_bench.analysis.compare import (
    Comparison,
    ThresholdComparison,
    compare_labels,
    compare_thresholds,
    require_known,
)
from bfc_bench.analysis.compute import CostName, FrontierPoint, cost_curves, frontiers, least_costs
from bfc_bench.analysis.curves import Curve, by_task, curves, metric_of
from bfc_bench.analysis.interim_analyses import ClaimLooks, Look, looks_by_claim, without_added_rows
from bfc_bench.analysis.laws import ScalingLaw, law_of, scaling_laws
from bfc_bench.analysis.replicates_needed import ReplicatesNeeded, replicates_needed
from bfc_bench.analysis.scaling import Scaling, scalings
from bfc_bench.analysis.theory import Expected, Theories, expected
from bfc_bench.analysis.thresholds import Reached, thresholds
from bfc_bench.errors import UsageError, suggest
from bfc_bench.plugins import Plugins
from bfc_bench.store.export import Records, frame_of
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows
from bfc_bench.store.store import Store
from bfc_bench.suite.model import Suite

if TYPE_CHECKING:
    import pandas as pd

Levels: TypeAlias = Sequence[float] | float | None
"""Levels of error: one, several, or None for those of the suite."""


class Curves(list[Curve]):
    """A list of learning curves that a notebook shows as a table of points."""

    def frame(self) -> pd.DataFrame:
        """A pandas frame with one line per point: task, d, label, metric, n, and the mean with its interval."""
        return Records(point for curve in self for point in curve.points).frame()

    def thresholds(self, levels: Sequence[float]) -> Records[Reached]:
        """N* of each curve: the training points that it needs to reach each of the levels of error."""
        return Records(reached for scaling in scalings(self, levels) for reached in scaling.reached)

    def __repr__(self) -> str:
        return f"<{len(self)} learning curves: .frame() makes a table of them>"

    def _repr_html_(self) -> str:
        return str(self.frame()._repr_html_())


@dataclass(frozen=True)
class Results:
    """The results of one suite version in an open store.

    By default they are computed from the current rows, which were made under the definitions of the last run.
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
        return self.store.sessions.of(self.name, self.version)

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
        asked = list(levels) if isinstance(levels, Iterable) else [] if levels is None else [levels]
        if not all(isinstance(level, Real) for level in asked):
            raise UsageError(f"levels must be a number or a list of numbers, such as [0.1, 0.01]. Got {levels!r}.")
        return asked or self.levels

    @property
    def labels(self) -> list[str]:
        """Labels of the learners in the last run."""
        return [entry.get("label") or entry["name"] for entry in self.definition.get("learner", ())]

    def rows(self, *, every: bool = False) -> Records[Row]:
        """One row per cell; ``every`` adds the rows of former definitions of tasks and learners."""
        return Records(self.store.rows(self.name, self.version, every=every))

    def each(self, *, every: bool = False) -> Generator[Row, None, None]:
        """``rows`` one by one, so that they need not be in memory at once."""
        return self.store.iter_rows(self.name, self.version, every=every)

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
        """Error against n, one curve per (task, d, label)."""
        rows = self.columns() if rows is None else rows
        if stage is not None and stage not in (known := rows.names("stages")):
            raise UsageError(f"curves: the results have no stage {stage!r}.{suggest(stage, known)}")
        groups = by_task(rows).values()
        return Curves(curve for rows in groups for curve in curves(rows, metric_of(rows, metric), stage))

    def thresholds(self, levels: Levels = None, rows: Rows | None = None) -> Records[Reached]:
        """N*(level) of each curve; ``levels`` are by default the suite's, and ``rows`` all current ones."""
        return Records(thresholds(self.curves(rows=rows), self._levels(levels)))

    def exponents(self, levels: Levels = None, axis: str = "d") -> Records[Scaling]:
        """Growth of N*(level) with d, or along another axis, for each (task, label) with several values."""
        curves = self.curves()
        known = ["d", *dict.fromkeys(name for curve in curves for name in curve.axes)]
        if axis not in known:
            raise UsageError(f"exponents: no curve has an axis {axis!r}.{suggest(axis, known)}")
        all_scalings = scalings(curves, self._levels(levels), axis)
        return Records(scaling for scaling in all_scalings if len(scaling.thresholds) > 1)

    def least_costs(self, cost: CostName = "fit_flops", levels: Levels = None) -> Records[Reached]:
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
        """The law error ~ c + a M^-p + b n^-q of curves that differ in M, fitted to all replicates together."""
        rows = self.columns()
        wanted = {"label": labels or (), "task": [task] if task else (), "d": [d] if d else ()}
        for column, values in wanted.items():
            require_known(rows, "joint_law", column, values)
        rows = rows.where(task=task, label=labels, d=d)
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
        verdicts = self._verdicts(self.columns())
        return Records(decided_together(verdicts)) if family else verdicts

    def _verdicts(self, rows: Rows) -> Records[Verdict]:
        return Records(verdict for _, _, verdict in self._judged(rows))

    def _judged(self, rows: Rows) -> Iterator[tuple[ClaimLooks, Rows, Verdict]]:
        """Each claim with the rows that it is judged on and its verdict.

        A claim with a current look is judged on the rows of the look, another one on all rows but those that were added
        for looks.
        """
        all_looks, grid = self.looks_by_claim(rows), without_added_rows(rows, self._looks, self.definition)
        judged_rows = {
            looks.claim.id: grid if looks.current_look is None else rows.at(looks.current_look.row_mask(rows))
            for looks in all_looks
        }
        verdicts = judge([looks.claim_at_look for looks in all_looks], rows, self.theories, judged_rows)
        for looks, verdict in zip(all_looks, verdicts, strict=True):
            yield looks, judged_rows[looks.claim.id], looks.with_notes(verdict)

    def looks_by_claim(self, rows: Rows | None = None) -> list[ClaimLooks]:
        """The claims with their looks of ``run --until-decided``; ``rows`` are by default all current ones."""
        claims = parse_claims(self.suite, self.plugins.claims, str(self.path or self.name))
        digests = self.store.sessions.definitions(self.name, self.version)
        rows = self.columns() if rows is None else rows
        return looks_by_claim(claims, rows, self._looks, digests, self.definition)

    @property
    def _looks(self) -> list[Look]:
        return [Look.of(record) for record in self.store.looks.of(self.name, self.version)]

    def replicates_needed(self) -> Records[ReplicatesNeeded]:
        """What would decide each claim: replicates, given the spread so far, or the sizes that would show N*."""
        judged, first = self._judged(self.columns()), self.suite.replicates
        return Records(replicates_needed(looks, verdict, rows, first) for looks, rows, verdict in judged)

    def compare(
        self, a: str, b: str, metric: str = "nmse", *, tasks: Collection[str] = (), dims: Collection[int] = ()
    ) -> Records[Comparison]:
        """Compare the errors of two learners by paired tests at every (task, d, n) that both have."""
        found = compare_labels(self._rows_of_both(a, b, tasks, dims), a, b, metric)
        if not found:
            raise UsageError(f"compare: {a!r} and {b!r} have no {metric} at the same task, d and n.")
        return Records(found)

    def compare_thresholds(
        self, a: str, b: str, levels: Levels = None, metric: str = "nmse", *,
        tasks: Collection[str] = (), dims: Collection[int] = (),
    ) -> Records[ThresholdComparison]:  # fmt: skip
        """Compare N*(level) of two learners, replicate by replicate, at every (task, d) that both have."""
        found = compare_thresholds(self._rows_of_both(a, b, tasks, dims), a, b, self._levels(levels), metric)
        if not found:
            raise UsageError(f"compare: {a!r} and {b!r} have no {metric} at the same task and d.")
        return Records(found)

    def _rows_of_both(self, a: str, b: str, tasks: Collection[str], dims: Collection[int]) -> Rows:
        """The rows of some tasks and d. Raises ``UsageError`` if no row has one of them or one of the labels."""
        if a == b:
            raise UsageError(f"compare: A and B must differ. Got {a!r} twice.")
        rows = self.columns()
        for column, wanted in (("task", tasks), ("d", dims), ("label", (a, b))):
            require_known(rows, "compare", column, wanted)
        rows = rows.where(task=tasks or None)
        return rows.at(np.isin(rows.d, list(dims))) if dims else rows
