"""Verifies a bundle: its digests, verdicts that are computed again from the rows, and cells that are run again."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic_core import from_json

from bfc_bench.analysis.claims.verdict import SIGNS, Verdict
from bfc_bench.errors import describe_error
from bfc_bench.extras.bundle.archive import Manifest, read_bundle
from bfc_bench.extras.bundle.write import facts_of
from bfc_bench.report.tables import with_interval
from bfc_bench.run.grid import Cell, Grid, make_grid
from bfc_bench.run.options import RunOptions
from bfc_bench.run.provenance import package_versions, processor
from bfc_bench.run.session import run_cells
from bfc_bench.seeds import stream
from bfc_bench.store.equality import GPUS, close, differing, tolerance_of
from bfc_bench.store.row import Row, outcome
from bfc_bench.store.store import Store
from bfc_bench.stored_suite import OpenStore, open_store
from bfc_bench.suite.model import Suite
from bfc_bench.utils.counted import counted
from bfc_bench.utils.escape_control import visible
from bfc_bench.utils.plain_json import finite, readable_json

NUMBERS_AGREE = 1e-6
"""Relative difference up to which numbers of verdicts are equal, since releases of libraries round differently."""
LEAST_SECONDS, MARGIN = 60.0, 20.0
"""A cell that is run again may take ``MARGIN`` times ``seconds``, and at least ``LEAST_SECONDS``: it compiles alone
what many cells shared, and this machine may be slower."""
MEMORY_GB = 8.0
"""Maximum memory of a cell that is run again."""
LEAST_OTHERS = 2
"""Other replicates that are needed to say how much two trainings may differ."""


@dataclass
class Verification:
    """The outcome of a verification."""

    tell: Callable[[str], None]
    differences: list[str] = field(default_factory=list)
    """What differs, a line each; empty if nothing does."""
    verdicts: int = 0
    """Number of verdicts that agree."""
    cells: Counter[str] = field(default_factory=Counter)
    """Number of cells that were run again, by what they showed: ``reproduced`` (equal rows), ``consistent`` (equal
    within the tolerance for GPUs) or ``alike`` (no more different than replicates)."""

    @property
    def exit_code(self) -> int:
        """0 if something was compared and everything agrees, otherwise 1."""
        return int(bool(self.differences) or not (self.verdicts or self.cells))

    def say(self, text: str) -> None:
        """Tell a line of the result."""
        self.tell(visible(text, 2000))

    def differs(self, text: str) -> None:
        """Note a difference."""
        self.differences.append(visible(text, 2000))
        self.say(f"DIFFERS  {text}")


def verify(
    path: Path,
    *,
    cells: int = 3,
    seconds: float = 10.0,
    draw: str = "",
    executor: str = "processes",
    tell: Callable[[str], None] = lambda text: None,
    listeners: Sequence[object] = (),
) -> Verification:
    """Verify a bundle.

    Every verdict is computed again from the rows alone and compared with the stored one. Then cells are run again that
    are drawn by the digest of the bundle. ``listeners`` receive the events of these runs.
    """
    checks = Verification(tell)
    manifest, claims, digest = read_bundle(path)
    checks.say(f"{path}: {counted(len(manifest.suites), 'suite')}; SHA-256 of the manifest: {digest}")
    with open_store(path) as store:
        try:
            _check_suites(manifest, claims, store, checks)
        except Exception as error:  # also of hostile values that pass every check
            checks.differs(f"the bundle cannot be judged: {describe_error(error)}")
        if cells:
            Cells(store, executor, seconds, checks, listeners).run(cells, digest, draw)
    if not (checks.verdicts or checks.cells or checks.differences):
        checks.say("Nothing was compared: the suites have no claims. --cells K runs cells again.")
    return checks


def _check_suites(manifest: Manifest, claims: list[Any], store: OpenStore, found: Verification) -> None:
    """Compare what manifest, claims and store are about, then the counts and the verdicts of each suite."""
    judged = [Suite.parse(one["definition"], "claims.json") for one in claims]
    ids = [f"{suite.name}@{suite.version}" for suite in judged]
    stored = list(store)
    listed = [suite.id for suite in manifest.suites]
    if not listed or not sorted(ids) == sorted(stored) == sorted(listed):
        found.differs(
            f"the suites must be the same ones: {listed} in the manifest, {stored} in the store, {ids} judged"
        )
        return
    facts = {suite.id: suite for suite in manifest.suites}
    for id, suite, one in zip(ids, judged, claims, strict=True):
        verdicts = store.of(suite).claims()
        stated, by_rows = facts[id].model_dump(), facts_of(store.of(suite), [verdict.as_dict() for verdict in verdicts])
        for name in by_rows:
            if stated[name] != by_rows[name]:
                found.differs(f"{id}: {name} is {stated[name]} in the manifest, {by_rows[name]} by the rows")
        _check_verdicts(id, verdicts, one["verdicts"], found)
        installed = store.get(suite.name) if suite.name in store.plugins.suites else None
        if installed is not None and installed.suite.definition()["claim"] != one["definition"]["claim"]:
            found.say(f"{id}: its claims are not those of the installed suite {suite.name}")


def _check_verdicts(id: str, verdicts: Sequence[Verdict], stored: list[Mapping[str, Any]], found: Verification) -> None:
    computed = {verdict.id: verdict for verdict in verdicts}
    if sorted(str(one["id"]) for one in stored) != sorted(computed):
        found.differs(f"{id}: the bundle has verdicts on other claims than its suite has")
        return
    for other in stored:
        verdict = computed[other["id"]]
        record = from_json(readable_json(finite(verdict.as_dict(), infinite=True)))
        if wrong := sorted(
            name for name in record.keys() | other.keys() if not close(record.get(name), other.get(name), NUMBERS_AGREE)
        ):
            both = (f"{name} {other.get(name)!r} in the bundle, {record.get(name)!r} by its rows" for name in wrong)
            found.differs(f"{id}/{verdict.id}: {', '.join(both)}")
        else:
            found.verdicts += 1
            estimate = with_interval(verdict.estimate, verdict.lo, verdict.hi)
            found.say(f"{verdict.sign} {verdict.words}  {id}/{verdict.id}: {estimate}, R = {verdict.replicates}")
    words = Counter[str](verdict.verdict for verdict in verdicts)
    counts = ", ".join(f"{words[word]} {word}" for word in SIGNS if words[word])
    found.say(f"{id}: {counts or 'no claims'}")


@dataclass
class Cells:
    """The cells of a store that this machine can run again."""

    store: OpenStore
    executor: str
    seconds: float
    """Maximum CPU time that the fit of a drawn cell took."""
    found: Verification
    listeners: Sequence[object] = ()

    def run(self, count: int, digest: str, draw: str) -> None:
        """Run ``count`` cells again that are drawn by the bundle's digest and ``draw``."""
        cells = sorted(self._usable(), key=lambda usable: usable[1].id)
        together: dict[tuple[Any, ...], list[tuple[Grid, Cell, Row]]] = {}
        for i in stream("bundle", digest, draw).permutation(len(cells))[:count]:
            row = cells[i][2]
            together.setdefault((row.suite, row.suite_version, row.device), []).append(cells[i])
        for drawn in together.values():
            self._run_again(drawn)
        if not self.found.cells:
            self.found.differs("no cell could be run again, so that nothing shows that these learners give these rows")

    def _usable(self) -> Iterator[tuple[Grid, Cell, Row]]:
        """The cells that installed learners and tasks can make again, and that took little time, with their rows."""
        devices = {"cpu", self.store.plugins.executor(self.executor, {}).resolve_device("auto")}
        for name, version in self.store.store.suites():
            if (grid := self._grid(f"{name}@{version}")) is None:
                continue
            rows = [row for row in self.store.store.each(name, version) if row.status == "ok"]
            remaining = len(rows)
            for row in rows:
                took = row.fit_cpu_seconds
                if row.device not in devices or took is None or took > self.seconds:
                    continue
                if row.task in grid.tasks and row.label in grid.entries:
                    cell = grid.cell(row.task, row.label, row.d, row.n, row.replicate)
                    if cell.id == row.cell:
                        remaining -= 1
                        yield grid, cell, row
            if remaining:
                self.found.say(
                    f"{name}@{version}: cells not drawn: {remaining} of {len(rows)}; they took more than "
                    f"{self.seconds:g} s, or need another device or another version of a task or learner"
                )

    def _grid(self, suite: str) -> Grid | None:
        """The grid of the last run, with limits of this verification; None, after a line, if it cannot be made."""
        try:
            definition = {**self.store[suite].definition, "executor": None}
            limit = max(LEAST_SECONDS, MARGIN * self.seconds)
            definition["budget"] = {"cell_seconds": limit, "memory_gb": MEMORY_GB}
            return make_grid(Suite.parse(definition, suite), self.store.plugins, suite)
        except Exception as error:  # also of hostile values that pass every check
            self.found.say(f"UNCHECKED  {suite} cannot be run here: {describe_error(error)}")
        return None

    def _run_again(self, drawn: Sequence[tuple[Grid, Cell, Row]]) -> None:
        """Run cells of one suite and device, each alone, in one session, and compare the rows."""
        grid, cells = drawn[0][0], [cell for _, cell, _ in drawn]
        with TemporaryDirectory(prefix="bfc-bench-") as folder:
            on, plugins = drawn[0][2].device or "auto", self.store.plugins
            options = RunOptions(
                store=folder, device=on, executor=self.executor, jobs=1, plugins=plugins, listeners=self.listeners
            )
            if run_cells(grid, cells, options, alone=True).interrupted:
                raise KeyboardInterrupt
            with Store(Path(folder)) as again:
                new = {row.cell: row for row in again.rows(grid.suite.name, grid.suite.version)}
        for _, cell, stored in drawn:
            self._compare(stored, new[cell.id])

    def _compare(self, stored: Row, new: Row) -> None:
        place = f"{stored.suite}@{stored.suite_version}: {stored.label} on {stored.task}, d = {stored.d}"
        place += f", n = {stored.n}, replicate {stored.replicate}"
        if new.status in ("skipped", "timeout", "out-of-memory", "killed"):
            self.found.say(f"UNCHECKED  {place}: {new.status} here: {new.reason}")
            return
        one, other = stored.as_dict(), new.as_dict()
        result, both = outcome(other), f"{outcome(one)} in the bundle, {outcome(other)} here"
        if not differing(one, other, tolerance_of(one, other)):
            verdict, remark = "reproduced", result
        elif not (columns := differing(one, other, GPUS)):
            verdict, remark = "consistent", f"{result}, equal within a relative {GPUS[0]:g}"
        elif self._are_alike(stored, new):
            verdict, remark = "alike", f"{both}, as two trainings may differ"
        else:
            self.found.differs(f"{place}: {both} ({', '.join(columns)})")
            return
        self.found.cells[verdict] += 1
        self.found.say(f"{verdict.upper()}  {place}: {remark}")

    def _are_alike(self, stored: Row, new: Row) -> bool:
        """Whether two rows may differ only because training magnified a rounding.

        This may be if the cell was trained with others or on another machine, and not alone as here. Then the two
        errors may differ by no larger factor than those of the other replicates do.
        """
        if stored.trained_together in (None, 1) and self._made_like_here(stored):
            return False
        rows = self.store.store.columns(stored.suite, stored.suite_version)
        rows = rows.where(task=stored.task, label=stored.label, d=stored.d, n=stored.n)
        others = rows.number("nmse")[rows.replicate != stored.replicate]
        others = others[others > 0]
        if not stored.nmse or not new.nmse or len(others) < LEAST_OTHERS:
            return False
        return bool(max(stored.nmse, new.nmse) / min(stored.nmse, new.nmse) <= others.max() / others.min())

    def _made_like_here(self, stored: Row) -> bool:
        """Whether the processor and the packages of the run are those of this machine."""
        facts = self.store.store.provenance(stored.provenance) or {}
        return (facts.get("processor"), facts.get("packages")) == (processor(), package_versions())
