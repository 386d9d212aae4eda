"""What a store holds of a suite, and what is computed from it: rows, curves, thresholds, exponents, verdicts."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfc_bench.plugins import Plugins
from bfc_bench.store.export import Records, rows_frame
from bfc_bench.store.row import COLUMNS, Row
from bfc_bench.store.rows import Rows
from bfc_bench.store.store import Store
from bfc_bench.suite.model import Suite

if TYPE_CHECKING:
    import pandas as pd

    from bfc_bench.analysis.claims import Claim, Verdict
    from bfc_bench.analysis.compare import Comparison
    from bfc_bench.analysis.curves import Curve
    from bfc_bench.analysis.interim_analyses import ClaimLooks, Look
    from bfc_bench.analysis.power_law import CurveFit
    from bfc_bench.analysis.replicates_needed import ReplicatesNeeded
    from bfc_bench.analysis.scaling import Scaling
    from bfc_bench.analysis.theory import Expected
    from bfc_bench.analysis.thresholds import Reached
    from bfc_bench.learner import Theory


class Curves(list["Curve"]):
    """Learning curves, which a notebook shows point by point."""

    def frame(self) -> pd.DataFrame:
        """One line per point: task, d, label, metric, n, the mean over replicates with its interval."""
        return Records(point for curve in self for point in curve.points).frame()

    def _repr_html_(self) -> str:
        return str(self.frame()._repr_html_())


@dataclass(frozen=True)
class Results:
    """What an open store holds of one suite version.

    Rows, and all that is computed from them, are those made under the definitions of the last run (its current view),
    unless ``every`` asks for all.
    """

    store: Store = field(repr=False)
    plugins: Plugins = field(repr=False)
    name: str
    version: int
    path: Path | None = None
    """The suite's file; None where only the store knows the suite."""
    model: Suite | None = field(default=None, repr=False)
    """The suite as its file is now; None: as its last run had it."""

    @property
    def sessions(self) -> list[dict[str, Any]]:
        """The runs, oldest first: id, started_at, finished_at, definition, provenance."""
        return self.store.sessions.of(self.name, self.version)

    @property
    def definition(self) -> dict[str, Any]:
        """The suite as its last run had it, as plain data."""
        definition: dict[str, Any] = self.sessions[-1]["definition"]
        return definition

    @cached_property
    def suite(self) -> Suite:
        """The suite as its file is now, so that a new claim is judged without a new run; without one, as run last."""
        return self.model or Suite.parse(self.definition, self.name)

    @property
    def levels(self) -> list[float]:
        """Error levels eps of N*(eps), as in the last run."""
        levels: list[float] = self.definition["levels"]
        return levels

    def rows(self, *, every: bool = False) -> list[Row]:
        """One row per cell; with ``every`` also those made under older definitions of tasks and learners."""
        return self.store.rows(self.name, self.version, every=every)

    def each(self, *, every: bool = False) -> Generator[Row, None, None]:
        """The same rows one by one, for those who need not have them all at once."""
        return self.store.iter_rows(self.name, self.version, every=every)

    def columns(self, *, every: bool = False, only: Sequence[str] = COLUMNS) -> Rows:
        """The same as columns: what is computed from many rows is computed from these.

        ``only`` those of a row are read that are needed, and what tells cells apart.
        """
        return self.store.columns(self.name, self.version, every=every, only=only)

    def frame(self, *, every: bool = False) -> pd.DataFrame:
        """The rows as a pandas frame, with a column of its own for each nested value: ``feature_errors.S2``."""
        return rows_frame(self.each(every=every))

    def artifacts(self, cell: str | Row) -> dict[str, Path]:
        """The files that a cell's predictor gave, by name; a cell is named by its row, or by what its row calls it."""
        return self.store.artifacts(cell if isinstance(cell, str) else cell.cell)

    def curves(self, metric: str = "nmse", stage: str | None = None, rows: Rows | None = None) -> Curves:
        """Error against n, one curve per (task, d, label), of ``rows``, by default all current ones; the error rate for
        tasks that have no NMSE.
        """
        from bfc_bench.analysis.curves import by_task, curves, metric_of

        groups = by_task(self.columns() if rows is None else rows).values()
        return Curves(curve for rows in groups for curve in curves(rows, metric_of(rows, metric), stage))

    def thresholds(self, levels: Sequence[float] | None = None, rows: Rows | None = None) -> Records[Reached]:
        """N*(level) of each curve of ``rows``, by default all current ones; the suite's levels by default."""
        from bfc_bench.analysis.thresholds import thresholds

        return Records(thresholds(self.curves(rows=rows), levels or self.levels))

    def exponents(self, levels: Sequence[float] | None = None) -> Records[Scaling]:
        """How N*(level) grows with d, for each (task, label) measured at two d or more; by default at all levels."""
        from bfc_bench.analysis.scaling import scalings

        return Records(found for found in scalings(self.curves(), levels or self.levels) if len(found.thresholds) > 1)

    def fits(self, metric: str = "nmse") -> Records[CurveFit]:
        """Each curve as error ~ c + a n^-b, with intervals of b and c over replicates that have 5 sizes or more."""
        from bfc_bench.analysis.power_law import curve_fits

        return Records(curve_fits(self.curves(metric)))

    @cached_property
    def theories(self) -> Mapping[tuple[str, int, str], Theory]:
        """What the learners of its last run offer, by task, d and label; none of learners that are tuned."""
        from bfc_bench.run.theories import SuiteTheories

        return SuiteTheories(self.definition, self.plugins)

    def theory(self, levels: Sequence[float] | None = None) -> Records[Expected]:
        """The theory's N*(level) beside the measured one, wherever a learner offers a theory; the suite's levels by
        default.
        """
        from bfc_bench.analysis.theory import expected

        return Records(expected(self.thresholds(levels), self.theories))

    def claims(self) -> Records[Verdict]:
        """A verdict per claim. Raises ``UsageError`` for a claim that does not fit the suite."""
        return self._verdicts(self.columns())

    def _verdicts(self, rows: Rows) -> Records[Verdict]:
        return Records(verdict for _, _, verdict in self._judged(rows))

    def _judged(self, rows: Rows) -> Iterator[tuple[ClaimLooks, Rows, Verdict]]:
        """Each claim, what it is judged on, and its verdict: on what its look saw, or on all but what was added for
        others.
        """
        from bfc_bench.analysis.claims import judge
        from bfc_bench.analysis.interim_analyses import without_added_rows

        found, grid = self.looks_by_claim(rows), without_added_rows(rows, self._looks, self.definition)
        seen = {
            looks.claim.id: grid if looks.current_look is None else rows.at(looks.current_look.row_mask(rows))
            for looks in found
        }
        verdicts = judge([looks.claim_at_look for looks in found], rows, self.theories, seen)
        for looks, verdict in zip(found, verdicts, strict=True):
            yield looks, seen[looks.claim.id], looks.with_notes(verdict)

    def looks_by_claim(self, rows: Rows | None = None) -> list[ClaimLooks]:
        """The claims with the looks that ``run --until-decided`` planned and made at them, judged on ``rows``, by
        default all current ones.
        """
        from bfc_bench.analysis.interim_analyses import looks_by_claim

        digests = self.store.sessions.definitions(self.name, self.version)
        return looks_by_claim(
            self._claims, self.columns() if rows is None else rows, self._looks, digests, self.definition
        )

    @property
    def _looks(self) -> list[Look]:
        from bfc_bench.analysis.interim_analyses import Look

        return [Look.of(record) for record in self.store.looks.of(self.name, self.version)]

    def replicates_needed(self) -> Records[ReplicatesNeeded]:
        """What would decide each claim: replicates at the spread seen so far, or sizes at which N* can be seen."""
        from bfc_bench.analysis.replicates_needed import replicates_needed

        judged = self._judged(self.columns())
        return Records(
            replicates_needed(looks, verdict, seen, self.suite.replicates) for looks, seen, verdict in judged
        )

    @property
    def _claims(self) -> list[Claim]:
        from bfc_bench.analysis.claims import parse_claims

        return parse_claims(self.suite, self.plugins.claims, str(self.path or self.name))

    def compare(self, a: str, b: str, metric: str = "nmse") -> Records[Comparison]:
        """Two labels, or ``LABEL/STAGE``, by paired tests at every (task, d, n) that both have."""
        from bfc_bench.analysis.compare import compare_labels

        return Records(compare_labels(self.columns(), a, b, metric))
