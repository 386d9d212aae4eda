"""Cells that failed, by cause: those of one learner whose statuses and reasons are equal, apart from numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bfc_bench.utils.counted import counted

if TYPE_CHECKING:
    from bfc_bench.store.row import Row
    from bfc_bench.stored_suite import StoredSuite

FILE = "failures.txt"
"""File beside the report that has the traceback of the first cell of each cause."""


def cause(row: Row) -> tuple[str, str, str]:
    """Status, label and reason, with every number as ``#``, since cells of one cause name their own sizes."""
    return row.status, row.label, re.sub(r"[\d.]*\d", "#", row.reason)


def failure_lines(stored: StoredSuite) -> list[str]:
    """A line for each cause of failures in a suite, with their number and the file that has a traceback.

    Writes the file. Raises ``OutputError`` if that is not possible.
    """
    from bfc_bench.utils.files import inside, make_folder, write_file

    causes: dict[tuple[str, str, str], list[Row]] = {}
    for row in stored.each():
        if row.status not in ("ok", "skipped"):
            causes.setdefault(cause(row), []).append(row)
    file, lines, traced = stored.directory / FILE, list[str](), list[str]()
    for rows in causes.values():
        first = rows[0]
        reason = "".join(first.reason.splitlines()[:1])
        tasks = ", ".join(sorted({row.task for row in rows}))
        line = f"{counted(len(rows), 'cell')} {first.status}: {first.label} on {tasks}: {reason}"
        if trace := stored.store.traceback(first.cell):
            place = f"{first.task}, d = {first.d}, n = {first.n}, replicate {first.replicate}"
            traced.append(f"{line}\nThe traceback at {place}:\n{trace}")
            line += f" (traceback: {file})"
        lines.append(line)
    if traced:
        make_folder(stored.directory, private=True)
        write_file(inside(stored.directory, FILE), "\n".join(traced).encode())
    return lines
