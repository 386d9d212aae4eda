"""``bfc-bench plan``: show what a run would do."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bfc_bench.cli import options
from bfc_bench.cli.tables import print_table, print_text
from bfc_bench.utils.counted import counted
from bfc_bench.utils.plain_json import finite

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
    from bfc_bench.plugins.manager import load_plugins
    from bfc_bench.run.options import RunOptions
    from bfc_bench.run.session import executor_of
    from bfc_bench.store.unpacking import store_folder
    from bfc_bench.strategies.api import grid_of, located
    from bfc_bench.strategies.rounds import results
    from bfc_bench.strategies.strategy import next_plan
    from bfc_bench.suite.changes import changed
    from bfc_bench.toolkit.gpu import count_gpus

    plugins = load_plugins()
    grid = located(grid_of(suite, set_ or (), plugins, learner or (), task or ()), locate)
    chosen = executor_of(grid.suite, plugins, executor, changed({}, executor_option, "--executor-option"))
    last = options.last_look(until_decided, up_to, locate)
    run = RunOptions(store=store_folder(store), redo=options.redo_of(redo), plugins=plugins)
    on = "cuda" if device == "cuda" else chosen.resolve_device(device)  # login nodes have no GPU
    with results(grid, run) as stored:
        plan = next_plan(grid, run, stored, on, chosen, last)
        claims = stored.replicates_needed() if stored and stored.sessions else None
    forecast = _Forecast(plan, jobs, chosen)
    remarks = [*plan.remarks, *plan.notes]
    if plan.todo and (grid.suite.locate or until_decided):
        how = "--until-decided" if until_decided else "--locate"
        remarks.append(f"these are the cells of the next round of {how}; what follows depends on their errors.")
    if forecast.gpu and not count_gpus():
        remarks.append(
            f"no GPU is visible here: times are for an unknown GPU, of whose memory a cell may use "
            f"{plan.memory['cuda'] / 1e9:.3g} GB (--set budget.gpu_memory_gb=...)."
        )
    if format == "json":
        print(json.dumps(_facts(forecast, remarks, claims or ()), indent=2))
    else:
        _print_plan(forecast, remarks, claims or (), options.console(160))


class _Forecast:
    """What the cells of a plan will take."""

    def __init__(self, plan: Plan, jobs: int | None, executor: Executor) -> None:
        self.plan = plan
        self.gpu = plan.device == "cuda"
        self.seconds: dict[Device, float] = defaultdict(float, {plan.device: 0.0})
        for cell in plan.todo:
            self.seconds[plan.device_of(cell)] += plan.seconds.get(cell.id, 0.0)
        self.slots = {device: executor.slots(device, jobs) or 1 for device in ("cpu", *self.seconds)}
        self.wall = max(self.seconds[device] / self.slots[device] for device in self.seconds)  # they work at once
        self.states = {"to do": plan.todo, "done": plan.done, "failed": plan.failed, "skipped": list(plan.skipped)}
        tasks = plan.grid.suite.task
        self.sizes = {task.name: {str(d): task.sizes(d) for d in task.d} for task in tasks if isinstance(task.n, dict)}


def _facts(forecast: _Forecast, remarks: Sequence[str], claims: Sequence[ReplicatesNeeded]) -> dict[str, Any]:
    """The plan as plain data."""
    plan, gpu = forecast.plan, forecast.gpu
    return {
        "suite": plan.grid.suite.name,
        "version": plan.grid.suite.version,
        "cells": len(plan.cells),
        **{what.replace(" ", ""): len(cells) for what, cells in forecast.states.items()},
        "stale": plan.stale.total(),
        "cpu_seconds": round(forecast.seconds.get("cpu", 0.0), 1),
        **({"gpu_seconds": round(forecast.seconds["cuda"], 1)} if gpu else {}),
        "wall_seconds": round(forecast.wall, 1),
        "peak_memory_bytes": plan.peak_bytes("cpu"),
        **({"peak_gpu_bytes": plan.peak_bytes("cuda"), "gpu_bytes": plan.memory["cuda"]} if gpu else {}),
        "device": plan.device,
        "jobs": forecast.slots["cpu"],
        **({"gpu_jobs": forecast.slots["cuda"]} if gpu else {}),
        **({"sizes": forecast.sizes} if forecast.sizes else {}),
        "skip_reasons": dict(Counter(plan.skipped.values())),
        "faults": dict(Counter(plan.broken.values())),
        "cautions": plan.cautions,
        "remarks": remarks,
        "claims": [finite(claim.as_dict()) for claim in claims],
    }


def _print_plan(forecast: _Forecast, remarks: Sequence[str], claims: Sequence[ReplicatesNeeded], out: Console) -> None:
    plan, suite = forecast.plan, forecast.plan.grid.suite
    _print_curves(plan, forecast.states, out)
    for name, by_d in forecast.sizes.items():
        for d, listed in by_d.items():
            print_text(out, f"sizes of {name} at d = {d}: {', '.join(map(str, listed))}")
    if claims:
        _print_claims(claims, out)
    elif suite.claim:
        out.print(f"{counted(len(suite.claim), 'claim')}: no results yet.", highlight=False)
    for what, reasons in (("skipped", plan.skipped), ("to fail", plan.broken)):
        for reason, number in Counter(reasons.values()).items():
            print_text(out, f"{what} {number}: {reason}")
    for line in (*(f"caution: {caution}" for caution in plan.cautions), *remarks):
        print_text(out, line)
    states = ", ".join(f"{len(cells)} {what}" for what, cells in forecast.states.items())
    times = " and ".join(f"{seconds:.0f} s of {device.upper()} time" for device, seconds in forecast.seconds.items())
    workers = " and ".join(
        counted(forecast.slots[device], "worker" if device == "cpu" else "GPU worker") for device in forecast.seconds
    )
    memory = f"largest cell {plan.peak_bytes('cpu') / 1e9:.2f} GB"
    if forecast.gpu:
        memory += f", on a GPU {plan.peak_bytes('cuda') / 1e9:.2f} of {plan.memory['cuda'] / 1e9:.2f} GB"
    cells = counted(len(plan.cells), "cell")
    named = f"{suite.name}@{suite.version}"
    print_text(out, f"{named}: {cells}: {states}; about {times}, {forecast.wall:.0f} s on {workers}; {memory}.")


def _print_curves(plan: Plan, states: Mapping[str, Sequence[Cell]], out: Console) -> None:
    """Print the number of cells in each state, and the estimated seconds, of each task and learner."""
    counts = Counter((cell.task, cell.label, what) for what, cells in states.items() for cell in cells)
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    for cell in plan.todo:
        seconds[cell.task, cell.label] += plan.seconds.get(cell.id, 0.0)
    lines = [
        [name, label, *(str(counts[name, label, what]) for what in states), f"{seconds[name, label]:.0f}"]
        for name, label in dict.fromkeys((name, label) for name, label, _ in counts)
    ]
    unused = [(what,) for what, cells in states.items() if what != "to do" and not cells]
    print_table(out, ["task", "learner", *states, "est. s"], lines, omit=unused)


def _print_claims(claims: Sequence[ReplicatesNeeded], out: Console) -> None:
    """Print what would decide each claim."""
    from bfc_bench.report.tables import MISSING

    lines = []
    for claim in claims:
        needed = MISSING if math.isnan(claim.needed) else f"{claim.needed:.0f}"
        if math.isinf(claim.needed):
            needed = "none would do"
        verdict = f"{claim.verdict} (look {claim.look} of {claim.looks})" if claim.look else claim.verdict
        later = f"; next look at {claim.next_look}" if claim.next_look and claim.look else ""
        lines.append([claim.id, verdict, str(claim.replicates), needed, claim.says + later])
    print_table(out, ["claim", "verdict so far", "R", "R needed", "what would decide it"], lines, prose=True)
