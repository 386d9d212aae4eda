"""``python -m benchmarks.same STORE STORE``: whether two stores hold the same numbers, bit for bit.

Cells are paired by suite, task, label, d, n and replicate, whatever their identity was hashed from. What tells of time,
machine and session is not compared.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from bfc_bench.store.row import COLUMNS, Row
from bfc_bench.store.store import Store

UNEQUAL = {
    *("cell", "provenance", "release", "learner_version", "finished_at"),
    *("fit_cpu_seconds", "fit_wall_seconds", "peak_memory_bytes", "trained_together"),
}
"""Columns that two runs of one cell need not have in common."""
SHOWN = 10
"""Differences that are printed, of each suite."""


def main(first: str, second: str) -> int:
    """0 where every suite that both stores hold has the same cells with the same numbers, else 1."""
    with Store(Path(first)) as a, Store(Path(second)) as b:
        common = sorted(set(a.suites()) & set(b.suites()))
        if not common:
            print("no suite in common")
            return 1
        return max([_compare(*suite, a, b) for suite in common])


def _compare(suite: str, version: int, a: Store, b: Store) -> int:
    rows_a, rows_b = (_by_point(store.rows(suite, version)) for store in (a, b))
    both = [point for point in rows_a if point in rows_b]
    columns: Counter[str] = Counter()
    lines = []
    for point in both:
        one, other = _compared(rows_a[point]), _compared(rows_b[point])
        wrong = [name for name in one if one[name] != other[name]]
        columns.update(wrong)
        lines += [f"  {point} {name}: {one[name]} | {other[name]}" for name in wrong]
    alone = len(rows_a) + len(rows_b) - 2 * len(both)
    found = ", ".join(f"{name} in {count}" for name, count in columns.most_common()) or "equal bit for bit"
    print(f"{suite}@{version}: {len(both)} cells in both, {alone} in one only: {found}")
    print("\n".join(lines[:SHOWN]), end="\n" * bool(lines))
    return int(bool(columns) or alone > 0)


def _by_point(rows: list[Row]) -> dict[tuple[str, str, int, int, int], Row]:
    return {(row.task, row.label, row.d, row.n, row.replicate): row for row in rows}


def _compared(row: Row) -> dict[str, Any]:
    """The columns that must be equal, as texts that keep every bit of a number; an empty table is as none."""
    columns = {name: getattr(row, name) for name in COLUMNS if name not in UNEQUAL}
    columns["stages"] = {name: {k: v for k, v in stage.items() if v != {}} for name, stage in row.stages.items()}
    return {name: json.dumps(value, sort_keys=True) for name, value in columns.items()}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: python -m benchmarks.same STORE STORE")
    raise SystemExit(main(*sys.argv[1:]))
