"""``python -m benchmarks.machines [SUITE ...]``: simulates a run on 1 to 1000 machines and finds its bottlenecks.

Units are the batches of the suites' plans. Their durations come from the rows of ``--store``, or from declared costs.
The session's time for a slot, a unit and a row, and the start of a worker, are measured first (``cluster_costs.py``).
Then the run is simulated (``cluster.py``), as it is and with each of these costs halved. The times of cells differ from
their estimates as the rows of ``--store`` differ from their medians (``cluster_units.py``). ``benchmarks.simulated``
compares such a simulation with a real run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

from benchmarks import machine
from benchmarks.cluster import Costs, Mode, Result, Shape, Unit, simulate
from benchmarks.cluster_costs import Driving, driving, start, writing
from benchmarks.cluster_units import Surprise, actual_seconds, exact_units, session_units, shard_units
from benchmarks.measurement import all_cpu
from bfc_bench.plugins import Plugins, load_plugins
from bfc_bench.run.grid import resolve
from bfc_bench.run.plan import Plan, make_plan
from bfc_bench.run.session import plan_for
from bfc_bench.store.rows import Rows
from bfc_bench.store.store import Store
from bfc_bench.suite.find import suite_path
from bfc_bench.suite.model import read_suite

SUITES = ("bfc", "bfc-agnostic", "representations")
RAY_SECONDS = 1.0e-3
"""CPU time of the session for a unit on Ray, in seconds (``benchmarks.ray_units``)."""
PROCESSES_SECONDS = 6e-5
"""CPU time of the session for a unit in worker processes, in seconds."""
SHARED_DISK = 10.0
"""Assumed time to sync rows on a shared disk, relative to a local one."""
SAMPLE = 200
"""Number of units used to measure costs."""
LEAST = 0.5
"""Smallest change of the wall time that is shown, in per cent."""
COLUMNS = (
    *("machines", "slots", "units", "wall", "efficiency", "session: slots", "session: units", "rows", "disk"),
    *("longest unit", "lost"),
)
HALVED = {
    "start": "start of a worker",
    "place": "starting a slot",
    "look": "a pass over the slots",
    "dispatch": "giving out a unit",
    "commit": "a transaction",
    "row": "a row",
    "sync": "a sync of the shared disk",
}


@dataclass(frozen=True)
class Case:
    """A cluster with its units and costs."""

    shape: Shape
    units: Sequence[Unit]
    costs: Costs
    parts: Sequence[int] | None = None
    """The machine of each unit, as estimates divide them."""
    exact: Sequence[Unit] = ()
    """The units if estimates were exact, the longest first."""

    @property
    def ideal(self) -> float:
        """Wall seconds if all slots fitted from beginning to end."""
        return sum(unit.seconds for unit in self.units) / (self.shape.machines * self.shape.slots)

    @property
    def longest(self) -> float:
        """Seconds of the longest unit."""
        return max(unit.seconds for unit in self.units)

    def result(self) -> Result:
        """The simulated run."""
        return simulate(self.units, self.costs, self.shape, self.parts)

    def bounds(self, result: Result) -> dict[str, float]:
        """Lower bounds on the wall time in seconds, by their cause."""
        bounds = {"the fits": self.ideal, "the longest unit": self.costs.start + self.longest}
        if self.shape.mode == "slurm":
            shard = {"the session of a shard": result.driving, "the collector": result.writing}
            return {**bounds, **shard, "the shared disk": result.syncing}
        parts = {"starting slots": result.placing, "giving out units": result.driving, "writing rows": result.writing}
        most = max(parts, key=lambda name: parts[name])
        return {**bounds, f"the session, most of it {most} ({parts[most]:.0f} s)": sum(parts.values())}

    def variants(self) -> Iterator[tuple[str, Case]]:
        """The case with one change at a time."""
        for name, what in HALVED.items():
            if cost := getattr(self.costs, name):
                yield f"half: {what}", replace(self, costs=replace(self.costs, **{name: cost / 2}))
        cut = list(self._cut())
        yield "half: the longest units", replace(self, units=[u for u, _ in cut], parts=[part for _, part in cut])
        warm = replace(self, costs=replace(self.costs, cold=0.0))
        yield "warm caches", warm
        yield "exact estimates, warm caches", replace(warm, units=self.exact, parts=None)
        yield "no slow slots", replace(self, shape=replace(self.shape, stragglers=0.0))

    def _cut(self) -> Iterator[tuple[Unit, int]]:
        """Units, with those longer than half the longest one split in two, each with its machine."""
        half = self.longest / 2
        for unit, part in zip(self.units, self.parts or [0] * len(self.units), strict=True):
            count = 2 if unit.seconds > half and unit.rows > 1 else 1
            for rows in {1: [unit.rows], 2: _halves(unit.rows)}[count]:
                yield Unit(unit.seconds / count, rows, unit.learner), part


def _halves(rows: int) -> list[int]:
    return [rows // 2, rows - rows // 2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the costs, simulate the runs, and print the tables."""
    options = _parser().parse_args(arguments)
    began, before = time.perf_counter(), machine.load()
    plugins = load_plugins()
    plans = [_plan(suite, options.replicates, options.store, plugins) for suite in options.suites or SUITES]
    cells, total = sum(len(plan.todo) for plan in plans), sum(sum(plan.seconds.values()) for plan in plans)
    names = ", ".join(plan.grid.suite.name for plan in plans)
    print(f"{names}, {options.replicates} replicates: {cells} cells, {total:.0f} CPU seconds of fits\n")
    batches = plans[0].batches(1)
    sample = batches[:: max(1, len(batches) // SAMPLE)]
    with TemporaryDirectory() as folder:  # TMPDIR names a disk where this one is memory
        wrote = writing(plans[0].grid, sample, Path(folder))
    started = start()
    surprise = replace(_surprise(options.store, plans), beside=options.beside)
    actual: dict[str, float] = {}
    for number, plan in enumerate(plans):
        actual |= actual_seconds(plan, surprise, options.seed + number)
    units = {count: session_units(plans, count * options.cores, actual) for count in options.machines}
    drove = {
        count: driving(sample, count, options.cores, min(count * options.cores, len(units[count])))
        for count in options.machines
    }
    print(
        f"A worker starts in {started:.2f} s. The writer takes {1e3 * wrote.commit:.2f} ms for a transaction and "
        f"{1e3 * wrote.row:.2f} ms for a row, {1 / wrote.row:.0f} rows a second; those of a shard's unit are on "
        f"this disk in {1e3 * wrote.sync:.2f} ms. Times of cells differ from their estimates by a factor of "
        f"{exp(surprise.sigma):.2f} (standard deviation of the logarithm {surprise.sigma:.2f}); the first cell of a "
        f"learner in a worker takes {surprise.cold:.2f} s longer.\n"
    )
    _table(
        ("machines", "starting a slot", "a pass over the slots", "giving out a unit, without Ray"),
        [(str(n), *(f"{1e3 * value:.2f} ms" for value in (d.place, d.look, d.dispatch))) for n, d in drove.items()],
    )

    def costs(mode: Mode, drove: Driving) -> Costs:
        if mode == "slurm":
            dispatch, sync = PROCESSES_SECONDS, SHARED_DISK * wrote.sync
            return Costs(started, surprise.cold, dispatch=dispatch, commit=wrote.commit, row=wrote.row, sync=sync)
        dispatch = RAY_SECONDS + drove.dispatch
        return Costs(started, surprise.cold, drove.place, drove.look, dispatch, wrote.commit, wrote.row)

    for mode in get_args(Mode):
        cases = {}
        for count in options.machines:
            formed, parts = units[count], None
            if mode == "slurm":
                formed, parts = _shards(plans, count, options.cores, actual)
            exact = exact_units(plans, count * options.cores)
            cases[count] = Case(_shape(options, count, mode), formed, costs(mode, drove[count]), parts, exact)
        _report(mode, cases)
    facts = machine.describe()
    print(f"{facts['processor']}, {facts['cores']} cores; {facts['platform']}; Python {facts['python']}")
    print(", ".join(f"{name} {version}" for name, version in facts["packages"].items() if version))
    busy = " to ".join(f"{load:.1f}" for load in (before, machine.load()) if load is not None)
    spent = f"{time.perf_counter() - began:.0f} s in all, {all_cpu():.0f} s of CPU time"
    print(f"Load per core {busy}; commit {facts['git']}; {spent}.")
    return 0


def _report(mode: Mode, cases: Mapping[int, Case]) -> None:
    results = {count: case.result() for count, case in cases.items()}
    print(f"\n**{mode}**\n")
    _table(COLUMNS, [_row(case, results[count]) for count, case in cases.items()])
    print()
    for count, case in cases.items():
        print(
            f"- {count} machine{'s' * (count > 1)}: {bottleneck(case.bounds(results[count]), results[count].makespan)}"
        )
    print()
    rows: dict[str, list[str]] = {}
    first = min(cases)
    for count, case in cases.items():
        small = replace(case, costs=cases[first].costs)
        for name, variant in (*case.variants(), (f"all costs as on {first} machine{'s' * (first > 1)}", small)):
            end = variant.result().makespan
            change = 100 * (end / results[count].makespan - 1)
            rows.setdefault(name, []).append(f"{end:.0f} s ({change:+.1f} %)" if abs(change) >= LEAST else "")
    moved = [(name, *changes) for name, changes in rows.items() if any(changes)]
    _table(("wall time with", *(f"{count} machines" for count in cases)), moved)
    print()


def bottleneck(bounds: Mapping[str, float], makespan: float) -> str:
    """The largest bound, and the speed-up after which the next one would be as large."""
    (first, most), (second, next_most), *_ = sorted(bounds.items(), key=lambda item: -item[1])
    share = f"{first}, {most:.0f} s of {makespan:.0f} s ({most / makespan:.0%})"
    return f"{share}. Were that {most / next_most:.1f} times faster, {second} would take as long, {next_most:.0f} s"


def _row(case: Case, result: Result) -> tuple[str, ...]:
    shape, end = case.shape, result.makespan
    times = (result.placing, result.driving, result.writing, result.syncing, case.longest)
    return (
        *(str(shape.machines), str(shape.machines * shape.slots), str(len(case.units)), f"{end:.0f} s"),
        *(f"{share / end:.1%}" for share in (case.ideal, *times)),
        f"{result.lost:.0f} s",
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for row in (head, ["---:"] * len(head), *rows):
        print(f"| {' | '.join(row)} |")


def _plan(suite: str, replicates: int, directory: Path | None, plugins: Plugins) -> Plan:
    """The plan of all cells of a suite, with costs from the rows of a store if there is one."""
    path = suite_path(suite, plugins.suites)
    grid = resolve(read_suite(path, [f"replicates={replicates}"]), plugins, str(path))
    plan = plan_for(grid, None, "cpu")
    if directory is None:
        return plan
    with Store(directory) as store:
        return make_plan(grid, plan.common, {}, store.columns(grid.suite.name, grid.suite.version))


def _surprise(directory: Path | None, plans: Sequence[Plan]) -> Surprise:
    """How times differ from estimates in the rows of a store; without one, as ``Surprise`` assumes."""
    if directory is None:
        return Surprise()
    with Store(directory) as store:
        found = [Surprise.of(Rows.of(store.columns(p.grid.suite.name, p.grid.suite.version))) for p in plans]
    return Surprise(max(each.sigma for each in found), cold=max(each.cold for each in found))


def _shards(
    plans: Sequence[Plan], shards: int, workers: int, actual: Mapping[str, float]
) -> tuple[list[Unit], list[int]]:
    """The units of the shards of several suites, and the shard of each."""
    formed = [shard_units(plan, shards, workers, actual) for plan in plans]
    return [unit for units, _ in formed for unit in units], [part for _, parts in formed for part in parts]


def _shape(options: argparse.Namespace, machines: int, mode: Mode) -> Shape:
    return Shape(
        machines,
        options.cores,
        mode,
        losses_per_hour=options.losses,
        notice=30.0,
        absence=300.0,
        stragglers=options.slow[0],
        slowdown=options.slow[1],
        seed=options.seed,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.machines", description=__doc__)
    parser.add_argument("suites", metavar="SUITE", nargs="*", help=f"{', '.join(SUITES)} by default")
    parser.add_argument("--store", metavar="DIR", type=Path, help="rows to learn costs from")
    parser.add_argument("--replicates", type=int, default=20, help="instead of the suites'; 20 by default")
    parser.add_argument("--machines", metavar="COUNT", type=int, nargs="+", default=[1, 10, 100, 1000])
    parser.add_argument("--cores", type=int, default=16, help="slots per machine; 16 by default")
    parser.add_argument("--losses", type=float, default=1.0, help="machines lost per hour; 1 by default")
    slow = parser.add_argument("--slow", metavar=("SHARE", "TIMES"), type=float, nargs=2, default=[0.02, 3.0])
    slow.help = "share of the slots that are slow, and how many times slower they are; .02 and 3 by default"
    beside = parser.add_argument("--beside", type=float, default=0.05, metavar="SECONDS")
    beside.help = "CPU time of a cell outside its fit, as benchmarks.simulated measures it; .05 by default"
    parser.add_argument("--seed", type=int, default=0, help="of losses, slow slots and times of cells")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
