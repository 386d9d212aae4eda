"""Merges stores: the rows of cells, and their runs, definitions and artifacts."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from typing import Any

from bfc_bench.errors import StoreError, UsageError
from bfc_bench.store.equality import BITS, ROUNDING, differing, tolerance_of
from bfc_bench.store.new_folder import new_folder
from bfc_bench.store.records import CELL, FINISHED, ROW, STARTED, Record, insert, records_of
from bfc_bench.store.row import cell_id, curve_digest, outcome, parse
from bfc_bench.store.row_origin import machine
from bfc_bench.store.store import Store
from bfc_bench.store.unpacking import store_folder
from bfc_bench.utils.counted import counted
from bfc_bench.utils.files import make_folder, write_file

ARTIFACTS = "artifacts"
"""Folder of a store whose files cannot be made again from the rows."""
NEWER = "newer"
"""Value of ``prefer`` that keeps the row with the later time."""
SHOWN = 10
"""Maximum number of cells with different rows in an error message."""


@dataclass
class Merged:
    """Counts of what a merge did."""

    new: int = 0
    """Rows of cells that the target lacked."""
    equal: int = 0
    """Rows equal to a row that was there already."""
    close: Counter[float] = field(default_factory=Counter)
    """Those of them that are equal only within a tolerance, by the tolerance."""
    replaced: int = 0
    """Rows that were replaced by the preferred one."""
    sessions: int = 0
    """New runs."""
    remarks: list[str] = field(default_factory=list)
    """One line per suite whose definitions differ between the stores."""

    def __str__(self) -> str:
        parts = [counted(self.new, "new row"), f"{self.equal} there already"]
        for tolerance, count in sorted(self.close.items()):
            parts[-1] += f" ({count} equal within a relative {tolerance:g}; the first is kept)"
        parts += [f"{self.replaced} replaced"] if self.replaced else []
        return f"{', '.join(parts)}; {counted(self.sessions, 'new run')}"


def merge(sources: Sequence[Path], into: Path, *, prefer: str = "") -> Merged:
    """Merge stores into the store ``into`` in one transaction; merging again changes nothing.

    Of two equal rows of a cell, that of ``into`` is kept, else that of the store named first. Rows are equal if they
    agree in all columns but those about the run (``row.measured``), within rounding, and with a tolerance for rows made
    on GPUs (``store.equality``). Runs are sorted by time, in each store's own order. The store with the last
    run of a suite defines what is current of it. Artifacts follow their rows.
    """
    paths = {str(path) for path in (*sources, into)}
    if prefer and prefer != NEWER and prefer not in paths:
        raise UsageError(f"--prefer must be {NEWER} or one of {', '.join(sorted(paths))}. Got {prefer!r}.")
    others = [path for path in sources if path.resolve() != into.resolve()]
    with ExitStack() as opened:
        stores = {str(path): opened.enter_context(Store(store_folder(path))) for path in others}
        for store in stores.values():
            opened.enter_context(store.snapshot())
        there = (into / "results.sqlite").exists() or (into / "lock").exists()  # one whose first start was killed
        with nullcontext(into) if there else new_folder(into) as folder, Store(folder, write=True) as target:
            return _Merge(str(into), target, stores, prefer).run()


@dataclass
class _Merge:
    name: str
    """Name of the target, as the user wrote it."""
    target: Store
    sources: Mapping[str, Store]
    prefer: str
    merged: Merged = field(default_factory=Merged)
    source_of: dict[str, str] = field(default_factory=dict)
    """For each cell whose row was copied into the target: the name of its store."""
    conflicts: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """The different rows of a cell by store, if none is preferred."""
    last_runs: dict[tuple[str, Record], float] = field(default_factory=dict)
    """By store and suite: when its last run began."""

    def run(self) -> Merged:
        with self.target.transaction() as db:
            for name in sorted(self.sources, key=lambda name: name != self.prefer):  # the preferred one first
                for record in records_of(self.sources[name], "rows"):
                    self._merge_row(db, name, record)
            if self.conflicts:
                raise StoreError(self._conflict_message())
            _replace(db, "sessions", self._sessions())
            _replace(db, "definitions", self._definitions())
            self._copy_artifacts()
        return self.merged

    def _merge_row(self, db: sqlite3.Connection, name: str, record: Record) -> None:
        """Copy a row into the target, unless an equal or a preferred row of its cell is there."""
        _check_cell(name, record)
        cell = record[CELL]
        present = _row(self.target, cell)
        if present is None:
            self.merged.new += 1
        elif (within := _tolerance(present, record)) is not None:
            self.merged.equal += 1
            self.merged.close += Counter([within] if within else [])
            return
        elif self._prefers(cell, name, present, record):
            self.merged.replaced += 1
        else:
            return
        insert(db, "rows", record)
        self.source_of[cell] = name

    def _prefers(self, cell: str, name: str, present: Record, record: Record) -> bool:
        """Whether a row is preferred to a different one that is present; notes a conflict if neither is preferred."""
        holder = self.source_of.get(cell, self.name)
        if self.prefer in (name, holder):
            return name == self.prefer
        if self.prefer in self.sources and _row(self.sources[self.prefer], cell) is not None:
            return False  # the present row is equal to that of the preferred store, which came first
        rows = {holder: parse(present[ROW]), name: parse(record[ROW])}
        if self.prefer == NEWER:
            return max(rows, key=lambda store: rows[store].get("finished_at") or 0.0) == name
        self.conflicts[cell] = self.conflicts.get(cell, {}) | rows
        return False

    def _conflict_message(self) -> str:
        count = len(self.conflicts)
        lines = [
            f"{count} cell{'s have' if count > 1 else ' has'} different rows in the stores. Nothing "
            f"was merged. Choose which rows to keep by --prefer {NEWER} or --prefer with one of the stores:"
        ]
        for rows in list(self.conflicts.values())[:SHOWN]:
            first, *others = rows.values()
            columns = sorted(
                {c for other in others for c in differing(first, other, tolerance_of(first, other, ROUNDING))}
            )
            runs = [self.sources.get(name, self.target).provenance(rows[name].get("provenance", "")) for name in rows]
            pairs = zip(rows.items(), runs, strict=True)
            results = "; ".join(f"{outcome(row)} in {name} ({machine(run or {})})" for (name, row), run in pairs)
            lines.append(
                f"  {first['label']} on {first['task']}, d = {first['d']}, n = {first['n']}, "
                f"replicate {first['replicate']}: {results}; they differ in {', '.join(columns)}"
            )
        if count > SHOWN:
            lines.append(f"  and {count - SHOWN} more")
        return "\n".join(lines)

    def _sessions(self) -> Iterable[Record]:
        """The runs of all stores in the order of their starts, those of one store in their own order."""
        begun: list[tuple[float, Record]] = []
        for name, store in self._stores:
            records = list(records_of(store, "sessions"))
            times = accumulate((record[STARTED] or 0.0 for record in records), max)  # a clock may have gone back
            own = list(zip(times, records, strict=True))
            self.last_runs |= {(name, record[1:3]): time for time, record in own}
            begun += own
        merged: dict[str, Record] = {}
        for _, record in sorted(begun, key=itemgetter(0)):
            if record[0] not in merged or merged[record[0]][FINISHED] is None:  # a copy was made before the run ended
                merged[record[0]] = record
        self.merged.sessions = len(merged) - len(list(records_of(self.target, "sessions")))
        return merged.values()

    def _definitions(self) -> Iterable[Record]:
        """The definitions of all stores; where they differ, the store with the last run of the suite decides."""
        dated = [
            (self.last_runs.get((name, record[:2]), 0.0), name, record)
            for name, store in self._stores
            for record in records_of(store, "definitions")
        ]
        latest: dict[Record, tuple[str, Record]] = {}
        changed: dict[Record, set[Record]] = {}
        for _, name, record in sorted(dated, key=itemgetter(0), reverse=True):
            winner, current = latest.setdefault(record[:4], (name, record))
            if current != record:
                changed.setdefault((*record[:2], winner), set()).add(record[:4])
        self.merged.remarks += [
            f"{suite}@{version}: {len(keys)} definition{'s differ' if len(keys) > 1 else ' differs'}; those of "
            f"{winner}, which ran last, are current, and `results --all` shows the rows of the others."
            for (suite, version, winner), keys in changed.items()
        ]
        return sorted(record for _, record in latest.values())

    @property
    def _stores(self) -> list[tuple[str, Store]]:
        return [(self.name, self.target), *self.sources.items()]

    def _copy_artifacts(self) -> None:
        """Copy the artifacts of the rows that were copied. This is done before the commit, as by ``Store.put``."""
        with_files = {name for name, store in self.sources.items() if (store.directory / ARTIFACTS).exists()}
        for cell, name in self.source_of.items():
            for path in self.sources[name].artifacts(cell).values() if name in with_files else ():
                to = self.target.directory / path.relative_to(self.sources[name].directory)
                make_folder(to.parent, private=True)
                write_file(to, path.read_bytes(), private=True)


def _check_cell(store: str, record: Record) -> None:
    """Raise ``StoreError`` for a row under another id than that of its cell, which no run would find again."""
    row = parse(record[ROW])
    names = ("cell", "suite", "suite_version", "task", "label", "d", "n", "replicate", "status")
    task_digest, learner_digest = record[len(names) : ROW]
    own = cell_id(curve_digest(task_digest, learner_digest, row["label"]), row["d"], row["n"], row["replicate"])
    if tuple(row[name] for name in names) != record[: len(names)] or row["cell"] != own:
        raise StoreError(
            f"{store} has a row with an id that is not that of its cell: {row['label']} on {row['task']}, d = "
            f"{row['d']}, n = {row['n']}, replicate {row['replicate']}. Nothing was merged; leave this store out."
        )


def _row(store: Store, cell: str) -> Record | None:
    return next(store.stream("SELECT * FROM rows WHERE cell = ?", (cell,)), None)


def _replace(db: sqlite3.Connection, table: str, records: Iterable[Record]) -> None:
    db.execute(f"DELETE FROM {table}")
    for record in records:
        insert(db, table, record)


def _tolerance(one: Record, other: Record) -> float | None:
    """The relative tolerance within which two rows of a cell are equal, 0 for bit for bit; None if they differ."""
    if one[ROW] == other[ROW]:
        return 0.0
    a, b = parse(one[ROW]), parse(other[ROW])
    tolerances = (BITS, tolerance_of(a, b, ROUNDING))
    return next((relative for relative, floor in tolerances if not differing(a, b, (relative, floor))), None)
