"""``python -m benchmarks.same STORE STORE``: whether two stores hold the same numbers, bit for bit.

Cells are paired by suite, task, label, d, n and replicate, whatever their identity was hashed from. What tells of time,
machine and session is not compared.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from bfc_bench.store.row import Row, measured
from bfc_bench.store.store import Store

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


def _compared(row: Row) -> dict[str, str]:
    """The columns that must be equal; identities may be hashed from other things."""
    return {name: text for name, text in measured(row.as_dict()).items() if name != "cell"}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: python -m benchmarks.same STORE STORE")
    raise SystemExit(main(*sys.argv[1:]))
