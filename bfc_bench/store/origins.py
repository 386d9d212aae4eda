"""What made the rows, where that is not one and the same release, device and version of each learner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from importlib.metadata import version

from bfc_bench.store.row import Origin, Row


def origin_remarks(rows: Iterable[Row]) -> list[str]:
    """A line for everything that readers must know of what made the rows; none where this release made them all alike.

    Rows of more than one release or device, rows of another release than the installed one, and curves of which some
    points were made by one and some by another.
    """
    run = [row for row in rows if row.status != "skipped"]
    made = Counter(Origin(row.release, row.device, None) for row in run)
    if len(made) < 2 and all(origin.release == version("bfc-bench") for origin in made):
        lines = []
    else:
        lines = [f"{_cells(count)} made by {origin}." for origin, count in made.most_common()]
    curves: dict[tuple[str, int, str], Counter[Origin]] = {}
    for row in run:
        curves.setdefault((row.task, row.d, row.label), Counter())[row.origin] += 1
    for (task, d, label), found in curves.items():
        if len(found) > 1:
            parts = "; ".join(f"{_cells(count)} by {origin}" for origin, count in found.most_common())
            lines.append(f"The curve of {label} on {task}, d = {d}, is mixed: {parts}.")
    return lines


def _cells(count: int) -> str:
    return f"{count} cell{'s' * (count != 1)}"
