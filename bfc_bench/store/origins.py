"""What made the rows, where that is not one and the same release, device and version of each learner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from importlib.metadata import version

from bfc_bench.store.row import Origin, Row


def origin_remarks(rows: Iterable[Row]) -> list[str]:
    """A line for everything that readers must know of what made the rows; none where this release made them all alike.

    What made them, where that is more than one release and device, or another release than the installed one; and for
    each label the curves of which some points were made by one and some by another, learner versions included.
    """
    run = [row for row in rows if row.status != "skipped"]
    made = Counter(Origin(row.release, row.device, None) for row in run)
    alike = len(made) < 2 and all(origin.release == version("bfc-bench") for origin in made)
    lines = [] if alike else [f"{_cells(count)} made by {origin}." for origin, count in made.most_common()]
    curves: dict[tuple[str, str, int], set[Origin]] = {}
    for row in run:
        curves.setdefault((row.label, row.task, row.d), set()).add(row.origin)
    mixed: dict[str, dict[str, list[int]]] = {}
    for (label, task, d), origins in sorted(curves.items()):
        if len(origins) > 1:
            mixed.setdefault(label, {}).setdefault(task, []).append(d)
    for label, tasks in mixed.items():
        where = ", ".join(f"{task} (d = {', '.join(map(str, dims))})" for task, dims in tasks.items())
        lines.append(f"Curves of {label} with points of more than one: {where}.")
    return lines


def _cells(count: int) -> str:
    return f"{count} cell{'s' * (count != 1)}"
