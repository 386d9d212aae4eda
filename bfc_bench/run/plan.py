"""Plans a run: sorts cells into to do, done, failed and skipped, estimates their costs, and forms batches."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import frexp
from typing import Any

from bfc_bench.errors import PluginError
from bfc_bench.executors.base import Executor
from bfc_bench.learner import TaskFacts
from bfc_bench.run.costs import Estimate, estimates
from bfc_bench.run.grid import Cell, Grid
from bfc_bench.run.skip_reasons import ask, device_of, skip_reasons
from bfc_bench.run.work_units import Batch
from bfc_bench.store import Redo
from bfc_bench.store.row import Origin
from bfc_bench.store.store import Store
from bfc_bench.suite.model import Budget
from bfc_bench.tasks.task import Problem
from bfc_bench.toolkit.gpu import cell_memory
from bfc_bench.toolkit.precision import Device
from bfc_bench.version import __version__

SHORTEST_SECONDS: Mapping[Device, float] = {"cpu": 5.0, "cuda": 60.0}
"""A batch with a shorter estimated time than this is not divided further, but joined with others of its learner. A
process on a GPU takes seconds to start."""
NO_ROW = ("", Origin(None, None, None))
"""Status and origin of a cell without a row."""
NEAR_LIMIT = 0.5
"""Fraction of the time limit of a cell above which an estimated time is near it, since estimates may be half of it."""


@dataclass(repr=False)
class Plan:
    """Cells of a grid, sorted by what the next run does with them."""

    grid: Grid
    cells: Sequence[Cell]
    """All planned cells."""
    device: Device
    """The device of the run."""
    memory: Mapping[Device, int]
    """Memory limits of a cell by where it is, in bytes: of the host, and of the GPU in a run for one."""
    todo: list[Cell] = field(default_factory=list)
    done: list[Cell] = field(default_factory=list)
    failed: list[Cell] = field(default_factory=list)
    """Cells whose row is not ok and that are not tried again."""
    stale: Counter[Origin] = field(default_factory=Counter)
    """Number of done or failed cells by origin, for other releases of bfc-bench and other devices."""
    broken: dict[Cell, str] = field(default_factory=dict)
    """Cells to do that fail without being run, because planning them met a fault of their learner, with the reason."""
    skipped: dict[Cell, str] = field(default_factory=dict)
    """Cells that cannot run, with the reason."""
    to_skip: list[Cell] = field(default_factory=list)
    """Skipped cells that have no row yet."""
    cautions: list[str] = field(default_factory=list)
    """Cautions of the learners, with label and tasks; then cells whose time is near the limit, then claims about sizes
    that are not planned. A line each."""
    keys: dict[str, Hashable] = field(default_factory=dict)
    """Batch keys of the cells to run, by id; None: the cell is sent with its curve."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Estimated seconds of the cells to run, by id: CPU time, and waiting time of learners that wait."""
    bytes: dict[str, float] = field(default_factory=dict)
    """Declared memory of the cells to run, by id, on the device of each."""
    notes: list[str] = field(default_factory=list)
    """What learners without rows say of the costs of their cells, a line per label."""

    @property
    def remarks(self) -> list[str]:
        """Notes on rows that this run would make differently, a line each."""
        origin_now = f"bfc-bench {__version__} on {self.device}"
        return [
            f"cells made by {origin}, not by {origin_now}, are kept: {count}; `--redo stale` runs them again."
            for origin, count in self.stale.most_common()
        ]

    def peak_bytes(self, device: Device) -> float:
        """Largest declared memory of a cell to run on a device."""
        return max((self.bytes.get(cell.id, 0.0) for cell in self.todo if self.device_of(cell) == device), default=0.0)

    def batches(self, jobs: int, gpu_jobs: int | None = None) -> list[Batch]:
        """The cells to do in batches that fit time and memory and keep ``jobs`` workers busy.

        ``gpu_jobs`` is the number of workers on GPUs, by default ``jobs``. Quick learners come first, so that they
        answer before one that needs minutes begins. Of a learner, longer batches come first, by powers of 2, and
        batches of similar length are sorted by problem.
        """
        parts: list[tuple[list[Cell], float]] = []
        for cells in self._groups():
            workers = jobs if gpu_jobs is None or self.device_of(cells[0]) == "cpu" else gpu_jobs
            parts += self._divided(cells, max(workers, 1))  # there may be none yet
        batches = [self.batch(*part) for part in self._joined(parts)]
        total = Counter[str]()
        for batch in batches:
            total[batch.learner.name] += batch.seconds  # type: ignore[assignment]

        def order(batch: Batch) -> tuple[Any, ...]:
            first, name = batch.cells[0], batch.learner.name
            length = -frexp(batch.seconds)[1]
            return total[name], name, length, first.task, first.d, first.replicate

        return sorted(batches, key=order)

    def device_of(self, cell: Cell) -> Device:
        """The device of a cell."""
        return device_of(self.grid.entries[cell.label].learner, self.device)

    def batch(self, cells: Sequence[Cell], seconds: float = 0.0) -> Batch:
        """A batch of cells of one learner class, which are estimated to take ``seconds``."""
        return Batch(self.grid.part(cells), self.device_of(cells[0]), self.memory, tuple(cells), seconds)

    def _groups(self) -> Iterable[list[Cell]]:
        """The cells to run, grouped by the learner's batch key or, if it has none, by curve."""
        groups: dict[Hashable, list[Cell]] = {}
        for cell in self.todo:
            if cell not in self.broken:
                name, key = self.grid.entries[cell.label].learner.name, self.keys[cell.id]
                curve = (name, cell.label, cell.task, cell.d, cell.replicate)
                groups.setdefault(curve if key is None else (name, key), []).append(cell)
        return groups.values()

    def _divided(self, cells: list[Cell], jobs: int) -> Iterable[tuple[list[Cell], float]]:
        """Divide a group into batches by estimated time and declared memory; yields cells and seconds.

        The time limit is a fraction of the group's remaining time, so that the last batches are short and workers end
        together; a single worker takes all of it. It is at least ``SHORTEST_SECONDS``, since each process compiles or
        loads the group's program.
        """
        device, remaining = self.device_of(cells[0]), sum(self.seconds[cell.id] for cell in cells)
        shortest = self._shortest(device)
        part: list[Cell] = []
        time = memory = limit = 0.0
        for cell in cells:
            seconds, size = self.seconds[cell.id], self.bytes[cell.id]
            if part and (time + seconds > limit or memory + size > self.memory[device]):
                yield part, time
                part, time, memory = [], 0.0, 0.0
            if not part:
                limit = min(self._longest, max(remaining / (1 if jobs == 1 else 2 * jobs), shortest))
            part.append(cell)
            time, memory, remaining = time + seconds, memory + size, remaining - seconds
        yield part, time

    def _joined(self, parts: Iterable[tuple[list[Cell], float]]) -> Iterable[tuple[list[Cell], float]]:
        """Join short batches of a learner up to the shortest time, since a process starts for each batch."""
        open_parts: dict[Hashable, tuple[list[Cell], float]] = {}
        for cells, seconds in parts:
            device, name = self.device_of(cells[0]), self.grid.entries[cells[0].label].learner.name
            before, time = open_parts.get((name, device), ([], 0.0))
            joined = before + cells
            fits = sum(self.bytes[cell.id] for cell in joined) <= self.memory[device]
            if before and not (fits and time + seconds <= self._shortest(device)):
                yield before, time
                joined, time = cells, 0.0
            open_parts[name, device] = joined, time + seconds
        yield from open_parts.values()

    @property
    def _longest(self) -> float:
        """Seconds that a batch of several cells may take."""
        return self.grid.suite.budget.cell_seconds / 4

    def _shortest(self, device: Device) -> float:
        return min(self._longest, SHORTEST_SECONDS[device])


def plan_for(
    grid: Grid, store: Store | None, device: Device, cells: Sequence[Cell] | None = None, *,
    redo: Collection[Redo] = (), executor: Executor | None = None,
) -> Plan:  # fmt: skip
    """Plan cells of a grid, by default all, given what the store has already."""
    suite, cells = grid.suite, list(grid.cells()) if cells is None else cells
    held = store.known_cells(suite.name, suite.version) if store else {}
    missing = bool(redo) or any(held.get(cell.id, NO_ROW)[0] != "ok" for cell in cells)
    history = store.columns(suite.name, suite.version) if store and missing else []
    plan = Plan(grid, cells, device, _memory(suite.budget, device, executor))
    estimate = estimates(grid, history, device)
    facts = {(task.name, d): grid.tasks[task.name].facts(d) for task in suite.task for d in task.d}
    problem = cache(lambda task, d, replicate: grid.tasks[task].problem(suite.seed, d, replicate, suite.test_size))

    reason_and_fault = cache(partial(_reason_and_fault, plan, facts, estimate))
    for cell in cells:
        _sort(plan, cell, held.get(cell.id, NO_ROW), redo, reason_and_fault, problem)
    run = [cell for cell in plan.todo if cell not in plan.broken]
    notes: dict[str, str] = {}
    for cell in run:
        plan.seconds[cell.id], plan.bytes[cell.id], notes[cell.label] = estimate(cell.label, cell.d, cell.n)
    plan.notes = [f"{label}: {note}" for label, note in notes.items() if note]
    plan.cautions = [*_cautions(grid, [*run, *plan.done], facts), *_long_cells(plan, run), *_about_claims(grid)]
    plan.cautions += _of_other_tasks(grid, store) if store else ()
    return plan


def _sort(
    plan: Plan, cell: Cell, stored: tuple[str, Origin], redo: Collection[Redo],
    reason_and_fault: Callable[[str, str, int, int], tuple[str | None, str]],
    problem: Callable[[str, int, int], Problem],
) -> None:  # fmt: skip
    """Put a cell where it belongs in the plan; ``stored`` is the status and the origin of its row."""
    status, origin = stored
    done, stale = status == "ok", (origin.release, origin.device) != (__version__, plan.device_of(cell))
    if done and not stale and "all" not in redo:
        plan.done.append(cell)
        return
    reason, fault = reason_and_fault(cell.task, cell.label, cell.d, cell.n)
    if done and (fault or reason is not None):  # keep a result that cannot be repeated, for example on this device
        plan.done.append(cell)
    elif reason is not None:
        plan.skipped[cell] = reason
        if status != "skipped":
            plan.to_skip.append(cell)
    elif status in ("", "skipped") or _runs_again(status, stale, redo):
        fault = fault or _key_fault(plan, cell, problem(cell.task, cell.d, cell.replicate))
        (plan.done if done and fault else plan.todo).append(cell)
        if fault and not done:
            plan.broken[cell] = fault
    else:
        (plan.done if done else plan.failed).append(cell)
        if stale:
            plan.stale[replace(origin, learner_version=None)] += 1


def _memory(budget: Budget, device: Device, executor: Executor | None) -> dict[Device, int]:
    """Memory limits of a cell: of the host, and of the GPU in a run for one.

    That of the GPU is the suite's, else what the executor or this machine has, else the host's.
    """
    memory: dict[Device, int] = {"cpu": int(budget.memory_gb * 1e9)}
    if device == "cuda":
        limit = None if budget.gpu_memory_gb is None else int(budget.gpu_memory_gb * 1e9)
        memory["cuda"] = limit or (executor.gpu_bytes() if executor else cell_memory()) or memory["cpu"]
    return memory


def _reason_and_fault(
    plan: Plan, facts: Mapping[tuple[str, int], TaskFacts], estimate: Callable[[str, int, int], Estimate],
    task: str, label: str, d: int, n: int,
) -> tuple[str | None, str]:  # fmt: skip
    """Why a cell is skipped, or None; and what its learner did wrong when it was asked, or an empty string."""
    grid, entry, about = plan.grid, plan.grid.entries[label], facts[task, d]
    try:
        test_size, tuned = grid.tasks[task].test_points(grid.suite.test_size), bool(entry.candidates)
        reasons = skip_reasons(entry.learner, about, n, plan.device, plan.memory, test_size, tuned=tuned)
        reason = next(reasons, None)
        if reason is None:
            estimate(label, d, n)
            for learner in entry.candidates or (entry.learner,):
                ask(learner, "caution", about, n)
    except PluginError as error:
        return None, str(error)
    return reason, ""


def _key_fault(plan: Plan, cell: Cell, problem: Problem) -> str:
    """Note the batch key of a cell. Returns what is wrong with it, or an empty string."""
    try:
        plan.keys[cell.id] = ask(plan.grid.entries[cell.label].learner, "batch_key", problem.spec(cell.n))
    except PluginError as error:
        return str(error)
    return ""


def _runs_again(status: str, stale: bool, redo: Collection[Redo]) -> bool:
    applies = {"all": True, "stale": stale, "failed": status != "ok", "killed": status == "killed"}
    return any(applies[choice] for choice in redo)


def _cautions(grid: Grid, cells: Iterable[Cell], facts: Mapping[tuple[str, int], TaskFacts]) -> list[str]:
    """Cautions of the learners, one line per label and text."""
    tasks: dict[tuple[str, str], list[str]] = {}
    for label, task, d, n in dict.fromkeys((cell.label, cell.task, cell.d, cell.n) for cell in cells):
        entry = grid.entries[label]
        for learner in entry.candidates or (entry.learner,):
            try:
                text = ask(learner, "caution", facts[task, d], n)
            except PluginError as error:  # of a cell that is done; those to do fail
                text = str(error)
            if text and task not in (named := tasks.setdefault((label, text), [])):
                named.append(task)
    return [f"{label} on {', '.join(named)}: {text}" for (label, text), named in tasks.items()]


def _long_cells(plan: Plan, cells: Iterable[Cell]) -> Iterator[str]:
    """The cells whose estimated time is near the limit, a line per label and task."""
    limit = plan.grid.suite.budget.cell_seconds
    long: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for cell in cells:
        if (seconds := plan.seconds[cell.id]) > NEAR_LIMIT * limit:
            long.setdefault((cell.label, cell.task), []).append((seconds, cell.n))
    for (label, task), times in long.items():
        seconds, n = max(times)
        yield (
            f"{label} on {task}: cells estimated to take up to {seconds:.0f} s (n = {n}): {len(times)}; the limit "
            f"is {limit:g} s. A lighter option, tune = {{}} or --set budget.cell_seconds=... avoids timeouts."
        )


def _about_claims(grid: Grid) -> Iterator[str]:
    """Claims about a d or n that their task does not have."""
    tasks = {task.name: task for task in grid.suite.task}
    for claim in grid.suite.claim:
        fields = claim.model_extra or {}
        if (task := tasks.get(str(fields.get("task")))) is None:
            continue
        sizes = {"d": task.d, "n": sorted({n for d in task.d for n in task.sizes(d)})}
        for key, values in sizes.items():
            if isinstance(value := fields.get(key), int) and value not in values:
                yield f"claim {claim.id}: {key} = {value} is not among those of task {task.name}: {values}."


def _of_other_tasks(grid: Grid, store: Store) -> Iterator[str]:
    """That the store has results of the suite on tasks which this suite does not have."""
    named = f"{grid.suite.name}@{grid.suite.version}"
    stored = store.definitions(grid.suite.name, grid.suite.version)
    if foreign := sorted(name for kind, name in stored if kind == "task" and name not in grid.tasks):
        more = f" and {len(foreign) - 3} more tasks" if len(foreign) > 3 else ""
        yield (
            f"the store also has results of {named} on {', '.join(foreign[:3])}{more}, which this suite does not have; "
            "they are shown together. Give a suite of its own another name or version."
        )
