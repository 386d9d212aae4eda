"""Merges stores: the rows of cells, and their runs, definitions, looks and artifacts."""

from __future__ import annotations

import heapq
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic_core import from_json

from bfc_bench.errors import StoreError, UsageError
from bfc_bench.store.artifacts import is_own_folder
from bfc_bench.store.backup import ARTIFACTS, new_folder, replace_folder
from bfc_bench.store.equality import GPU_TOLERANCE, differing, exactly_differing
from bfc_bench.store.records import CELL, ROW, Record, records_of
from bfc_bench.store.row import parse
from bfc_bench.store.store import Store

NEWER = "newer"
"""Value of ``prefer`` that keeps the row with the later time."""
SHOWN = 10
"""Maximum number of cells with different rows in an error message."""
Key: TypeAlias = tuple[Any, ...]


@dataclass
class Merged:
    """Counts of what a merge did."""

    new: int = 0
    """Rows of cells that the target lacked."""
    equal: int = 0
    """Rows equal to a row that was there already."""
    close: int = 0
    """Those of them that are equal only within the tolerance for GPUs."""
    replaced: int = 0
    """Rows that were replaced by the preferred one."""
    sessions: int = 0
    """New runs."""
    remarks: list[str] = field(default_factory=list)
    """One line per suite whose definitions differ between the stores."""

    def __str__(self) -> str:
        parts = [f"{self.new} new rows", f"{self.equal} there already"]
        if self.close:
            parts[-1] += f" ({self.close} of GPUs, equal within a relative {GPU_TOLERANCE:g})"
        parts += [f"{self.replaced} replaced"] if self.replaced else []
        return f"{', '.join(parts)}; {self.sessions} new runs"


def merge(sources: Sequence[Path], into: Path, *, prefer: str = "") -> Merged:
    """Merge stores into the store ``into`` in one transaction; merging again changes nothing.

    Of two equal rows of a cell, that of ``into`` is kept, else that of the store named first. Rows are equal if they
    agree in all columns but those about the run (``row.measured``), with a tolerance for rows made on GPUs
    (``equality.differing``). Runs are sorted by time, in each store's own order. The store with the last run of a suite
    defines what is current of it. A finished look replaces a planned one. Artifacts follow their rows.
    """
    if len(sources) < 1:
        raise UsageError("merge needs at least one store to read. Got none.")
    known = {str(path) for path in (*sources, into)}
    if prefer and prefer != NEWER and prefer not in known:
        raise UsageError(f"--prefer must be {NEWER} or one of {', '.join(sorted(known))}. Got {prefer!r}.")
    others = [path for path in sources if path.resolve() != into.resolve()]
    with ExitStack() as opened:
        stores = {str(path): opened.enter_context(_snapshot(path)) for path in others}
        if (into / "results.sqlite").exists() or (into / "lock").exists():  # a store whose file was removed
            with Store(into, write=True) as target:
                return _Merge(str(into), target, stores, prefer).run()
        with new_folder(into) as temporary:
            with Store(temporary, write=True) as target:
                merged = _Merge(str(into), target, stores, prefer).run()
            return merged


@contextmanager
def _snapshot(directory: Path) -> Iterator[Store]:
    """A store to read, as it is at one moment."""
    with Store(directory) as store, store.snapshot():
        yield store


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

    def run(self) -> Merged:
        with self.target.transaction() as db:
            conflicts: dict[str, list[str]] = {}
            for name, store in self.sources.items():
                self._merge_rows(db, name, store, conflicts)
            self._resolve(db, conflicts)
            order = self._merge_sessions(db)
            self._merge_definitions(db, order)
            self._merge_looks(db, order)
            for name, store in self.sources.items():
                self._copy_artifacts(name, store)
        return self.merged

    def _merge_rows(self, db: sqlite3.Connection, name: str, store: Store, conflicts: dict[str, list[str]]) -> None:
        """Copy the rows of new cells into the target, and note the cells whose rows differ."""
        for record in records_of(store, "rows"):
            cell = record[CELL]
            present = _row(self.target, cell)
            if present is None:
                insert(db, "rows", record)
                self.source_of[cell] = name
                self.merged.new += 1
            elif (equality := _equality(present, record)) is not None:
                self.merged.equal += 1
                self.merged.close += equality == "closely"
            else:
                conflicts.setdefault(cell, []).append(name)

    def _resolve(self, db: sqlite3.Connection, conflicts: Mapping[str, Sequence[str]]) -> None:
        """Keep the preferred one of different rows. Raises ``StoreError`` if none is preferred."""
        unresolved: dict[str, dict[str, Record]] = {}
        for cell, names in conflicts.items():
            present = self.source_of.get(cell, self.name)
            rows = {present: _row(self.target, cell) or ()}
            rows |= {name: _row(self.sources[name], cell) or () for name in names}
            if self.prefer == NEWER:
                best = max(rows, key=lambda name: _values(rows[name])["finished_at"] or 0.0)
            elif self.prefer in rows:
                best = self.prefer
            elif self.prefer in self.sources and _row(self.sources[self.prefer], cell):
                best = present  # the preferred store has no conflict, so its row equals the present one
            else:
                unresolved[cell] = rows
                continue
            if best != present:
                insert(db, "rows", rows[best])
                self.source_of[cell] = best
                self.merged.replaced += 1
        if unresolved:
            raise StoreError(self._conflict_message(unresolved))

    def _conflict_message(self, conflicts: Mapping[str, Mapping[str, Record]]) -> str:
        lines = [
            f"{len(conflicts)} cell{'s have' if len(conflicts) > 1 else ' has'} different rows in the stores. Nothing "
            f"was merged. Choose which rows to keep by --prefer {NEWER} or --prefer with one of the stores:"
        ]
        for rows in list(conflicts.values())[:SHOWN]:
            values = {name: _values(row) for name, row in rows.items()}
            first, *others = values.values()
            columns = sorted({c for other in others for c in differing(first, other)})
            shown = "; ".join(f"{_result(row)} in {name} ({self._machine(name, row)})" for name, row in values.items())
            lines.append(
                f"  {first.get('label')} on {first.get('task')}, d = {first.get('d')}, n = {first.get('n')}, "
                f"replicate {first.get('replicate')}: {shown}; they differ in {', '.join(columns)}"
            )
        if len(conflicts) > SHOWN:
            lines.append(f"  and {len(conflicts) - SHOWN} more")
        return "\n".join(lines)

    def _machine(self, name: str, row: Mapping[str, Any]) -> str:
        """The machine of the run that made a row: host, processor and platform, as far as they are known."""
        store = self.sources.get(name, self.target)
        record = next(store.stream("SELECT provenance FROM sessions WHERE id = ?", (row.get("provenance"),)), None)
        facts = from_json(record[0]) if record else {}
        parts = [facts.get("host"), facts.get("processor"), facts.get("platform")]
        return ", ".join(part for part in parts if part) or "an unknown machine"

    def _merge_sessions(self, db: sqlite3.Connection) -> dict[str, int]:
        """Merge the runs in the order of their starts; returns the position of each run by id."""
        lists = [list(records_of(store, "sessions")) for store in (self.target, *self.sources.values())]
        present = {record[0] for record in lists[0]}
        merged: dict[str, Record] = {}
        for _, record in heapq.merge(*map(_by_time, lists), key=lambda item: item[0]):
            if record[0] not in merged or merged[record[0]][4] is None:  # this store was copied before the run ended
                merged[record[0]] = record
        self.merged.sessions = len(merged.keys() - present)
        db.execute("DELETE FROM sessions")
        for record in merged.values():
            insert(db, "sessions", record)
        return {id: position for position, id in enumerate(merged)}

    def _merge_definitions(self, db: sqlite3.Connection, order: Mapping[str, int]) -> None:
        """Merge the definitions; where they differ, the store with the last run of the suite decides."""
        kept: dict[Key, tuple[str, Record]] = {}
        differing: Counter[tuple[str, int, str]] = Counter()
        last = self._last_runs(order)
        for name, store in self._stores:
            for record in records_of(store, "definitions"):
                key, suite = record[:4], record[:2]
                if key in kept and kept[key][1] != record:
                    here, there = (last[of].get(suite, -1) for of in (name, kept[key][0]))
                    winner = name if here > there else kept[key][0]
                    differing[record[0], record[1], winner] += 1
                    if winner != name:
                        continue
                kept[key] = name, record
        db.execute("DELETE FROM definitions")
        for _, record in kept.values():
            insert(db, "definitions", record)
        self.merged.remarks += [
            f"{suite}@{version}: {count} definition{'s differ' if count > 1 else ' differs'}; those of {winner}, which "
            "ran last, are current, and `results --all` shows the rows of the others."
            for (suite, version, winner), count in differing.items()
        ]

    def _merge_looks(self, db: sqlite3.Connection, order: Mapping[str, int]) -> None:
        """Merge looks by claim, data and replicates. Raises ``StoreError`` if two finished ones differ."""
        kept: dict[Key, tuple[str, Record]] = {}
        last = self._last_runs(order)
        for name, store in self._stores:
            for record in records_of(store, "looks"):
                suite, key = record[:2], (*record[:3], record[4], record[5])
                if key not in kept or kept[key][1][6] is None or name == self.prefer:
                    kept[key] = name, record
                elif record[6] is None or record[6:] == kept[key][1][6:] or kept[key][0] == self.prefer:
                    continue
                elif self.prefer == NEWER:
                    if last[name].get(suite, -1) > last[kept[key][0]].get(suite, -1):
                        kept[key] = name, record
                else:
                    raise StoreError(
                        f"Claim {record[2]} of {record[0]}@{record[1]} was looked at with {record[5]} replicates in "
                        f"both {kept[key][0]} ({kept[key][1][6]}) and {name} ({record[6]}), with different results. "
                        f"Nothing was merged. Choose which to keep by --prefer {NEWER} or --prefer with one of the "
                        "stores."
                    )
        db.execute("DELETE FROM looks")
        for _, record in kept.values():
            insert(db, "looks", record)

    @property
    def _stores(self) -> list[tuple[str, Store]]:
        return [(self.name, self.target), *self.sources.items()]

    def _last_runs(self, order: Mapping[str, int]) -> dict[str, dict[Key, int]]:
        """By store, the position of the last run of each suite.

        The target has all runs by now; its own are those that no other store has.
        """
        positions: dict[str, dict[Key, int]] = {self.name: {}}
        elsewhere: set[str] = set()
        for name, store in self.sources.items():
            own = {record[0]: record[1:3] for record in records_of(store, "sessions")}
            elsewhere |= own.keys()
            positions[name] = _latest(own, order)
        here = {record[0]: record[1:3] for record in records_of(self.target, "sessions") if record[0] not in elsewhere}
        positions[self.name] = _latest(here, order)
        return positions

    def _copy_artifacts(self, name: str, store: Store) -> None:
        """Copy the artifacts of cells whose row came from this store, and of cells without artifacts in the target.

        This is done before the commit: after a kill, the next merge finds the folders.
        """
        for path in sorted((store.directory / ARTIFACTS).glob("*/[!.]*")):
            to = self.target.directory / ARTIFACTS / path.parent.name / path.name
            if is_own_folder(path, store.directory) and not (to.exists() and self.source_of.get(path.name) != name):
                replace_folder(path, to)


def _row(store: Store, cell: str) -> Record | None:
    return next(store.stream("SELECT * FROM rows WHERE cell = ?", (cell,)), None)


def insert(db: sqlite3.Connection, table: str, record: Record) -> None:
    """Insert a record into a table, in the place of one with the same key."""
    db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(record))})", record)


def _by_time(sessions: Iterable[Record]) -> Iterator[tuple[float, Record]]:
    """Runs with their start times, raised to that of an earlier run if the clock went back."""
    records = list(sessions)
    return zip(accumulate((record[3] or 0.0 for record in records), max), records, strict=True)


def _latest(suites: Mapping[str, Key], order: Mapping[str, int]) -> dict[Key, int]:
    """The last position of each suite, from the suites of runs by id."""
    last: dict[Key, int] = {}
    for id, suite in suites.items():
        last[suite] = max(order[id], last.get(suite, -1))
    return last


def _equality(one: Record, other: Record) -> Literal["exactly", "closely"] | None:
    """How two rows of a cell are equal: bit for bit, or within the tolerance for GPUs; None if they differ."""
    if one[ROW] == other[ROW]:
        return "exactly"
    a, b = _values(one), _values(other)
    if not exactly_differing(a, b):
        return "exactly"
    return None if differing(a, b) else "closely"


def _values(record: Record) -> dict[str, Any]:
    """The columns of a row."""
    return parse(record[ROW])


def _result(row: Mapping[str, Any]) -> str:
    """A row in a few words: its error, or its status and reason."""
    if row.get("status") != "ok":
        return f"{row.get('status')}: {str(row.get('reason')).splitlines()[0][:200] if row.get('reason') else ''}"
    name = "error_rate" if row.get("nmse") is None else "nmse"
    return f"{name} {row.get(name)!r}"
