"""Reads and writes the sessions (runs) of a store, and the current definitions of tasks and learners."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from bfc_bench.store.database import Database
from bfc_bench.store.records import insert, records_of
from bfc_bench.utils.plain_json import canonical_json


class Sessions:
    """Runs of suites, by id."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, id: str, suite: str, version: int, definition: Any, provenance: Mapping[str, Any]) -> None:
        """Record the start of a run."""
        with self._database.transaction() as db:
            texts = canonical_json(definition), canonical_json(dict(provenance))
            insert(db, "sessions", (id, suite, version, time.time(), None, *texts))

    def amend(self, id: str, provenance: Mapping[str, Any]) -> None:
        """Replace the provenance of a run."""
        with self._database.transaction() as db:
            db.execute("UPDATE sessions SET provenance = ? WHERE id = ?", (canonical_json(dict(provenance)), id))

    def end(self, id: str) -> None:
        """Record the end of a run."""
        with self._database.transaction() as db:
            db.execute("UPDATE sessions SET finished_at = ? WHERE id = ?", (time.time(), id))

    def of(self, suite: str, version: int) -> list[dict[str, Any]]:
        """All runs of a suite in the order in which they were recorded, because clocks can go back.

        Each has ``id``, ``started_at`` and ``finished_at`` (Unix time in seconds), ``definition`` and ``provenance``.
        They are read once as long as the file does not change, and all callers share what is nested in them.
        """
        return [dict(run) for run in self._database.once(self._read, suite, version)]

    def _read(self, suite: str, version: int) -> list[dict[str, Any]]:
        return [
            {"id": i, "started_at": a, "finished_at": z, "definition": json.loads(s), "provenance": json.loads(p)}
            for i, _, _, a, z, s, p in records_of(self._database, "sessions", (suite, version))
        ]

    def provenance(self, session: str) -> dict[str, Any] | None:
        """Versions, command line, machine and precision of a run; None for an unknown run."""
        records = self._database.read("SELECT provenance FROM sessions WHERE id = ?", (session,))
        return json.loads(records[0][0]) if records else None

    def define(self, suite: str, version: int, tasks: Mapping[str, str], learners: Mapping[str, str]) -> None:
        """Make these definitions the current ones."""
        items = [("task", *item) for item in tasks.items()] + [("learner", *item) for item in learners.items()]
        with self._database.transaction() as db:
            for item in items:
                insert(db, "definitions", (suite, version, *item))

    def definitions(self, suite: str, version: int) -> dict[tuple[str, str], str]:
        """Current digests by kind (``task`` or ``learner``) and name."""
        records = records_of(self._database, "definitions", (suite, version))
        return {(kind, name): digest for _, _, kind, name, digest in records}
