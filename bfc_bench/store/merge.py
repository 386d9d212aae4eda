"""Several stores as one: rows by cell, and the runs, definitions and looks that belong to them."""

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
from bfc_bench.store.backup import ARTIFACTS, put_folder, whole_folder
from bfc_bench.store.equality import GPU_TOLERANCE, differing, exactly_differing
from bfc_bench.store.row import Row, is_known
from bfc_bench.store.store import Store

NEWER = "newer"
SHOWN = 10
"""Cells with different rows that an error shows."""
TABLES = ("rows", "definitions", "sessions", "looks")
"""What a store's file holds, and a merge takes along."""
Values: TypeAlias = tuple[Any, ...]
"""A line of a table, as SQLite has it."""
Key: TypeAlias = tuple[Any, ...]

_CELL, _SUITE, _VERSION, _ROW = 0, 1, 2, 11
"""Places in a line of ``rows``; in one of ``definitions`` and ``looks``, suite and version come first."""


@dataclass
class Merged:
    """What a merge has done."""

    new: int = 0
    """Rows of cells that the target did not have."""
    equal: int = 0
    """Rows that were there already, as far as what they say of their cell goes."""
    close: int = 0
    """Those of them, made on GPUs, that are equal within the tolerance of GPUs only."""
    replaced: int = 0
    """Rows in whose place a preferred one was put."""
    sessions: int = 0
    """Runs that are new."""
    remarks: list[str] = field(default_factory=list)
    """Definitions that were not the same everywhere, a line each."""

    def __str__(self) -> str:
        parts = [f"{self.new} new rows", f"{self.equal} there already"]
        if self.close:
            parts[-1] += f" ({self.close} of GPUs, equal within a relative {GPU_TOLERANCE:g})"
        parts += [f"{self.replaced} replaced"] if self.replaced else []
        return f"{', '.join(parts)}; {self.sessions} new runs"


def merge(sources: Sequence[Path], into: Path, *, prefer: str = "") -> Merged:
    """Put all that stores hold into the store ``into``, which is made if need be, all or nothing; twice is as once.

    Rows are keyed by their cell. Two that say the same of it (``row.measured``: everything but when, where, by which
    release, how fast and beside which cells it was made) are one, that of the store named first, ``into`` before all;
    numbers of rows that were made on GPUs are the same within a tolerance (``equality.differing``).
    Two that do not are an error, unless ``prefer`` says which to keep: ``newer``, by the times that the rows themselves
    name, or one of the stores. Runs come in the order of their times, each store's own order kept, and what is current
    of a suite is what its last run defined. A look at a claim that was made replaces one that was planned. Artifacts go
    with their rows.

    Raises ``UsageError`` for a ``prefer`` that is none of these, ``StoreError`` for a store that cannot be used and for
    cells with different rows, which it shows with both results and machines.
    """
    if len(sources) < 1:
        raise UsageError("merge needs a store to take from. Got none.")
    known = {str(path) for path in (*sources, into)}
    if prefer and prefer != NEWER and prefer not in known:
        raise UsageError(f"--prefer must be {NEWER} or one of {', '.join(sorted(known))}. Got {prefer!r}.")
    others = [path for path in sources if path.resolve() != into.resolve()]
    with ExitStack() as opened:
        stores = {str(path): opened.enter_context(_as_of_now(path)) for path in others}
        if (into / "results.sqlite").exists():
            with Store(into, write=True) as target:
                return _Merging(str(into), target, stores, prefer).run()
        with whole_folder(into) as aside:
            with Store(aside, write=True) as target:
                done = _Merging(str(into), target, stores, prefer).run()
            return done


@contextmanager
def _as_of_now(directory: Path) -> Iterator[Store]:
    """A store to read, at one moment."""
    with Store(directory) as store, store.snapshot():
        yield store


@dataclass
class _Merging:
    name: str
    """Of the target, as it was given."""
    target: Store
    sources: Mapping[str, Store]
    prefer: str
    done: Merged = field(default_factory=Merged)
    taken: dict[str, str] = field(default_factory=dict)
    """Where the row of a cell came from that was put into the target."""

    def run(self) -> Merged:
        with self.target.writing() as db:
            conflicts: dict[str, list[str]] = {}
            for name, store in self.sources.items():
                self._take_rows(db, name, store, conflicts)
            self._settle(db, conflicts)
            order = self._merge_sessions(db)
            self._merge_definitions(db, order)
            self._merge_looks(db, order)
            for name, store in self.sources.items():
                self._copy_artifacts(name, store)
        return self.done

    def _take_rows(self, db: sqlite3.Connection, name: str, store: Store, conflicts: dict[str, list[str]]) -> None:
        """Put rows of new cells into the target, and note those that differ from what it has."""
        for line in _lines(store, "rows"):
            cell = line[_CELL]
            held = _row(self.target, cell)
            if held is None:
                _insert(db, "rows", line)
                self.taken[cell] = name
                self.done.new += 1
            elif (same := _same(held, line)) is not None:
                self.done.equal += 1
                self.done.close += same == "closely"
            else:
                conflicts.setdefault(cell, []).append(name)

    def _settle(self, db: sqlite3.Connection, conflicts: Mapping[str, Sequence[str]]) -> None:
        """Keep the preferred one of different rows. Raises ``StoreError`` for those of which none is."""
        open_: dict[str, dict[str, Values]] = {}
        for cell, names in conflicts.items():
            held = self.taken.get(cell, self.name)
            rows = {held: _row(self.target, cell) or ()}
            rows |= {name: _row(self.sources[name], cell) or () for name in names}
            if self.prefer == NEWER:
                best = max(rows, key=lambda name: _values(rows[name])["finished_at"] or 0.0)
            elif self.prefer in rows:
                best = self.prefer
            elif self.prefer in self.sources and _row(self.sources[self.prefer], cell):
                best = held  # whose row is as the preferred one
            else:
                open_[cell] = rows
                continue
            if best != held:
                _insert(db, "rows", rows[best])
                self.taken[cell] = best
                self.done.replaced += 1
        if open_:
            raise StoreError(self._refusal(open_))

    def _refusal(self, different: Mapping[str, Mapping[str, Values]]) -> str:
        lines = [
            f"{len(different)} cell{'s have' if len(different) > 1 else ' has'} different rows in the stores. Nothing "
            f"was merged; --prefer {NEWER}, or --prefer with one of the stores, says which to keep:"
        ]
        for rows in list(different.values())[:SHOWN]:
            values = {name: _values(row) for name, row in rows.items()}
            first, *others = values.values()
            columns = sorted({c for other in others for c in differing(first, other)})
            shown = "; ".join(f"{_result(of)} in {name} ({self._machine(name, of)})" for name, of in values.items())
            lines.append(
                f"  {first.get('label')} on {first.get('task')}, d = {first.get('d')}, n = {first.get('n')}, "
                f"replicate {first.get('replicate')}: {shown}; they differ in {', '.join(columns)}"
            )
        if len(different) > SHOWN:
            lines.append(f"  and {len(different) - SHOWN} more")
        return "\n".join(lines)

    def _machine(self, name: str, row: Mapping[str, Any]) -> str:
        """Host, or what else is known of the machine, of the run that made a row."""
        store = self.sources.get(name, self.target)
        found = next(store.stream("SELECT provenance FROM sessions WHERE id = ?", (row.get("provenance"),)), None)
        facts = from_json(found[0]) if found else {}
        parts = [facts.get("host"), facts.get("processor"), facts.get("platform")]
        return ", ".join(part for part in parts if part) or "an unknown machine"

    def _merge_sessions(self, db: sqlite3.Connection) -> dict[str, int]:
        """Runs in the order in which they began; their places by id."""
        held = [list(_lines(store, "sessions")) for store in (self.target, *self.sources.values())]
        there = {line[0] for line in held[0]}
        merged: dict[str, Values] = {}
        for _, line in heapq.merge(*map(_by_time, held), key=lambda item: item[0]):
            if line[0] not in merged or merged[line[0]][4] is None:  # copied while it ran
                merged[line[0]] = line
        self.done.sessions = len(merged.keys() - there)
        db.execute("DELETE FROM sessions")
        for line in merged.values():
            _insert(db, "sessions", line)
        return {id: place for place, id in enumerate(merged)}

    def _merge_definitions(self, db: sqlite3.Connection, order: Mapping[str, int]) -> None:
        """What is current of a suite is what the store says whose run of it was the last, then what the others do."""
        found: dict[Key, tuple[str, Values]] = {}
        differing: Counter[tuple[str, int, str]] = Counter()
        last = self._last(order)
        for name, store in self._stores:
            for line in _lines(store, "definitions"):
                key, suite = line[:4], line[:2]
                if key in found and found[key][1] != line:
                    here, there = (last[of].get(suite, -1) for of in (name, found[key][0]))
                    keeps = name if here > there else found[key][0]
                    differing[line[0], line[1], keeps] += 1
                    if keeps != name:
                        continue
                found[key] = name, line
        db.execute("DELETE FROM definitions")
        for _, line in found.values():
            _insert(db, "definitions", line)
        self.done.remarks += [
            f"{suite}@{version}: {count} definition{'s differ' if count > 1 else ' differs'}; those of {keeps}, which "
            "ran last, are current, and `results --all` shows the rows of the others."
            for (suite, version, keeps), count in differing.items()
        ]

    def _merge_looks(self, db: sqlite3.Connection, order: Mapping[str, int]) -> None:
        """Looks by claim, data and replicates. Raises ``StoreError`` for two that saw different things."""
        found: dict[Key, tuple[str, Values]] = {}
        last = self._last(order)
        for name, store in self._stores:
            for line in _lines(store, "looks"):
                suite, key = line[:2], (*line[:3], line[4], line[5])
                if key not in found or found[key][1][6] is None or name == self.prefer:
                    found[key] = name, line
                elif line[6] is None or line[6:] == found[key][1][6:] or found[key][0] == self.prefer:
                    continue
                elif self.prefer == NEWER:
                    if last[name].get(suite, -1) > last[found[key][0]].get(suite, -1):
                        found[key] = name, line
                else:
                    raise StoreError(
                        f"Claim {line[2]} of {line[0]}@{line[1]} was looked at with {line[5]} replicates in both "
                        f"{found[key][0]} ({found[key][1][6]}) and {name} ({line[6]}), which did not read the same. "
                        f"Nothing was merged; --prefer {NEWER}, or --prefer with one of the stores, says which to keep."
                    )
        db.execute("DELETE FROM looks")
        for _, line in found.values():
            _insert(db, "looks", line)

    @property
    def _stores(self) -> list[tuple[str, Store]]:
        return [(self.name, self.target), *self.sources.items()]

    def _last(self, order: Mapping[str, int]) -> dict[str, dict[Key, int]]:
        """The place of the last run of each suite, by store. The target has had the others' runs put into it; its own
        are those that no other store has."""
        places: dict[str, dict[Key, int]] = {self.name: {}}
        elsewhere: set[str] = set()
        for name, store in self.sources.items():
            own = {line[0]: line[1:3] for line in _lines(store, "sessions")}
            elsewhere |= own.keys()
            places[name] = _latest(own, order)
        here = {line[0]: line[1:3] for line in _lines(self.target, "sessions") if line[0] not in elsewhere}
        places[self.name] = _latest(here, order)
        return places

    def _copy_artifacts(self, name: str, store: Store) -> None:
        """Folders of cells whose row came from this store, and of those that have none yet.

        Before the commit: a merge that is killed in between leaves folders that the next one finds.
        """
        for folder in sorted((store.directory / ARTIFACTS).glob("*/*")):
            to = self.target.directory / ARTIFACTS / folder.parent.name / folder.name
            if folder.name.startswith(".") or (to.exists() and self.taken.get(folder.name) != name):
                continue
            put_folder(folder, to)


def _lines(store: Store, table: str) -> Iterator[Values]:
    """All of a table, in the order of commits."""
    return store.stream(f"SELECT * FROM {table} ORDER BY rowid")


def _row(store: Store, cell: str) -> Values | None:
    return next(store.stream("SELECT * FROM rows WHERE cell = ?", (cell,)), None)


def _insert(db: sqlite3.Connection, table: str, line: Values) -> None:
    db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(line))})", line)


def _by_time(sessions: Iterable[Values]) -> Iterator[tuple[float, Values]]:
    """Runs with the times at which they began, or that of one before whose clock was ahead."""
    lines = list(sessions)
    return zip(accumulate((line[3] or 0.0 for line in lines), max), lines, strict=True)


def _latest(suites: Mapping[str, Key], order: Mapping[str, int]) -> dict[Key, int]:
    """The last place of each suite, of runs by id."""
    found: dict[Key, int] = {}
    for id, suite in suites.items():
        found[suite] = max(order[id], found.get(suite, -1))
    return found


def _same(one: Values, other: Values) -> Literal["exactly", "closely"] | None:
    """Whether two rows of a cell, made under the same definitions, say the same of it, and how; None where not."""
    if one[_ROW] == other[_ROW]:
        return "exactly"
    a, b = _values(one), _values(other)
    if not exactly_differing(a, b):
        return "exactly"
    return None if differing(a, b) else "closely"


def _values(line: Values) -> dict[str, Any]:
    """What a stored row says, by column; what this release cannot read stands there as a text."""
    try:
        values = from_json(line[_ROW])
    except ValueError:
        values = None
    return Row.read(values).as_dict() if is_known(values) else {**_UNREADABLE, "reason": str(line[_ROW])}


_UNREADABLE = {"status": "unreadable", "finished_at": None}


def _result(row: Mapping[str, Any]) -> str:
    """A row in a word: its error, or what became of it."""
    if row.get("status") != "ok":
        return f"{row.get('status')}: {str(row.get('reason')).splitlines()[0][:200] if row.get('reason') else ''}"
    name = "error_rate" if row.get("nmse") is None else "nmse"
    return f"{name} {row.get(name)!r}"
