"""What is to do: which cells are done, failed or skipped, which belong together, and what they will cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import frexp
from typing import get_args

from bfc_bench.learner import TaskFacts
from bfc_bench.run.costs import Costs, SharedWork
from bfc_bench.run.grid import Cell, Grid, GridLearner
from bfc_bench.run.skip_reasons import ask, batch_key, data_bytes, device_of, skip_reason
from bfc_bench.run.work_units import Batch, LearnerSpec, RunSettings
from bfc_bench.store import Redo
from bfc_bench.store.row import Origin, Row
from bfc_bench.store.store import KnownCell
from bfc_bench.suite.model import Suite
from bfc_bench.tasks.task import Problem
from bfc_bench.toolkit.precision import Device
from bfc_bench.utils.plain_json import canonical_json

SHORTEST_SECONDS = 5.0
"""Estimated time below which cells that can be trained together are not cut into smaller batches."""
DONE = frozenset({"ok"})
MOST_NEW = 0.5
"""A cell of whose declared work less is new to a batch stays with it: elsewhere the rest would be done again."""


@dataclass(frozen=True)
class Planned:
    """Cells that travel together, with their estimated CPU seconds."""

    batch: Batch
    seconds: float


@dataclass
class Plan:
    """All cells of a grid, by what becomes of them in the next run."""

    grid: Grid
    common: RunSettings
    costs: Costs
    todo: list[Cell] = field(default_factory=list)
    done: list[Cell] = field(default_factory=list)
    failed: list[Cell] = field(default_factory=list)
    """Cells with a row that is not ok, and that are not tried again."""
    stale: Counter[Origin] = field(default_factory=Counter)
    """How many of the cells done or failed were made by another release of bfc-bench or on another device, by what."""
    outdated: dict[str, Counter[int]] = field(default_factory=dict)
    """Rows of other versions of a learner that has cells to do, by label and version: those are their successors."""
    skipped: dict[Cell, str] = field(default_factory=dict)
    """Cells that do not apply, with the reason."""
    to_skip: list[Cell] = field(default_factory=list)
    """The skipped ones that have no row yet."""
    cautions: list[str] = field(default_factory=list)
    """What learners say of their results on some task, a line each, naming label and tasks; then claims that nothing
    planned is about."""
    peak_bytes: float = 0.0
    """Largest memory that one cell to do declares, of those that compute on the cores."""
    peak_gpu_bytes: float = 0.0
    """The same of those that compute on a GPU, of its memory."""

    @property
    def remarks(self) -> list[str]:
        """What readers must know of rows that were not made as this run would make them, a line each."""
        here = f"bfc-bench {self.common.release} on {self.common.device}"
        kept = [
            f"{count} cells were made by {origin}, not by {here}: they are kept, `--redo stale` makes them again."
            for origin, count in self.stale.most_common()
        ]
        made_anew = [
            f"{label}: {versions.total()} rows were made by version {', '.join(map(str, sorted(versions)))} of the "
            f"learner, which is now version {self.grid.entries[label].learner.version}: their cells are made anew."
            for label, versions in self.outdated.items()
        ]
        return [*kept, *made_anew]

    @property
    def cells(self) -> int:
        """Number of planned cells."""
        return len(self.todo) + len(self.done) + len(self.failed) + len(self.skipped)

    @cached_property
    def seconds(self) -> dict[str, float]:
        """Estimated CPU seconds of every cell to do, by cell id; what cells share is the largest one's."""
        return {id: taken for cells in self._groups() for id, taken in self.costs.seconds(cells).items()}

    def batches(self, jobs: int, gpu_jobs: int | None = None) -> list[Planned]:
        """The cells to do in batches, small enough to fit time and memory and to keep ``jobs`` workers busy.

        Cells that compute on a GPU shall keep ``gpu_jobs`` busy, where that is another number.

        Longest first, up to a factor of 2; then problem by problem, of which a worker keeps the last few.
        """
        planned = []
        for cells in self._groups():
            workers = jobs if gpu_jobs is None or self.device(cells[0]) == "cpu" else gpu_jobs
            planned += [self._batch(part, seconds) for part, seconds in self._parts(cells, workers)]
        return sorted(planned, key=_order)

    def device(self, cell: Cell) -> Device:
        """What a cell computes on."""
        return device_of(self.grid.entries[cell.label].learner, self.common.device)

    def host_bytes(self, batch: Batch) -> int:
        """Memory of the host for a batch: what its learners declare, all cells together; on a GPU, where that is the
        GPU's, the points of each problem.
        """
        if batch.common.device == "cpu":
            return int(sum(map(self.costs.bytes, batch.cells)))
        points: dict[tuple[str, int, int], int] = {}
        for cell in batch.cells:
            task, tuned = self.grid.tasks[cell.task], bool(self.grid.entries[cell.label].candidates)
            size = data_bytes(task.facts(cell.d), cell.n, task.test_points(self.common.test_size), tuned=tuned)
            problem = cell.task, cell.d, cell.replicate
            points[problem] = max(size, points.get(problem, 0))
        return sum(points.values())

    def single(self, cell: Cell) -> Batch:
        """A batch of one cell."""
        return self._batch([cell], 0.0).batch

    def _groups(self) -> Iterable[list[Cell]]:
        """The cells to do, those together that can be handed over together."""
        groups: dict[Hashable, list[Cell]] = {}
        problems: dict[tuple[str, int, int], Problem] = {}
        for cell in self.todo:
            groups.setdefault(self._key(cell, problems), []).append(cell)
        return groups.values()

    def _key(self, cell: Cell, problems: dict[tuple[str, int, int], Problem]) -> Hashable:
        """Cells of equal key are handed over together: the learner's own key, else the curve they belong to."""
        if cell.id in self.grid.alone:
            return cell.id
        learner = self.grid.entries[cell.label].learner
        where = (cell.task, cell.d, cell.replicate)
        if where not in problems:
            task = self.grid.tasks[cell.task]
            problems[where] = task.problem(self.common.seed, cell.d, cell.replicate, self.common.test_size)
        key = batch_key(learner, problems[where].spec(cell.n))
        return (learner.name, cell.label, *where) if key is None else (learner.name, key)

    def _parts(self, cells: list[Cell], jobs: int) -> Iterable[tuple[list[Cell], float]]:
        """Cut a group where its estimated time or declared memory would exceed what a batch may take.

        The time is a share of what is left of the group, so that the last batches, which a worker may have to wait for,
        are short; not too short, since workers compile or load the group's program. A cell whose work is mostly done in
        a batch stays there all the same, up to what any batch may take: cut off it would be done again, and the batch
        would hardly be shorter.
        """
        ordered = self.costs.largest_first(cells)
        # Rounding may depend on the order of a batch, which is therefore the suite's.
        place = {} if ordered is cells else {cell: number for number, cell in enumerate(cells)}
        left = sum(self.costs.seconds(ordered).values())
        part: list[Cell] = []
        done, time, memory, limit, most = SharedWork(), 0.0, 0.0, 0.0, self.common.cell_seconds / 4
        there = self._commons[self.device(cells[0])].bytes
        for cell in ordered:
            added, size = self.costs.added(cell, done), self.costs.bytes(cell)
            until = limit if added.new > MOST_NEW else most
            if part and (time + added.seconds > until or memory + size > there):
                yield sorted(part, key=place.__getitem__) if place else part, time
                part, done, time, memory = [], SharedWork(), 0.0, 0.0
                added = self.costs.added(cell, done)
            if not part:
                limit = min(most, max(left / (2 * jobs), SHORTEST_SECONDS))
            part.append(cell)
            self.costs.join(cell, done)
            time, memory, left = time + added.seconds, memory + size, left - added.seconds
        if part:
            yield sorted(part, key=place.__getitem__) if place else part, time

    def _batch(self, cells: Sequence[Cell], seconds: float) -> Planned:
        tasks = {name: self._definitions[name] for name in {cell.task for cell in cells}}
        learners = {label: self._specs[label] for label in {cell.label for cell in cells}}
        common = self._commons[self.device(cells[0])]
        return Planned(Batch(common, tasks, learners, tuple(cells)), seconds)

    @cached_property
    def _commons(self) -> dict[Device, RunSettings]:
        return {device: replace(self.common, device=device) for device in get_args(Device)}

    @cached_property
    def _definitions(self) -> dict[str, str]:
        return {name: canonical_json(task.definition()) for name, task in self.grid.tasks.items()}

    @cached_property
    def _specs(self) -> dict[str, LearnerSpec]:
        return {label: spec(entry) for label, entry in self.grid.entries.items()}


def _order(planned: Planned) -> tuple[int, str, int, int]:
    first = planned.batch.cells[0]
    return -frexp(planned.seconds)[1], first.task, first.d, first.replicate


def spec(entry: GridLearner) -> LearnerSpec:
    """A suite's learner as plain data for a worker."""
    options = canonical_json(entry.learner.options())
    candidates = tuple(canonical_json(candidate.options()) for candidate in entry.candidates)
    return LearnerSpec(entry.learner.name, entry.learner.version, options, candidates, tuple(entry.tune))


def make_plan(
    grid: Grid,
    common: RunSettings,
    held: Mapping[str, KnownCell],
    history: Sequence[Row],
    *,
    redo: Collection[Redo] = (),
) -> Plan:
    """Sort every cell. ``held`` are the cells that the store has; ``history`` are rows to learn costs from.

    ``redo`` names cells that have a row and are made again.
    """
    costs = Costs(grid, history, common.device)
    plan = Plan(grid, common, costs)
    facts = {(t.name, d): grid.tasks[t.name].facts(d) for t in grid.suite.task for d in t.d}
    reasons: dict[tuple[str, str, int, int], str | None] = {}
    for cell in grid.cells():
        known = held.get(cell.id)
        made, stale = (
            known is not None and known.status in DONE,
            known is not None and _stale(known, plan.device(cell), common),
        )
        if made and not stale and "all" not in redo:
            plan.done.append(cell)
            continue
        entry, where = grid.entries[cell.label], (cell.label, cell.task, cell.d, cell.n)
        if where not in reasons:
            reasons[where] = skip_reason(
                entry.learner,
                facts[cell.task, cell.d],
                cell.n,
                device=common.device,
                memory_bytes=common.memory_bytes,
                gpu_bytes=common.gpu_bytes if common.device == "cuda" else None,
                test_size=grid.tasks[cell.task].test_points(common.test_size),
                tuned=bool(entry.candidates),
            )
        reason = reasons[where]
        if reason is not None and made:  # a result that cannot be made again, on this device say, stays
            plan.done.append(cell)
        elif reason is not None:
            plan.skipped[cell] = reason
            if known is None or known.status != "skipped":
                plan.to_skip.append(cell)
        elif known is None or known.status == "skipped" or _again(known, stale, redo):
            plan.todo.append(cell)
            if plan.device(cell) == "cpu":
                plan.peak_bytes = max(plan.peak_bytes, costs.bytes(cell))
            else:
                plan.peak_gpu_bytes = max(plan.peak_gpu_bytes, costs.bytes(cell))
        else:
            (plan.done if made else plan.failed).append(cell)
            if stale:
                plan.stale[replace(known.origin, learner_version=None)] += 1
    plan.cautions = [*_cautions(grid, [*plan.todo, *plan.done], facts), *_unplanned(grid.suite)]
    return plan


def _stale(known: KnownCell, device: Device, common: RunSettings) -> bool:
    """Whether a row was made by another release, or on another device, than a run would make it now."""
    return (known.origin.release, known.origin.device) != (common.release, device)


def _again(known: KnownCell, stale: bool, redo: Collection[Redo]) -> bool:
    asked = {"all": True, "stale": stale, "failed": known.status not in DONE, "killed": known.status == "killed"}
    return any(asked[word] for word in redo)


def _cautions(grid: Grid, cells: Iterable[Cell], facts: Mapping[tuple[str, int], TaskFacts]) -> list[str]:
    """One line per label and text."""
    tasks: dict[tuple[str, str], list[str]] = {}
    for label, task, d, n in dict.fromkeys((cell.label, cell.task, cell.d, cell.n) for cell in cells):
        entry = grid.entries[label]
        for learner in entry.candidates or (entry.learner,):
            text = ask(learner, "caution", facts[task, d], n)
            if text and task not in (named := tasks.setdefault((label, text), [])):
                named.append(task)
    return [f"{label} on {', '.join(named)}: {text}" for (label, text), named in tasks.items()]


def _unplanned(suite: Suite) -> Iterator[str]:
    """Claims about a d or an n that their task does not have, a line each."""
    sizes = {task.name: {"d": task.d, "n": task.n} for task in suite.task}
    for claim in suite.claim:
        asked = claim.model_extra or {}
        for key, known in sizes.get(str(asked.get("task")), {}).items():
            if isinstance(value := asked.get(key), int) and value not in known:
                yield f"claim {claim.id}: {key} = {value} is not among those of task {asked['task']}: {known}."
