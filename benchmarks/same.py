"""``python -m benchmarks.same STORE STORE``: checks that two stores hold the same numbers, bit for bit.

Cells are paired by suite, task, label, d, n and replicate, not by their hashed identity. Columns about time, machine
and session are not compared. Two rows made on GPUs are the same within the tolerance of ``merge``.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

from bfc_bench.store.equality import GPUS, differing, tolerance_of
from bfc_bench.store.row import Row, measured
from bfc_bench.store.store import Store

SHOWN = 10
"""Number of differences printed per suite."""


def main(first: str, second: str) -> int:
    """Return 0 if all suites in both stores have the same cells with the same numbers, otherwise 1."""
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
    close = 0
    for point in both:
        one, other = (_compared(rows[point]) for rows in (rows_a, rows_b))
        wrong = differing(one, other, tolerance_of(one, other))
        close += not wrong and bool(differing(one, other))
        columns.update(wrong)
        one, other = measured(one), measured(other)
        lines += [f"  {point} {name}: {one[name]} | {other[name]}" for name in wrong]
    alone = len(rows_a) + len(rows_b) - 2 * len(both)
    result = ", ".join(f"{name} in {count}" for name, count in columns.most_common()) or "equal bit for bit"
    if close:
        result = f"{result if columns else 'equal'}, {close} of GPUs within a relative {GPUS[0]:g}"
    print(f"{suite}@{version}: {len(both)} cells in both, {alone} in one only: {result}")
    print("\n".join(lines[:SHOWN]), end="\n" * bool(lines))
    return int(bool(columns) or alone > 0)


def _by_point(rows: list[Row]) -> dict[tuple[str, str, int, int, int], Row]:
    return {(row.task, row.label, row.d, row.n, row.replicate): row for row in rows}


def _compared(row: Row) -> dict[str, Any]:
    """The row without its identity, whose hashed content may have changed."""
    return {name: value for name, value in row.as_dict().items() if name != "cell"}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: python -m benchmarks.same STORE STORE")
    raise SystemExit(main(*sys.argv[1:]))
