"""The looks at claims that a store keeps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from bfc_bench.store.database import Database
from bfc_bench.utils.plain_json import canonical_json


class StoredLooks:
    """Interim analyses of claims, planned and made, as plain values."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, suite: str, version: int, looks: Iterable[Mapping[str, Any]]) -> None:
        """Commit looks at claims, all or none: plain values with claim, content, data, replicates and verdict, which is
        None while the look is planned. One of the same claim, data and replicates is replaced.
        """
        key = ("claim", "content", "data", "replicates", "verdict")
        with self._database.writing() as db:
            db.executemany(
                "INSERT OR REPLACE INTO looks VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [(suite, version, *(look[name] for name in key), canonical_json(dict(look))) for look in looks],
            )

    def of(self, suite: str, version: int) -> list[dict[str, Any]]:
        """What ``put`` was given, by claim and replicates."""
        query = "SELECT record FROM looks WHERE suite = ? AND version = ? ORDER BY claim, data, replicates"
        return [json.loads(record) for (record,) in self._database.read(query, (suite, version))]
