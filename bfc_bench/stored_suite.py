"""The results of a suite in a store: the one object behind verbs, report, MLflow and Python.

Store, suite, version and plugins are resolved once, by ``open_store``; everything that is said of results starts here.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version as installed_version
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from bfc_bench.config import digest
from bfc_bench.errors import StoreError, UsageError, suggest
from bfc_bench.files import make_folder, write_file
from bfc_bench.plugins import Plugins, load_plugins
from bfc_bench.store import DEFAULT_STORE
from bfc_bench.store.export import ParquetTable, Records, rows_frame
from bfc_bench.store.row import COLUMNS, Row
from bfc_bench.store.rows import Rows
from bfc_bench.store.store import Store
from bfc_bench.suite.find import suite_path
from bfc_bench.suite.model import Suite, read_suite

if TYPE_CHECKING:
    import pandas as pd

    from bfc_bench.analysis.claims import Claim, Verdict
    from bfc_bench.analysis.compare import Comparison
    from bfc_bench.analysis.courses import Course, Look
    from bfc_bench.analysis.curves import Curve
    from bfc_bench.analysis.power import Power
    from bfc_bench.analysis.power_law import CurveFit
    from bfc_bench.analysis.scaling import Scaling
    from bfc_bench.analysis.theory import Expected
    from bfc_bench.analysis.thresholds import Reached
    from bfc_bench.learner import Theory
    from bfc_bench.report.style import Drawing
    from bfc_bench.tracking.sync import SyncReport


def open_store(directory: str | Path = DEFAULT_STORE, *, plugins: Plugins | None = None) -> OpenStore:
    """The results in a directory, for reading: ``open_store("results")["smoke"]`` is a ``StoredSuite``.

    A context manager; without ``with`` it is closed by ``close()`` or when it is forgotten. Raises ``StoreError`` where
    there is no store.
    """
    return OpenStore(Path(directory), plugins or load_plugins())


class OpenStore(Mapping[str, "StoredSuite"]):
    """The suites of an open store: by name, with the version of their file or as ``smoke@1``, or by path."""

    def __init__(self, directory: Path, plugins: Plugins) -> None:
        self.store, self.plugins = Store(directory), plugins

    def __getitem__(self, suite: str | Path) -> StoredSuite:
        """Raises ``StoreError`` where the store holds no run of the suite, ``UsageError`` for an unknown name."""
        held = self.store.suites()
        name, version, path, model = self._find(str(suite), held)
        if (name, version) not in held:
            raise StoreError(
                f"The store in {self.store.directory} has no run of {name}@{version}; "
                f"`bfc-bench run {suite}` makes one."
            )
        return StoredSuite(self.store, self.plugins, name, version, path, model)

    def _find(self, suite: str, held: Sequence[tuple[str, int]]) -> tuple[str, int, Path | None, Suite | None]:
        """Name and version, and the file of the suite with what it says: None for one known from the store alone."""
        name, _, version = suite.rpartition("@")
        if name and version.isdecimal():
            return name, int(version), None, None
        versions = [version for name, version in held if name == suite]
        if versions and suite not in self.plugins.suites:
            return suite, max(versions), None, None
        path = suite_path(suite, self.plugins.suites)
        model = read_suite(path)
        return model.name, model.version, path, model

    def of(self, suite: Suite) -> StoredSuite:
        """The results of a suite that is at hand; its own claims are judged, not those of a file."""
        return StoredSuite(self.store, self.plugins, suite.name, suite.version, model=suite)

    def only(self) -> StoredSuite:
        """The suite of a store that holds one. Raises ``StoreError`` that names what it holds otherwise."""
        names = list(self)
        if len(names) != 1:
            held = f"holds {', '.join(names)}" if names else "holds no suite"
            raise StoreError(f"the store in {self.store.directory} {held}: name one.")
        return self[names[0]]

    def __iter__(self) -> Iterator[str]:
        return iter(f"{name}@{version}" for name, version in sorted(self.store.suites()))

    def __len__(self) -> int:
        return len(self.store.suites())

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<store {self.store.directory}: {', '.join(self) or 'empty'}>"

    def _repr_html_(self) -> str:
        import pandas as pd

        suites = [(name, len(suite.columns()), len(suite.sessions)) for name, suite in self.items()]
        return str(pd.DataFrame(suites, columns=["suite", "cells", "runs"])._repr_html_())


class Curves(list["Curve"]):
    """Learning curves, which a notebook shows point by point."""

    def frame(self) -> pd.DataFrame:
        """One line per point: task, d, label, metric, n, the mean over replicates with its interval."""
        return Records(point for curve in self for point in curve.points).frame()

    def _repr_html_(self) -> str:
        return str(self.frame()._repr_html_())


@dataclass(frozen=True)
class StoredSuite:
    """One suite version in an open store.

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
        return self.store.sessions(self.name, self.version)

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

    @property
    def directory(self) -> Path:
        """Where its report lies unless another place is asked for."""
        return self.store.directory / "reports" / f"{self.name}@{self.version}"

    def rows(self, *, every: bool = False) -> list[Row]:
        """One row per cell; with ``every`` also those made under older definitions of tasks and learners."""
        return self.store.rows(self.name, self.version, every=every)

    def each(self, *, every: bool = False) -> Generator[Row, None, None]:
        """The same rows one by one, for those who need not have them all at once."""
        return self.store.each(self.name, self.version, every=every)

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

    def plot(self, task: str = "", metric: str = "nmse") -> Drawing:
        """The learning curves of a task, by default of all, as a figure that a notebook shows: one panel per task and
        d, with the levels and N* of each learner. ``savefig`` writes it. Raises ``UsageError`` for an unknown task.
        """
        from bfc_bench.report.plots import learning_curves
        from bfc_bench.report.style import assign

        found = self.curves(metric)
        known = dict.fromkeys(curve.task for curve in found)
        if task and task not in known:
            raise UsageError(f"{self.name} has no curves of a task {task!r}.{suggest(task, known)}")
        shown = [curve for curve in found if task in ("", curve.task)]
        styles = assign(entry.get("label") or entry["name"] for entry in self.definition.get("learner", ()))
        return learning_curves(shown, self.name, styles, reached=self.thresholds())

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

    def _judged(self, rows: Rows) -> Iterator[tuple[Course, Rows, Verdict]]:
        """Each claim, what it is judged on, and its verdict: on what its look saw, or on all but what was added for
        others.
        """
        from bfc_bench.analysis.claims import judge
        from bfc_bench.analysis.courses import of_the_grid

        found, grid = self.courses(rows), of_the_grid(rows, self._looks, self.definition)
        seen = {course.claim.id: grid if course.stand is None else rows.at(course.stand.sees(rows)) for course in found}
        verdicts = judge([course.judged for course in found], rows, self.theories, seen)
        for course, verdict in zip(found, verdicts, strict=True):
            yield course, seen[course.claim.id], course.remarked(verdict)

    def courses(self, rows: Rows | None = None) -> list[Course]:
        """The claims with the looks that ``run --until-decided`` planned and made at them, judged on ``rows``, by
        default all current ones.
        """
        from bfc_bench.analysis.courses import courses

        digests = self.store.definitions(self.name, self.version)
        return courses(self._claims, self.columns() if rows is None else rows, self._looks, digests, self.definition)

    @property
    def _looks(self) -> list[Look]:
        from bfc_bench.analysis.courses import Look

        return [Look.of(record) for record in self.store.looks(self.name, self.version)]

    def power(self) -> Records[Power]:
        """What would decide each claim: replicates at the spread seen so far, or sizes at which N* can be seen."""
        from bfc_bench.analysis.power import power

        judged = self._judged(self.columns())
        return Records(power(course, verdict, seen, self.suite.replicates) for course, seen, verdict in judged)

    @property
    def _claims(self) -> list[Claim]:
        from bfc_bench.analysis.claims import parse_claims

        return parse_claims(self.suite, self.plugins.claims, str(self.path or self.name))

    def compare(self, a: str, b: str, metric: str = "nmse") -> Records[Comparison]:
        """Two labels, or ``LABEL/STAGE``, by paired tests at every (task, d, n) that both have."""
        from bfc_bench.analysis.compare import compare_labels

        return Records(compare_labels(self.columns(), a, b, metric))

    def report(
        self, directory: str | Path | None = None, *, figures: Sequence[str] = ("png", "svg"), pdf: bool = False
    ) -> Path:
        """Write the report page and its rows, by default into the store, with files of its figures: any of ``png``,
        ``svg`` and ``pdf``. With ``pdf`` there is the report as one PDF, too. The path of the page.

        Raises ``OutputError`` where it cannot be written; the page that was there before stays.
        """
        from bfc_bench.report.artifacts import CellFiles
        from bfc_bench.report.html import write_report

        directory = Path(directory or self.directory)
        key = self._key  # before the rows: those that come meanwhile make the page an old one
        table = ParquetTable()
        artifacts: list[CellFiles] = []

        def take(values: Mapping[str, Any]) -> None:
            table.add(values)
            if values.get("artifacts"):
                point = {name: values[name] for name in ("cell", "task", "label", "d", "n", "replicate")}
                artifacts.append(CellFiles(**point, files=self.artifacts(values["cell"])))

        rows = self.store.columns_and_each(self.name, self.version, take)
        make_folder(directory, private=directory == self.directory)
        write_file(directory / "rows.parquet", table.bytes())
        return write_report(
            directory,
            suite=self.definition,
            rows=rows,
            sessions=self.sessions,
            levels=self.levels,
            extra_figures=self.plugins.figures(rows),
            verdicts=self._verdicts(rows),
            theories=self.theories,
            artifacts=artifacts,
            key=key,
            suffixes=figures,
            pdf=pdf,
        )

    @property
    def reported(self) -> bool:
        """Whether the report in the store shows what the store holds now."""
        return self.is_shown_in(self.directory)

    def is_shown_in(self, directory: Path) -> bool:
        """Whether the report in a folder shows what the store holds now."""
        from bfc_bench.report.key import key_of

        return key_of(directory) == self._key

    @property
    def _key(self) -> str:
        """A digest of what a report shows: the rows, the looks, the suite as it was run and as its file is now, the
        release.
        """
        rows, looks = self.store.digest(self.name, self.version), self.store.looks(self.name, self.version)
        return digest([installed_version("bfc-bench"), self.definition, self.suite.definition(), rows, *looks])

    def sync(self, uri: str | None = None) -> SyncReport:
        """Log to MLflow what the store has and MLflow lacks, the report included where one was written.

        ``uri`` is ``MLFLOW_TRACKING_URI`` or the store's own database by default. MLflow is not even imported where its
        database is a file that nobody has written since the last sync, and the store holds what it held then.
        Raises ``TrackingError``.
        """
        from bfc_bench.report.key import key_of
        from bfc_bench.run.provenance import git_commit
        from bfc_bench.tracking.client import default_uri
        from bfc_bench.tracking.sync import SyncReport, sync
        from bfc_bench.tracking.synced import seen, untouched

        directory, page = self.store.directory, self.directory / "report.html"
        uri, suite, version = default_uri(directory, uri), self.name, self.version
        made = self.store.made(suite, version)
        if page.exists() and not self.reported:
            self.report()
        elif (held := untouched(directory, uri, suite, version, made, key_of(self.directory))) is not None:
            return SyncReport(curves=held, unchanged=held)
        rows = self.rows()
        done = sync(rows, uri, suite=suite, version=version, store_dir=directory, git=git_commit(Path.cwd()))
        self._log_theories(rows, uri)
        if page.exists():
            self.log_report(uri)
        seen(directory, uri, suite, version, made, key_of(self.directory), done.curves)
        return done

    def log_report(self, uri: str | None = None) -> None:
        """Log the report that lies in the store to MLflow, and the theories, once per content.

        Raises ``TrackingError``.
        """
        from bfc_bench.report.note import ill_behaved_note, note
        from bfc_bench.report.tables import problem_table, summary_table
        from bfc_bench.tracking.client import default_uri
        from bfc_bench.tracking.report_run import log_report

        rows, session = self.columns(), self.sessions[-1]
        self._log_theories(rows, default_uri(self.store.directory, uri))
        verdicts = self._verdicts(rows)
        text = f"Report of {self.name}@{self.version}: {len(rows)} cells. Open `report.html` under Artifacts."
        log_report(
            default_uri(self.store.directory, uri),
            self.name,
            self.version,
            self.directory,
            session=session["id"],
            tables={
                "claims": [verdict.as_dict() for verdict in verdicts],
                "summary": summary_table(rows, self.levels),
                "theory": [found.as_dict() for found in self.theory()],
                "failures": problem_table(rows),
            },
            note=note(f"{text}{ill_behaved_note(self.thresholds())}", verdicts),
            store_dir=self.store.directory,
            git=session["provenance"].get("git"),
        )

    def _log_theories(self, rows: Sequence[Row], uri: str) -> None:
        from bfc_bench.tracking.theory import log_theories

        log_theories(rows, uri, self.theories, suite=self.name, version=self.version, store_dir=self.store.directory)

    def _repr_html_(self) -> str:
        import pandas as pd

        from bfc_bench.report.tables import summary_table

        table = pd.DataFrame(summary_table(self.columns(), self.levels))
        return f"<b>{self.name}@{self.version}</b> in {self.store.directory}{table._repr_html_()}"
