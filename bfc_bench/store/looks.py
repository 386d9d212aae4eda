"""Reads and writes the looks (interim analyses) at claims in a store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from bfc_bench.store.database import Database
from bfc_bench.store.records import insert, records_of
from bfc_bench.utils.plain_json import canonical_json


class StoredLooks:
    """Planned and finished looks at claims, as plain values."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, suite: str, version: int, looks: Iterable[Mapping[str, Any]]) -> None:
        """Commit looks in one transaction. A look at the same claim, data and replicates is replaced."""
        key = ("claim", "content", "data", "replicates", "verdict")
        with self._database.transaction() as db:
            for look in looks:
                record = canonical_json(dict(look))
                insert(db, "looks", (suite, version, *(look[name] for name in key), record))

    def of(self, suite: str, version: int) -> list[dict[str, Any]]:
        """The looks at the claims of a suite, sorted by claim, data and replicates."""
        looks = [json.loads(record[-1]) for record in records_of(self._database, "looks", (suite, version))]
        return sorted(looks, key=lambda look: (look["claim"], look["data"], look["replicates"]))
