"""From a suite's words to things: tasks, learners with their options, and the grid of cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from bfc_bench.analysis.claims import parse_claims
from bfc_bench.config import plain_option
from bfc_bench.errors import UsageError, suggest
from bfc_bench.learner import Learner
from bfc_bench.plugins import Plugins
from bfc_bench.suite.model import LearnerEntry, Suite, TaskEntry, candidates
from bfc_bench.tasks.build import build_task
from bfc_bench.tasks.task import Task
from bfc_bench.utils.plain_json import digest, digest_text

MOST_CELLS = 10_000_000
"""More are a slip of the pen: their plan alone would take gigabytes."""


@dataclass(frozen=True)  # with slots it would be pickled by Python code, field by field
class Cell:
    """One point of the grid."""

    id: str
    task: str
    label: str
    d: int
    n: int
    replicate: int


@dataclass(frozen=True)
class GridLearner:
    """A learner of the suite: its options, and the candidates among which tuning chooses."""

    label: str
    learner: Learner
    candidates: tuple[Learner, ...]
    """Empty when nothing is tuned."""
    tune: Mapping[str, Sequence[Any]]
    tasks: tuple[str, ...]
    max_n: float = inf

    def identity(self) -> dict[str, Any]:
        """What the learner's results depend on, as plain data: its name and version, the options that differ from its
        defaults, and what is tuned.
        """
        learner = self.learner
        return {
            "learner": learner.name,
            "version": learner.version,
            "options": learner.changed(),
            "tune": plain_option(dict(self.tune)),
        }


@dataclass(frozen=True)
class Grid:
    """A suite with everything resolved."""

    suite: Suite
    tasks: Mapping[str, Task]
    entries: Mapping[str, GridLearner]
    task_digests: Mapping[str, str]
    learner_digests: Mapping[str, str]
    only: tuple[Cell, ...] | None = None
    """Cells in the place of those of the suite."""
    alone: frozenset[str] = frozenset()
    """Ids of cells that are handed to a worker with no other: what ends it shall name one cell."""

    def cell(self, task: str, label: str, d: int, n: int, replicate: int) -> Cell:
        """Any cell of its tasks and learners, of the suite's sizes and replicates or beyond."""
        base = digest([self.task_digests[task], self.learner_digests[label], label])
        return Cell(_cell_id(base, d, n, replicate), task, label, d, n, replicate)

    def cells(self) -> Iterator[Cell]:
        """Every planned cell, in the order of the suite."""
        return self._cells() if self.only is None else iter(self.only)

    def _cells(self) -> Iterator[Cell]:
        sizes = {task.name: task for task in self.suite.task}
        for label, entry in self.entries.items():
            for name in entry.tasks:
                base = digest([self.task_digests[name], self.learner_digests[label], label])
                for d in sizes[name].d:
                    for n in (n for n in sizes[name].n if n <= entry.max_n):
                        for replicate in range(self.suite.replicates):
                            yield Cell(_cell_id(base, d, n, replicate), name, label, d, n, replicate)


def _cell_id(base: str, d: int, n: int, replicate: int) -> str:
    """As digest([base, d, n, replicate]), for which a large grid would wait."""
    return digest_text(f'["{base}",{d},{n},{replicate}]')


def resolve(
    suite: Suite, plugins: Plugins, where: str, learners: Sequence[str] = (), tasks: Sequence[str] = ()
) -> Grid:
    """Look everything up. ``learners`` (labels or names) and ``tasks`` narrow the grid; none given means all.

    A learner that is installed but not in the suite takes part with its default options when ``learners`` names it.
    Raises ``UsageError`` naming ``where``, the entry and the key.
    """
    guests = [LearnerEntry(name=name) for name in learners if _is_guest(name, suite, plugins)]
    suite = suite.model_copy(update={"learner": [*suite.learner, *guests]})
    wanted = _select("task", tasks, [(task.name,) for task in suite.task])
    labels = _select("learner", learners, [(entry.label, entry.name) for entry in suite.learner])
    built = {
        entry.name: _task(entry, suite.test_size, plugins, f"{where}: task {entry.name!r}") for entry in suite.task
    }
    suite = suite.model_copy(update={"task": [_with_d(entry, built[entry.name]) for entry in suite.task]})
    for task in built.values():
        if task.teacher and (problem := task.check_teacher(built[task.teacher])):
            raise UsageError(f"{where}: task {task.name!r}: teacher = {task.teacher!r}: {problem}.")
    entries = [_entry(entry, plugins, wanted, f"{where}: learner {entry.label!r}") for entry in suite.learner]
    parse_claims(suite, plugins.claims, where)
    chosen = {entry.label: entry for entry in entries if entry.label in labels}
    count = suite.replicates * sum(
        len(task.d) * sum(n <= entry.max_n for n in task.n)
        for entry in chosen.values()
        for task in suite.task
        if task.name in entry.tasks
    )
    if not count and (learners or tasks):
        raise UsageError(f"{where}: the learners and tasks that were chosen have no cell in common.")
    if count > MOST_CELLS:
        raise UsageError(
            f"{where}: the suite has {count:,} cells, and {MOST_CELLS:,} can be planned. "
            "Take fewer replicates, sizes or learners."
        )
    common = {"suite": suite.name, "version": suite.version, "seed": suite.seed, "test_size": suite.test_size}
    return Grid(
        suite,
        built,
        chosen,
        {name: digest({**common, "task": task.identity()}) for name, task in built.items()},
        {label: digest(entry.identity()) for label, entry in chosen.items()},
    )


def _is_guest(name: str, suite: Suite, plugins: Plugins) -> bool:
    in_suite = any(name in (entry.label, entry.name) for entry in suite.learner)
    return not in_suite and name.partition(":")[0] in plugins.learners


def _select(what: str, wanted: Sequence[str], names: Sequence[tuple[str, ...]]) -> list[str]:
    """The first names of those entries that any of ``wanted`` names."""
    if not wanted:
        return [first for first, *_ in names]
    known = {name for entry in names for name in entry}
    for name in wanted:
        if name not in known:
            raise UsageError(f"--{what} {name}: the suite has no such {what}.{suggest(name, known)}")
    return [entry[0] for entry in names if set(entry) & set(wanted)]


def _task(entry: TaskEntry, test_size: int, plugins: Plugins, where: str) -> Task:
    task = build_task(
        entry.name,
        inputs=entry.inputs,
        target=entry.target,
        data=entry.data,
        labels=entry.labels,
        unlabeled=entry.unlabeled,
        teacher=entry.teacher or "",
        test_size=entry.test_size,
        kinds=plugins.kinds,
        where=where,
    )
    try:
        dims = _with_d(entry, task).d
    except UsageError as error:  # of data, which names the task itself
        raise UsageError(f"{where.removesuffix(f': task {entry.name!r}')}: {error}") from None
    for d in dims:
        if problem := task.check(d):
            raise UsageError(f"{where}: d = {d}: {problem}")
    for n in entry.n:
        if problem := task.check_size(n, test_size):
            raise UsageError(f"{where}: n = {n}: {problem}.")
    return task


def _with_d(entry: TaskEntry, task: Task) -> TaskEntry:
    """The entry with the dimension of its data."""
    return entry if entry.d or task.dimension is None else entry.model_copy(update={"d": [task.dimension]})


def _entry(entry: LearnerEntry, plugins: Plugins, wanted: Sequence[str], where: str) -> GridLearner:
    cls = plugins.learner(entry.name, where)
    learner = cls.parse(entry.options, f"{where}: options")
    tune = cls.search if entry.tune is None else entry.tune
    # An option that the suite fixes is not searched by default.
    space = {k: list(v) for k, v in tune.items() if entry.tune is not None or k not in entry.options}
    options = [{**entry.options, **choice} for choice in candidates(space)]
    chosen = tuple(cls.parse(option, f"{where}: tune") for option in options) if space else ()
    tasks = tuple(name for name in wanted if entry.tasks is None or name in entry.tasks)
    return GridLearner(entry.label, learner, chosen, space, tasks, entry.max_n or inf)
