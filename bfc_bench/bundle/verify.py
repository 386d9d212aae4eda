"""Verifies a bundle: digests, verdicts that are computed again from the rows, and cells that are run again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import isclose, isnan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bfc_bench.analysis.claims.verdict import verdict_record
from bfc_bench.bundle.archive import CLAIMS, SUITE, Archive, folder_of
from bfc_bench.bundle.implausible import LEAST_OTHERS, Bounds, MeasuredCell, implausible
from bfc_bench.bundle.unpack import unpack
from bfc_bench.bundle.write import judged_suite
from bfc_bench.errors import BenchError, UsageError, describe_error, error_text
from bfc_bench.plugins import Plugins
from bfc_bench.run.executor_selection import DEFAULT, executor_of
from bfc_bench.run.grid import Cell, Grid, resolve
from bfc_bench.run.provenance import package_versions, processor
from bfc_bench.run.session import run
from bfc_bench.seeds import stream
from bfc_bench.store.equality import GPU_TOLERANCE, closely_differing, differing
from bfc_bench.store.row import Row
from bfc_bench.stored_suite import OpenStore, StoredSuite
from bfc_bench.suite.model import Suite
from bfc_bench.toolkit.precision import Device
from bfc_bench.utils.escape_control import visible

CELLS, SECONDS = 3, 10.0
"""Cells that are run again, and maximum CPU time of their fits in seconds, by default."""
LEAST_SECONDS, MARGIN = 60.0, 20.0
"""A cell that is run again may take ``MARGIN`` times ``seconds``, and at least ``LEAST_SECONDS``: it compiles alone
what many cells shared, and this machine may be slower."""
MEMORY_GB = 8.0
"""Maximum memory of a cell that is run again."""
NUMBERS_AGREE = 1e-6
"""Relative difference up to which numbers of verdicts are equal, since releases of libraries round differently."""
SHOWN = 5
MARKS = REPRODUCED, CONSISTENT, UNCHECKED = "reproduced", "consistent", "unchecked"
"""Cells gave the same rows again, with all doubted ones among them; only the verdicts follow from the rows; neither."""
_COMPARED = ("verdict", "estimate", "lo", "hi", "replicates", "p", "holm_p", "look", "looks", "confidence", "statement")
"""Columns of verdicts that are compared."""
Key = tuple[str, int]
"""Name and version of a suite."""


@dataclass
class Verification:
    """The outcome of a verification."""

    digest: str
    differences: list[str] = field(default_factory=list)
    """What differs, a line each; empty if nothing does."""
    verdicts: int = 0
    """Number of verdicts that agree."""
    reproduced: int = 0
    """Cells whose new rows equal those of the bundle by the rules of ``merge``."""
    consistent: int = 0
    """Cells whose new rows equal them within the tolerance for GPUs."""
    alike: int = 0
    """Cells that were trained in another way than here, and whose errors differ no more than those of replicates."""
    open_doubts: set[str] = field(default_factory=set)
    """Doubted cells whose rows were not found again."""

    @property
    def exit_code(self) -> int:
        """0 if everything agrees, otherwise 1."""
        return int(bool(self.differences))

    @property
    def mark(self) -> str:
        """One of ``MARKS``: what the verification showed."""
        if self.differences:
            return UNCHECKED
        return REPRODUCED if self.reproduced + self.consistent and not self.open_doubts else CONSISTENT


def verify(
    path: Path,
    plugins: Plugins,
    *,
    cells: int = CELLS,
    seconds: float = SECONDS,
    draw: str = "",
    executor: str = DEFAULT,
    doubted: int | None = None,
    tolerance: float = GPU_TOLERANCE,
    must_run: bool = True,
    tell: Callable[[str], None] = lambda text: None,
) -> Verification:
    """Verify a bundle.

    Every verdict is computed again from the rows alone and compared with the stored one. Then cells are run again:
    doubted ones (``implausible``), up to ``doubted``, and ``cells`` that are drawn by the digest of the bundle.

    Args:
        path: The bundle.
        plugins: The plugins, which provide learners, tasks and claims.
        cells: Number of cells to draw; 0 runs none.
        seconds: Maximum CPU time that the fit of a cell took, in seconds.
        draw: Text that changes the draw, so that a sender cannot know it.
        executor: Name of the executor.
        doubted: Maximum number of doubted cells to run; by default ``cells``.
        tolerance: Relative difference up to which numbers of two rows are consistent.
        must_run: Whether it is a difference if no cell can be run.
        tell: Called with each line of the result.

    Raises:
        StoreError: The file is not a bundle, or is damaged.
    """

    def say(text: str) -> None:
        tell(visible(text, 2000))

    def differs(text: str) -> None:
        found.differences.append(visible(text, 2000))
        say(f"DIFFERS  {text}")

    with Archive(path) as archive, TemporaryDirectory(prefix="bfc-bench-") as folder:
        found = Verification(archive.digest)
        suites = "1 suite" if len(archive.suites) == 1 else f"{len(archive.suites)} suites"
        say(f"{path}: {suites}; SHA-256 of the manifest: {archive.digest}")
        for name in archive.manifest["files"]:
            archive.read(name)
        for refused in unpack(archive, Path(folder, "store")):
            for problem in refused.problems:
                differs(problem)
        with OpenStore(Path(folder, "store"), plugins) as store:
            for key, facts in zip(archive.suites, archive.manifest["suites"], strict=True):
                try:
                    _check_suite(archive, store, key, facts, found, say, differs)
                except BenchError as error:
                    differs(f"{_name(key)} cannot be judged: {error_text(error)}")
                except Exception as error:  # of hostile values that pass every check
                    differs(f"{_name(key)} cannot be judged: {describe_error(error)}")
            if cells:
                again = _Again(store, plugins, executor, seconds, tolerance, Path(folder), found, say, differs)
                again.run(cells, cells if doubted is None else doubted, draw)
                if must_run and not found.differences and not found.reproduced + found.consistent + found.alike:
                    differs("no cell could be run again, so that nothing shows that these learners give these rows")
    return found


def _name(key: Key) -> str:
    return f"{key[0]}@{key[1]}"


def _check_suite(
    archive: Archive,
    store: OpenStore,
    key: Key,
    facts: Mapping[str, Any],
    found: Verification,
    say: Callable[[str], None],
    differs: Callable[[str], None],
) -> None:
    """Compare the counts and the verdicts of a suite with what the rows give."""
    folder = folder_of(*key)
    given = archive.read_json(f"{folder}/{SUITE}")
    model = Suite.parse(given, f"{_name(key)} in the bundle")
    if (model.name, model.version) != key:
        raise UsageError(f"its {SUITE} is about {model.name}@{model.version}")
    suite = store.of(model)
    statuses = Counter(row.status for row in suite.each(every=True))
    if dict(statuses) != facts.get("statuses"):
        differs(f"{_name(key)}: the manifest counts {facts.get('statuses')}, the rows give {dict(statuses)}")
    installed = _installed(store, key)
    if installed is not None and judged_suite(installed)["claim"] != given.get("claim"):
        say(f"{_name(key)}: its claims are not those of the installed suite {key[0]}")
    stored, words = archive.read_json(f"{folder}/{CLAIMS}"), Counter[str]()
    listed = {one.get("id"): one for one in stored if isinstance(one, dict)} if isinstance(stored, list) else {}
    verdicts = {verdict.id: verdict for verdict in suite.claims()}
    for id in sorted(listed.keys() - verdicts.keys(), key=str):
        differs(f"{_name(key)}/{id}: the bundle has a verdict on a claim that its suite does not have")
    for id, verdict in verdicts.items():
        record = verdict_record(verdict.as_dict())
        other = listed.get(id, {})
        wrong = [name for name in _COMPARED if not _agree(record[name], other.get(name))]
        words[verdict.verdict] += 1
        if wrong:
            shown = ", ".join(
                f"{name} {other.get(name)!r} in the bundle, {record[name]!r} by its rows" for name in wrong
            )
            differs(f"{_name(key)}/{id}: {shown}")
        else:
            found.verdicts += 1
            say(f"{verdict.sign} {verdict.words}  {_name(key)}/{id}: {_interval(record)}")
    counted = ", ".join(f"{words[word]} {word}" for word in ("supported", "contradicted", "undecided") if words[word])
    say(f"{_name(key)}: {sum(statuses.values())} rows; {counted or 'no claims'}")


def _installed(store: OpenStore, key: Key) -> StoredSuite | None:
    """The same suite with the claims of its installed file; None if there is no such file."""
    if key[0] not in store.plugins.suites:
        return None
    suite = store.get(key[0])
    return suite if suite is not None and (suite.name, suite.version) == key else None


def _interval(record: Mapping[str, Any]) -> str:
    numbers = (record[name] for name in ("estimate", "lo", "hi"))
    estimate, lo, hi = (f"{value:.3g}" if isinstance(value, float) else str(value or "-") for value in numbers)
    return f"{estimate} [{lo}, {hi}], R = {record['replicates']}"


def _agree(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, int | float):
        return isclose(one, other, rel_tol=NUMBERS_AGREE)
    return bool(one == other)


@dataclass
class _Again:
    """Runs cells of a bundle again and compares their rows."""

    store: OpenStore
    plugins: Plugins
    executor: str
    seconds: float
    tolerance: float
    folder: Path
    found: Verification
    say: Callable[[str], None]
    differs: Callable[[str], None]
    _grids: dict[Key, Grid | None] = field(default_factory=dict)
    _errors: dict[Key, dict[tuple[str, str, int, int], dict[int, float]]] = field(default_factory=dict)
    """NMSE by replicate, by task, label, d and n."""

    def run(self, count: int, most_doubted: int, draw: str) -> None:
        """Run doubted cells, up to ``most_doubted``, and ``count`` drawn ones."""
        candidates = self._candidates()
        usable = self._usable(candidates)
        doubted = self._doubted(candidates, usable)
        order = stream("bundle", self.found.digest, draw).permutation(len(usable))
        drawn = self._first(count, [usable[i] for i in order])
        chosen = {one.cell: one for one in (*self._first(most_doubted, doubted), *drawn)}
        for suite in dict.fromkeys(one.suite for one in chosen.values()):
            try:
                self._compare(suite, [one for one in chosen.values() if one.suite == suite])
            except BenchError as error:
                self.say(f"UNCHECKED  {_name(suite)}: {error_text(error)}")

    def _candidates(self) -> list[MeasuredCell]:
        """The current rows that are ok, sorted, so that the draw does not depend on the order of the store."""
        found = []
        for name, version in self.store.store.suites():
            for row in self.store.store.iter_rows(name, version):
                if row.status == "ok":
                    point = row.cell, row.task, row.label, row.d, row.n, row.replicate
                    facts = row.nmse, row.dtype, row.device, row.fit_cpu_seconds
                    found.append(MeasuredCell((name, version), *point, *facts))
        return sorted(found, key=lambda one: (one.suite, one.cell))

    def _usable(self, candidates: Sequence[MeasuredCell]) -> list[MeasuredCell]:
        """Those that this machine has the device for and that took little time."""
        devices = {"cpu", self._device()}
        usable = [one for one in candidates if one.device in devices and _took(one) <= self.seconds]
        if others := len(candidates) - len(usable):
            self.say(
                f"{others} of {len(candidates)} cells are not drawn: they took more than {self.seconds:g} s, say no "
                "time, or were made on a device that this machine lacks"
            )
        return usable

    def _device(self) -> Device:
        return self.plugins.executor(self.executor, {}).resolve_device("auto")

    def _doubted(self, candidates: Sequence[MeasuredCell], usable: Sequence[MeasuredCell]) -> list[MeasuredCell]:
        """The usable ones whose rows are implausible, after a line for the first of them."""
        groups: dict[Key, list[MeasuredCell]] = {}
        for one in candidates:
            groups.setdefault(one.suite, []).append(one)
        doubts = [
            (suite, doubt) for suite, ones in groups.items() for doubt in implausible(ones, self._bounds_of(suite))
        ]
        doubts.sort(key=lambda item: -item[1].factor)
        self.found.open_doubts |= {doubt.cell for _, doubt in doubts}
        for suite, doubt in doubts[:SHOWN]:
            self.say(f"DOUBTED  {_name(suite)}: {doubt.reason}")
        if len(doubts) > SHOWN:
            self.say(f"DOUBTED  and {len(doubts) - SHOWN} more")
        by_cell = {(one.suite, one.cell): one for one in usable}
        return [by_cell[suite, doubt.cell] for suite, doubt in doubts if (suite, doubt.cell) in by_cell]

    def _bounds_of(self, suite: Key) -> Bounds:
        """The noise and the theories of a suite, as errors below which one would doubt a row."""
        theories = self.store[_name(suite)].theories

        @cache
        def noise(task: str, d: int) -> float:
            grid = self._grid_of(suite)
            return (grid.tasks[task].facts(d).noise_variance or 0.0) if grid and task in grid.tasks else 0.0

        def bounds(one: MeasuredCell) -> Iterator[tuple[str, float]]:
            yield "the variance of the noise over n", noise(one.task, one.d) / max(one.n, 1)
            if (theory := theories.get((one.task, one.d, one.label))) is not None:
                yield "the learner's theory", theory.nmse(one.n)

        return bounds

    def _first(self, count: int, candidates: Sequence[MeasuredCell]) -> list[MeasuredCell]:
        """The first ``count`` that the installed learners and tasks can make again."""
        chosen: list[MeasuredCell] = []
        other = Counter[Key]()
        for one in candidates:
            if len(chosen) == count:
                break
            if self._cell(one) is None:
                other[one.suite] += 1
            else:
                chosen.append(one)
        for suite, number in other.items():
            if self._grid_of(suite) is not None:
                self.say(f"{_name(suite)}: {number} drawn cells are of other versions of tasks or learners; others are")
        return chosen

    def _cell(self, one: MeasuredCell) -> Cell | None:
        """The cell of the installed tasks and learners, if it has the identity of the row."""
        grid = self._grid_of(one.suite)
        if grid is None or one.task not in grid.tasks or one.label not in grid.entries:
            return None
        cell = grid.cell(one.task, one.label, one.d, one.n, one.replicate)
        return cell if cell.id == one.cell else None

    def _grid_of(self, key: Key) -> Grid | None:
        if key not in self._grids:
            self._grids[key] = self._grid(key)
        return self._grids[key]

    def _grid(self, key: Key) -> Grid | None:
        """The grid of the last run, with limits of this verification; None, after a line, if it cannot be made."""
        try:
            definition = {**self.store[_name(key)].definition, "executor": None}
            limit = max(LEAST_SECONDS, MARGIN * self.seconds)
            definition["budget"] = {"cell_seconds": limit, "memory_gb": MEMORY_GB}
            suite = Suite.parse(definition, _name(key))
            return resolve(suite, self.plugins, _name(key))
        except BenchError as error:
            self.say(f"UNCHECKED  {_name(key)} cannot be run here: {error_text(error)}")
        except Exception as error:  # of hostile values that pass every check
            self.say(f"UNCHECKED  {_name(key)} cannot be run here: {describe_error(error)}")
        return None

    def _compare(self, suite: Key, chosen: Sequence[MeasuredCell]) -> None:
        """Run cells of a suite again and compare their rows with those of the bundle."""
        grid = self._grid_of(suite)
        assert grid is not None
        wanted = {one.cell for one in chosen}
        stored = {row.cell: row for row in self.store.store.iter_rows(*suite) if row.cell in wanted}
        for device in sorted({str(one.device) for one in chosen}):
            cells = tuple(cell for one in chosen if one.device == device and (cell := self._cell(one)) is not None)
            executor = executor_of(grid.suite, self.plugins, self.executor)
            again = self.folder / f"again-{device}-{len(list(self.folder.iterdir()))}"
            part = replace(grid, only=cells, alone=frozenset(cell.id for cell in cells))
            done = run(
                part, self.plugins, again, device="cuda" if device == "cuda" else "cpu", executor=executor, jobs=1
            )
            if done.interrupted:
                raise KeyboardInterrupt
            with OpenStore(again, self.plugins) as new:
                for row in new.store.iter_rows(*suite):
                    self._tell(stored[row.cell], row)

    def _are_alike(self, stored: Row, new: Row) -> bool:
        """Whether two rows may differ only because training magnified a rounding.

        This may be if the cell was trained with others or on another machine, and not alone as here. Then the two
        errors may differ by no larger factor than those of the other replicates do.
        """
        suite = (stored.suite, stored.suite_version)
        if stored.trained_together in (None, 1) and self._made_like_here(stored):
            return False
        if suite not in self._errors:
            self._errors[suite] = {}
            for row in self.store.store.iter_rows(*suite):
                if row.nmse:
                    errors = self._errors[suite].setdefault((row.task, row.label, row.d, row.n), {})
                    errors[row.replicate] = row.nmse
        replicates = self._errors[suite].get((stored.task, stored.label, stored.d, stored.n), {})
        others = [error for replicate, error in replicates.items() if replicate != stored.replicate]
        if not stored.nmse or not new.nmse or len(others) < LEAST_OTHERS:
            return False
        return max(stored.nmse, new.nmse) / min(stored.nmse, new.nmse) <= max(others) / min(others)

    def _made_like_here(self, stored: Row) -> bool:
        """Whether the processor and the packages of the run are those of this machine."""
        facts = self.store.store.sessions.provenance(stored.provenance) or {}
        return (facts.get("processor"), facts.get("packages")) == (processor(), package_versions())

    def _tell(self, stored: Row, new: Row) -> None:
        """Say how a new row compares with that of the bundle."""
        where = f"{stored.suite}@{stored.suite_version}: {stored.label} on {stored.task}, d = {stored.d}"
        where += f", n = {stored.n}, replicate {stored.replicate}"
        if new.status in ("skipped", "timeout", "out-of-memory", "killed"):
            self.say(f"UNCHECKED  {where}: {new.status} here: {new.reason}")
            return
        one, other = _of_common_options(stored, new)
        if not differing(one, other):
            self.found.reproduced += 1
            self.found.open_doubts.discard(stored.cell)
            self.say(f"REPRODUCED  {where}: {_result(new)}")
        elif not (columns := closely_differing(one, other, self.tolerance)):
            self.found.consistent += 1
            self.found.open_doubts.discard(stored.cell)
            self.say(f"CONSISTENT  {where}: {_result(new)}, equal within a relative {self.tolerance:g}")
        elif self._are_alike(stored, new):
            self.found.alike += 1
            self.say(
                f"ALIKE  {where}: {_result(stored)} in the bundle, {_result(new)} here, as two trainings may differ"
            )
        else:
            self.differs(f"{where}: {_result(stored)} in the bundle, {_result(new)} here ({', '.join(columns)})")


def _took(one: MeasuredCell) -> float:
    seconds = one.seconds
    return float("inf") if seconds is None or isnan(seconds) or seconds < 0 else seconds


def _of_common_options(stored: Row, new: Row) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both rows with the options that both have.

    A release may have options that an earlier one lacked. Options that differ from their defaults are in the identity
    of the cell, which the rows share.
    """
    common = stored.options.keys() & new.options.keys()
    one, other = ({**row.as_dict(), "options": {name: row.options[name] for name in common}} for row in (stored, new))
    return one, other


def _result(row: Row) -> str:
    if row.status != "ok":
        return f"{row.status}: {row.reason}"
    return f"error rate {row.error_rate!r}" if row.nmse is None else f"NMSE {row.nmse!r}"
