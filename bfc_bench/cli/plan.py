"""``bfc-bench plan``: show what a run would do."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bfc_bench.cli import options
from bfc_bench.cli.tables import print_table, print_text
from bfc_bench.errors import UsageError
from bfc_bench.utils.counted import counted

if TYPE_CHECKING:
    from rich.console import Console

    from bfc_bench.analysis.replicates_needed import ReplicatesNeeded
    from bfc_bench.executors.base import Executor
    from bfc_bench.run.grid import Cell
    from bfc_bench.run.plan import Plan
    from bfc_bench.toolkit.precision import Device


def plan(
    suite: options.SuiteArgument,
    learner: options.LearnerOption = None,
    task: options.TaskOption = None,
    set_: options.SetOption = None,
    device: options.DeviceOption = "auto",
    executor: options.ExecutorOption = None,
    executor_option: options.ExecutorOptionsOption = None,
    store: options.StoreOption = options.STORE,
    data: options.DataOption = None,
    locate: options.LocateOption = None,
    until_decided: options.UntilDecidedOption = False,
    up_to: options.UpToOption = None,
    jobs: options.JobsOption = None,
    redo: options.RedoOption = None,
    format: options.FormatOption = "table",
) -> None:
    """Show which cells a run would compute, with estimated time and memory.

    Nothing is run or written.
    """
    from bfc_bench.api import grid_of, located
    from bfc_bench.plugins import load_plugins
    from bfc_bench.run.executor_selection import executor_of
    from bfc_bench.run.options import RunOptions
    from bfc_bench.store.unpacking import store_folder
    from bfc_bench.strategies import results
    from bfc_bench.toolkit.gpu import count_gpus
    from bfc_bench.until_decided import next_plan

    plugins = load_plugins()
    grid = located(grid_of(suite, set_ or (), plugins, learner or (), task or ()), locate)
    chosen = executor_of(grid.suite, plugins, executor, options.executor_options(executor_option))
    last, run = options.last_look(until_decided, up_to, locate), RunOptions(store=store_folder(store), plugins=plugins)
    with results(grid, run) as stored:
        made = next_plan(grid, run, stored, _device(chosen, device), options.redo_of(redo), chosen, last)
        claims = stored.replicates_needed() if stored and stored.sessions else None
    gpu = made.common.device == "cuda"
    remarks = [*made.remarks, *made.costs.notes(cell for cell in made.todo if cell not in made.broken)]
    if grid.suite.locate or until_decided:
        how = "--until-decided" if until_decided else "--locate"
        remarks.append(f"these are the cells of the next round of {how}; what follows depends on their errors.")
    if gpu and not count_gpus():
        remarks.append(
            f"no GPU is visible here: times are for an unknown GPU, of whose memory a cell may use "
            f"{made.common.gpu_bytes / 1e9:.3g} GB (--set budget.gpu_memory_gb=...)."
        )
    seconds: dict[Device, float] = defaultdict(float, {made.common.device: 0.0})
    for cell in made.todo:
        seconds[made.device(cell)] += made.seconds.get(cell.id, 0.0)
    slots = {where: chosen.slots(where, jobs) or 1 for where in ("cpu", *seconds)}
    wall = max(seconds[where] / slots[where] for where in seconds)  # cores and GPUs work at the same time
    states = {"to do": made.todo, "done": made.done, "failed": made.failed, "skipped": list(made.skipped)}
    sizes = {task.name: {str(d): task.sizes(d) for d in task.d} for task in grid.suite.task if isinstance(task.n, dict)}
    if format == "json":
        facts = {
            "suite": grid.suite.name,
            "version": grid.suite.version,
            "cells": made.cells,
            **{what.replace(" ", ""): len(cells) for what, cells in states.items()},
            "stale": made.stale.total(),
            "cpu_seconds": round(seconds.get("cpu", 0.0), 1),
            **({"gpu_seconds": round(seconds["cuda"], 1)} if gpu else {}),
            "wall_seconds": round(wall, 1),
            "peak_memory_bytes": made.peak_bytes,
            **({"peak_gpu_bytes": made.peak_gpu_bytes, "gpu_bytes": made.common.gpu_bytes} if gpu else {}),
            "device": made.common.device,
            "jobs": slots["cpu"],
            **({"gpu_jobs": slots["cuda"]} if gpu else {}),
            **({"sizes": sizes} if sizes else {}),
            "skip_reasons": dict(Counter(made.skipped.values())),
            "faults": dict(Counter(made.broken.values())),
            "cautions": made.cautions,
            "remarks": remarks,
            "claims": [options.finite(claim.as_dict()) for claim in claims or ()],
        }
        print(json.dumps(facts, indent=2))
        return
    out = options.console(160)
    _print_curves(made, states, out)
    for name, by_d in sizes.items():
        for d, listed in by_d.items():
            print_text(out, f"sizes of {name} at d = {d}: {', '.join(map(str, listed))}")
    if claims:
        _print_claims(claims, out)
    elif grid.suite.claim:
        out.print(f"{counted(len(grid.suite.claim), 'claim')}: no results yet.", highlight=False)
    for what, reasons in (("skipped", made.skipped), ("to fail", made.broken)):
        for reason, number in Counter(reasons.values()).items():
            print_text(out, f"{what} {number}: {reason}")
    for line in (*(f"caution: {caution}" for caution in made.cautions), *remarks):
        print_text(out, line)
    times = [f"{taken:.0f} s of {where.upper()} time" for where, taken in seconds.items()]
    workers = [counted(slots[where], "worker" if where == "cpu" else "GPU worker") for where in seconds]
    print_text(
        out,
        f"{grid.suite.name}@{grid.suite.version}: {counted(made.cells, 'cell')}: "
        f"{', '.join(f'{len(cells)} {what}' for what, cells in states.items())}; about "
        f"{' and '.join(times)}, {wall:.0f} s on {' and '.join(workers)}; "
        f"largest cell {made.peak_bytes / 1e9:.2f} GB"
        + (f", on a GPU {made.peak_gpu_bytes / 1e9:.2f} of {made.common.gpu_bytes / 1e9:.2f} GB." if gpu else "."),
    )


def _print_curves(made: Plan, states: Mapping[str, Sequence[Cell]], out: Console) -> None:
    """Print the number of cells in each state, and the estimated seconds, of each task and learner."""
    counts = Counter((cell.task, cell.label, what) for what, cells in states.items() for cell in cells)
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    for cell in made.todo:
        seconds[cell.task, cell.label] += made.seconds.get(cell.id, 0.0)
    lines = [
        [name, label, *(str(counts[name, label, what]) for what in states), f"{seconds[name, label]:.0f}"]
        for name, label in dict.fromkeys((name, label) for name, label, _ in counts)
    ]
    unused = [(what,) for what, cells in states.items() if what != "to do" and not cells]
    print_table(out, ["task", "learner", *states, "est. s"], lines, omit=unused)


def _device(executor: Executor, request: str) -> Device:
    """The device of the run; ``cuda`` is accepted without a GPU, because login nodes have none."""
    try:
        return executor.resolve_device(request)
    except UsageError:
        if request != "cuda":
            raise
        return "cuda"


def _print_claims(claims: Sequence[ReplicatesNeeded], out: Console) -> None:
    """Print what would decide each claim."""
    from bfc_bench.report.tables import MISSING

    lines = []
    for claim in claims:
        needed = MISSING if math.isnan(claim.needed) else f"{claim.needed:.0f}"
        if math.isinf(claim.needed):
            needed = "none would do"
        verdict = f"{claim.verdict} (look {claim.look} of {claim.looks})" if claim.look else claim.verdict
        text = claim.says
        if claim.next_look and claim.look:
            text += f"; next look at {claim.next_look}"
        lines.append([claim.id, verdict, str(claim.replicates), needed, text])
    print_table(out, ["claim", "verdict so far", "R", "R needed", "what would decide it"], lines, prose=True)
