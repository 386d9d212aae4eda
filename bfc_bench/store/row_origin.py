"""What made the rows, where that is not one and the same release, device and version of each learner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from importlib.metadata import version

import numpy as np

from bfc_bench.store.row import Origin, Row
from bfc_bench.store.rows import Rows

ORIGIN = ("release", "device", "learner_version")


def origin_remarks(rows: Iterable[Row]) -> list[str]:
    """A line for everything that readers must know of what made the rows; none where this release made them all alike.

    What made them, where that is more than one release and device, or another release than the installed one; and for
    each label the curves of which some points were made by one and some by another, learner versions included.
    """
    rows = Rows.of(rows)
    skipped = np.array(rows.column_of("status", lambda status: status == "skipped"), dtype=bool)
    run = rows.at(~skipped)
    made = Counter({Origin(by[0], by[1], None): len(group) for by, group in run.groups("release", "device").items()})
    alike = len(made) < 2 and all(origin.release == version("bfc-bench") for origin in made)
    lines = [] if alike else [f"{_cells(count)} made by {origin}." for origin, count in made.most_common()]
    curves: dict[tuple[str, str, int], set[Origin]] = {}
    for label, task, d, *origin in run.groups("label", "task", "d", *ORIGIN):
        curves.setdefault((label, task, d), set()).add(Origin(*origin))
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
