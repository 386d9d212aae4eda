"""``bfc-bench status``: show the state of the shards of a store."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bfc_bench.cli.options import STORE, StoreOption, console, print_json

if TYPE_CHECKING:
    from bfc_bench.shards.job import ShardJob
    from bfc_bench.shards.states import State

SHOWN = 40
"""The most shards of a job that are listed, unfinished ones first."""


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("status")(status)


def status(
    store: StoreOption = STORE,
    format: Annotated[str, typer.Option("--format", metavar="table|json", help="Output format.")] = "table",
) -> None:
    """Show the state of the shards of every submitted job.

    A shard is waiting, running, done, stopped, failed or lost. It says why, where the logs are and what to type next.
    """
    from bfc_bench.cli.tables import print_lines, print_prose
    from bfc_bench.errors import UsageError
    from bfc_bench.shards.job import jobs
    from bfc_bench.shards.states import states

    if format not in ("table", "json"):
        raise UsageError(f"--format must be table or json. Got {format!r}.")
    all_jobs = jobs(store)
    all_states = states(all_jobs)
    if format == "json":
        print_json([_record(state) for state in all_states])
        return
    out = console(160)
    for job in all_jobs:
        own = [state for state in all_states if state.job is job]
        records = [_record(state) for state in own]
        counts = ", ".join(f"{count} {where}" for where, count in sorted(Counter(s.where for s in own).items()))
        rows, cells = (sum(record[name] for record in records) for name in ("rows", "cells"))
        out.print(f"{job.name}: {job.shards} shards: {counts}; {rows} of {cells} rows", highlight=False, soft_wrap=True)
        lines = []
        shown = sorted(records, key=lambda record: record["state"] == "done")
        for record in shown[:SHOWN]:
            texts = [str(record[name]) for name in ("shard", "state", "rows", "cells", "machine")]
            ago = "" if record["silent"] is None else f"{record['silent']:.0f} s ago"
            lines.append([*texts, ago, "; ran ".join(filter(None, [record["why"], record["runs"]]))])
        header = ["shard", "state", "rows", "cells", "machine", "last heartbeat", "why, or what it runs"]
        print_lines(out, header, lines, keys=2, prose=True)
        if len(shown) > SHOWN:
            out.print(f"and {len(shown) - SHOWN} more", highlight=False)
        for line in _next(store, job, own):
            print_prose(out, line)
    if not all_jobs:
        out.print(f"{store} has no shards. Submit some: bfc-bench submit SUITE --shards K.", highlight=False)


def _next(store: Path, job: ShardJob, states: Sequence[State]) -> Iterator[str]:
    """Where the logs of shards that ended badly are, what is missing, and what to type."""
    from bfc_bench.store.store import Store

    logs = [job.log(state.number) for state in states if state.where in ("failed", "lost")]
    if logs := [log for log in logs if log.exists()]:
        yield f"Logs: {logs[0]}" + (f" and {len(logs) - 1} more there" if len(logs) > 1 else "")
    still = sum(state.open for state in states)
    with Store(store) as opened:
        held = opened.known_cells(job.suite["name"], job.suite["version"])
    missing = {cell for state in states if not state.open for cell in state.missing if cell not in held}
    collected = all(cell.id in held for state in states for cell in state.part.cells if cell.id not in state.missing)
    if missing:
        yield f"{len(missing)} cells have no row. Next: bfc-bench submit {job.where} --shards K --store {store}"
    elif not collected:
        yield f"Next: bfc-bench collect --store {store}"
    elif not still and any(state.where != "done" for state in states):
        yield "Nothing is missing: other runs have made the cells of these shards."


def _record(state: State) -> dict[str, Any]:
    heartbeat = state.heartbeat
    return {
        "job": state.job.name,
        "shard": state.number,
        "state": state.where,
        "rows": state.rows,
        "cells": len(state.part.cells),
        "machine": heartbeat.host if heartbeat else "",
        "silent": time.time() - heartbeat.at if heartbeat and state.where == "running" else None,
        "runs": _running_cells(state, heartbeat.cells) if heartbeat and state.where in ("running", "lost") else "",
        "why": state.why,
        "log": str(state.job.log(state.number)),
    }


def _running_cells(state: State, cells: Sequence[str]) -> str:
    """The cells that are running, or were running when the shard was lost."""
    named = {c.id: f"{c.label} on {c.task}, d={c.d}, n={c.n}, r{c.replicate}" for c in state.part.cells}
    return "; ".join(named[cell] for cell in cells[:2]) + (f" and {len(cells) - 2} more" if len(cells) > 2 else "")
