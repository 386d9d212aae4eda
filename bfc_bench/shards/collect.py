"""Rows of shards on their way into the store: what has come since the last time, in whatever order."""

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
"""Rows that are committed at once."""
DONE = "collected.json"
"""In the folder of a job that has ended: the sizes of the journals that were collected."""
Facts: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Collected:
    """What was collected of a job."""

    job: str
    new: int
    """Rows that the store did not have."""
    rows: int
    """That the job has made so far."""
    cells: int
    """Of the job."""
    open: int
    """Shards from which more may come."""

    def __str__(self) -> str:
        more = f"; {self.open} shards wait or run" if self.open else ""
        return f"{self.job}: {self.new} new rows, {self.rows} of {self.cells} cells have one{more}"


def collect(directory: Path) -> list[Collected]:
    """Put what shards have made into the store; twice adds nothing. Raises ``StoreError`` where the store is held."""
    if not (directory / SHARDS).is_dir():
        return []
    with Store(directory, write=True) as store:
        return collect_into(store)


def collect_into(store: Store) -> list[Collected]:
    """The same for a store that is open for writing.

    A row enters where the store has none of its cell, or the one that the job set out to make again. Whatever is there
    stays: rows of two jobs, or of a run meanwhile, for the same cell.
    """
    found = jobs(store.directory)
    waiting = [job for job in found if not _is_collected(job)]
    now = states(waiting)
    return [_collect(store, job, [state for state in now if state.job is job]) for job in waiting]


def _collect(store: Store, job: ShardJob, states: Sequence[State]) -> Collected:
    sizes = _sizes(job)
    new = rows = 0
    for state in states:
        journal = entries(job.file("journals", state.number))
        while chunk := list(islice(journal, TOGETHER)):
            rows += len(chunk)
            entering = list(_entering(store, job, chunk))
            _take_artifacts(store, job, entering)
            store.put(entering)
            new += len(entering)
    _note_machines(store, job, states)
    still = sum(state.open for state in states)
    if not still:
        store.end_session(job.id)  # all is on the disk then
        write_file(job.folder / DONE, canonical_json(sizes).encode(), private=True)
    return Collected(job.name, new, rows, sum(len(state.part.cells) for state in states), still)


def _entering(store: Store, job: ShardJob, chunk: Iterable[Entry]) -> Iterator[Entry]:
    for entry in chunk:
        held = store.provenance(entry[0].cell)
        if held is None or held == job.replaces.get(entry[0].cell):
            yield entry


def _take_artifacts(store: Store, job: ShardJob, entering: Iterable[Entry]) -> None:
    """Move what learners have kept, before the rows are there: a row never lacks it."""
    for row, *_ in entering:
        kept = Path(ARTIFACTS, f"{row.suite}@{row.suite_version}", row.cell)
        if (job.folder / kept).is_dir():
            make_folder((store.directory / kept).parent, private=True)
            shutil.rmtree(store.directory / kept, ignore_errors=True)
            os.replace(job.folder / kept, store.directory / kept)


def _note_machines(store: Store, job: ShardJob, states: Iterable[State]) -> None:
    """Add to the job's provenance on which machines it runs, as far as they are not like that of the submission."""
    facts = store.facts(job.id)
    if facts is None:
        return
    machines: dict[str, Facts] = {}
    for state in states:
        if state.heartbeat is not None:
            own = state.heartbeat.facts
            machines[state.heartbeat.host] = {k: v for k, v in own.items() if v != facts.get(k) and k not in _OWN}
    if machines.keys() - facts.get("machines", {}).keys():
        store.amend_session(job.id, {**facts, "machines": {**facts.get("machines", {}), **machines}})


_OWN = frozenset({"command", "host", "executor", "executor_options", "jobs", "precision", "threads_per_worker", "git"})
"""Facts that are a shard's own, or said of its machine already."""


def _sizes(job: ShardJob) -> Mapping[str, int]:
    return {path.name: path.stat().st_size for path in sorted((job.folder / "journals").glob("*.jsonl"))}


def _is_collected(job: ShardJob) -> bool:
    try:
        return (job.folder / DONE).read_bytes() == canonical_json(_sizes(job)).encode()
    except FileNotFoundError:
        return False
