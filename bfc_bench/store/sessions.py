"""The runs of a store, and the definitions of tasks and learners that the last run made current."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from bfc_bench.store.database import Database
from bfc_bench.utils.plain_json import canonical_json


class Sessions:
    """Runs of suites, by their identity."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, id: str, suite: str, version: int, definition: Any, provenance: Mapping[str, Any]) -> None:
        """Record a run: its suite as resolved, and versions, command line and machine."""
        with self._database.writing() as db:
            db.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, ?, NULL, ?, ?)",
                (id, suite, version, time.time(), canonical_json(definition), canonical_json(dict(provenance))),
            )

    def amend(self, id: str, provenance: Mapping[str, Any]) -> None:
        """Replace what is recorded of a run's versions, machine and precision."""
        with self._database.writing() as db:
            db.execute("UPDATE sessions SET provenance = ? WHERE id = ?", (canonical_json(dict(provenance)), id))

    def end(self, id: str) -> None:
        """Record that a run has ended, and merge the write-ahead log, so that the file alone holds everything."""
        with self._database.writing() as db:
            db.execute("UPDATE sessions SET finished_at = ? WHERE id = ?", (time.time(), id))
        with suppress(sqlite3.Error):  # for want of room: the log holds what the file does not
            self._database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def of(self, suite: str, version: int) -> list[dict[str, Any]]:
        """All runs of a suite in the order in which they began, whatever the clock said: id, started_at, finished_at,
        definition, provenance."""
        found = self._database.read(
            "SELECT id, started_at, finished_at, definition, provenance FROM sessions "
            "WHERE suite = ? AND version = ? ORDER BY rowid",
            (suite, version),
        )
        return [
            {"id": i, "started_at": a, "finished_at": z, "definition": json.loads(s), "provenance": json.loads(p)}
            for i, a, z, s, p in found
        ]

    def provenance(self, session: str) -> dict[str, Any] | None:
        """What is recorded of a run's versions, machine and precision; None for one that is unknown."""
        found = self._database.read("SELECT provenance FROM sessions WHERE id = ?", (session,))
        return json.loads(found[0][0]) if found else None

    def suites(self) -> list[tuple[str, int]]:
        """Name and version of every suite with a run in this store."""
        return [
            (name, version) for name, version in self._database.read("SELECT DISTINCT suite, version FROM sessions")
        ]

    def define(self, suite: str, version: int, tasks: Mapping[str, str], learners: Mapping[str, str]) -> None:
        """Make these task and learner digests the current ones of their names."""
        items = [("task", *item) for item in tasks.items()] + [("learner", *item) for item in learners.items()]
        with self._database.writing() as db:
            db.executemany(
                "INSERT OR REPLACE INTO definitions VALUES (?, ?, ?, ?, ?)",
                [(suite, version, *item) for item in items],
            )

    def definitions(self, suite: str, version: int) -> dict[tuple[str, str], str]:
        """The current digests of tasks and learners, by kind and name."""
        query = "SELECT kind, name, digest FROM definitions WHERE suite = ? AND version = ?"
        return {(kind, name): digest for kind, name, digest in self._database.read(query, (suite, version))}
