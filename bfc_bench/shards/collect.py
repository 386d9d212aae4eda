"""Collects new rows of shards into the store."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from bfc_bench.shards.job import ShardJob, jobs
from bfc_bench.shards.journal import Entry, entries
from bfc_bench.shards.states import State, states
from bfc_bench.store.backup import ARTIFACTS, SHARDS
from bfc_bench.store.store import Store
from bfc_bench.utils.files import make_folder, write_file
from bfc_bench.utils.plain_json import canonical_json

TOGETHER = 1000
"""Rows per commit."""
DONE = "collected.json"
"""File in the folder of an ended job with the sizes of the journals that were collected."""
Facts: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Collected:
    """What was collected from a job."""

    job: str
    new: int
    """Rows that were added to the store."""
    rows: int
    """Rows that the job has made so far."""
    cells: int
    """Cells of the job."""
    open: int
    """Shards that wait or run."""

    def __str__(self) -> str:
        more = f"; {self.open} shards wait or run" if self.open else ""
        return f"{self.job}: {self.new} new rows, {self.rows} of {self.cells} cells have one{more}"


def collect(directory: Path) -> list[Collected]:
    """Add new rows of shards to a store. Raises ``StoreError`` if another process holds the store."""
    if not (directory / SHARDS).is_dir():
        return []
    with Store(directory, write=True) as store:
        return collect_into(store)


def collect_into(store: Store) -> list[Collected]:
    """Add new rows of shards to a store that is open for writing.

    A row is added if the store has no row of its cell, or the row that the job was submitted to replace. Other rows in
    the store stay, such as those of another job or of a run in the meantime.
    """
    pending = [job for job in jobs(store.directory) if not _is_collected(job)]
    current = states(pending)
    return [_collect(store, job, [state for state in current if state.job is job]) for job in pending]


def _collect(store: Store, job: ShardJob, states: Sequence[State]) -> Collected:
    sizes = _sizes(job)
    new = rows = 0
    for state in states:
        journal = entries(job.file("journals", state.number))
        while chunk := list(islice(journal, TOGETHER)):
            rows += len(chunk)
            accepted = list(_accepted(store, job, chunk))
            _move_artifacts(store, job, accepted)
            store.put(accepted)
            new += len(accepted)
    _note_machines(store, job, states)
    still_open = sum(state.open for state in states)
    if not still_open:
        store.sessions.end(job.id)  # first, so that all rows are on the disk
        write_file(job.folder / DONE, canonical_json(sizes).encode(), private=True)
    return Collected(job.name, new, rows, sum(len(state.part.cells) for state in states), still_open)


def _accepted(store: Store, job: ShardJob, chunk: Iterable[Entry]) -> Iterator[Entry]:
    for entry in chunk:
        held = store.provenance(entry[0].cell)
        if held is None or held == job.replaces.get(entry[0].cell):
            yield entry


def _move_artifacts(store: Store, job: ShardJob, accepted: Iterable[Entry]) -> None:
    """Move artifacts before their rows are committed, so that no row lacks its files."""
    for row, *_ in accepted:
        artifacts = Path(ARTIFACTS, f"{row.suite}@{row.suite_version}", row.cell)
        if (job.folder / artifacts).is_dir():
            make_folder((store.directory / artifacts).parent, private=True)
            shutil.rmtree(store.directory / artifacts, ignore_errors=True)
            os.replace(job.folder / artifacts, store.directory / artifacts)


def _note_machines(store: Store, job: ShardJob, states: Iterable[State]) -> None:
    """Add the machines of a job to its provenance, each with the facts that differ from the submitting machine."""
    facts = store.sessions.provenance(job.id)
    if facts is None:
        return
    machines: dict[str, Facts] = {}
    for state in states:
        if state.heartbeat is not None:
            own = state.heartbeat.facts
            machines[state.heartbeat.host] = {k: v for k, v in own.items() if v != facts.get(k) and k not in _OWN}
    if machines.keys() - facts.get("machines", {}).keys():
        store.sessions.amend(job.id, {**facts, "machines": {**facts.get("machines", {}), **machines}})


_OWN = frozenset({"command", "host", "executor", "executor_options", "jobs", "precision", "threads_per_worker", "git"})
"""Facts that are not compared, since they differ between shards or belong to the job."""


def _sizes(job: ShardJob) -> Mapping[str, int]:
    return {path.name: path.stat().st_size for path in sorted((job.folder / "journals").glob("*.jsonl"))}


def _is_collected(job: ShardJob) -> bool:
    try:
        return (job.folder / DONE).read_bytes() == canonical_json(_sizes(job)).encode()
    except FileNotFoundError:
        return False
