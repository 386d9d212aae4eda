"""Journals with the rows of shards: append-only files with a line of JSON per row, synced after each unit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from pydantic_core import from_json, to_json

from bfc_bench.errors import OutputError
from bfc_bench.store.row import Row, acceptable

Entry: TypeAlias = tuple[Row, str, str, str]
"""A row with its task digest, learner digest and traceback, as a store takes it."""


class Journal:
    """The journal of a shard, open for appending."""

    def __init__(self, path: Path) -> None:
        """Open, and remove an incomplete last line of an earlier attempt. Raises ``OutputError``."""
        self._path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            content = path.read_bytes()
            os.ftruncate(self._file, content.rfind(b"\n") + 1)
        except OSError as error:
            raise self._full(error) from None
        self.cells = {row.cell for row, *_ in entries(path)}
        self._synced = True

    def add(self, entry: Entry) -> None:
        """Append a row. It survives the end of this process, and after ``sync`` also that of the machine.

        Raises ``OutputError``.
        """
        row, task, learner, traceback = entry
        self._synced = False
        line = to_json({"row": row.as_dict(), "task": task, "learner": learner, "traceback": traceback}) + b"\n"
        try:
            written = os.write(self._file, line)
            if written < len(line):
                os.write(self._file, line[written:])  # raises the reason
        except OSError as error:
            raise self._full(error) from None
        self.cells.add(row.cell)

    def sync(self) -> None:
        """Write the added rows to the disk. Raises ``OutputError``."""
        if self._synced:
            return
        try:
            os.fsync(self._file)
        except OSError as error:
            raise self._full(error) from None
        self._synced = True

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _full(self, error: OSError) -> OutputError:
        return OutputError(f"{self._path} cannot be written: {error.strerror}.")


def entries(path: Path) -> Iterator[Entry]:
    """The first row of each cell in a journal, which may still be written; none if there is no file.

    Incomplete and damaged lines are ignored, so that their cells run again.
    """
    seen: set[str] = set()
    for line in lines(path):
        try:
            entry = from_json(line)
            values, task, learner, traceback = (entry[key] for key in ("row", "task", "learner", "traceback"))
        except (ValueError, TypeError, KeyError):
            continue
        if acceptable(values) and values["cell"] not in seen:
            seen.add(values["cell"])
            yield Row.read(values), task, learner, traceback


def lines(path: Path) -> Iterator[bytes]:
    """The complete lines of a file."""
    try:
        with path.open("rb") as file:
            yield from (line for line in file if line.endswith(b"\n"))
    except FileNotFoundError:
        return
