"""Saves the rows of a run whose store was removed or replaced before they were committed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from bfc_bench.errors import BenchError
from bfc_bench.run.grid import Grid
from bfc_bench.store.row import Row
from bfc_bench.store.store import Store


def rescue(
    directory: Path,
    session: str,
    grid: Grid,
    provenance: Mapping[str, Any],
    rows: Sequence[tuple[Row, str, str, str]],
    files: Mapping[str, Mapping[str, bytes]],
) -> str:
    """Write rows to a new store beside the one that is gone, with their run, so that ``merge`` can add them to it.

    Args:
        directory: Folder of the store that is gone.
        session: Id of the run.
        grid: The cells of the run.
        provenance: Versions, command line and machine.
        rows: Rows with task digest, learner digest and traceback, as ``Store.put`` takes them.
        files: Artifacts by cell and name.

    Returns:
        One or two sentences that say where the rows are, or why they are lost.
    """
    count = f"{len(rows)} row{'s' * (len(rows) != 1)}"
    try:
        folder, suite = Path(f"{os.path.abspath(directory)}.rescued-{session}"), grid.suite
        with Store(folder, write=True) as store:
            store.sessions.begin(session, suite.name, suite.version, suite.definition(), provenance)
            store.sessions.define(suite.name, suite.version, grid.task_digests, grid.learner_digests)
            store.put(rows, files)
    except (BenchError, OSError) as error:
        return f"{count} that were computed and not committed are lost, because they cannot be saved: {error}"
    command = f"bfc-bench merge {quote(str(folder))} --into {quote(str(directory))}"
    return f"{count} that were computed and not committed are in {folder}: `{command}` adds them to the store."
