"""Resolves a suite to a grid: builds its tasks and learners and lists its cells."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import inf
from typing import Any

from bfc_bench.analysis.claims import parse_claims
from bfc_bench.config import plain_option
from bfc_bench.errors import UsageError, suggest
from bfc_bench.learner import Learner
from bfc_bench.plugins.manager import Plugins
from bfc_bench.registry import broken_plugins
from bfc_bench.run.build_task import build_task
from bfc_bench.store.row import cell_id, curve_digest
from bfc_bench.suite.model import LearnerEntry, Suite, TaskEntry, candidates
from bfc_bench.tasks.metrics import BUILT_IN, Metric
from bfc_bench.tasks.task import Task
from bfc_bench.utils.plain_json import canonical_json, digest

MOST_CELLS = 1_000_000
"""Limit against mistakes: the plan of a larger grid would take minutes and gigabytes."""


@dataclass(frozen=True)  # with slots it would be pickled by Python code, field by field
class Cell:
    """One learner on one task at one d, n and replicate."""

    id: str
    task: str
    label: str
    d: int
    n: int
    replicate: int


@dataclass(frozen=True)
class GridLearner:
    """A learner of the suite with its options and tuning candidates."""

    label: str
    learner: Learner
    candidates: tuple[Learner, ...]
    """Empty if nothing is tuned."""
    spaces: tuple[Mapping[str, Sequence[Any]], ...]
    """Values per tuned option; the candidates are all combinations of each."""
    tasks: tuple[str, ...]
    max_n: float = inf
    max_d: float = inf
    climb: str | None = None
    """The tuned option whose values are tried in their order."""

    def identity(self) -> dict[str, Any]:
        """What the results depend on, as plain data: name, version, options other than the defaults, and tuning."""
        learner, tune = self.learner, [plain_option(dict(space)) for space in self.spaces]
        return {
            "learner": learner.name,
            "version": learner.version,
            "options": learner.changed(),
            "tune": tune[0] if len(tune) == 1 else tune,
            **({} if self.climb is None else {"climb": self.climb}),
        }

    @property
    def tuned(self) -> tuple[str, ...]:
        """Names of the tuned options."""
        return tuple(dict.fromkeys(name for space in self.spaces for name in space))

    def climbs(self) -> list[tuple[Learner, ...]]:
        """Candidates that are tried one after the other: those that differ in ``climb`` alone, or each by itself."""
        climbs: dict[str, list[Learner]] = {}
        for choice, candidate in zip(candidates(self.spaces), self.candidates, strict=False):  # {} has no candidate
            others = {name: value for name, value in choice.items() if name != self.climb}
            climbs.setdefault(canonical_json(plain_option(others)), []).append(candidate)
        return [tuple(climb) for climb in climbs.values()]


@dataclass(frozen=True)
class Grid:
    """A resolved suite."""

    suite: Suite
    tasks: Mapping[str, Task]
    entries: Mapping[str, GridLearner]
    task_digests: Mapping[str, str]
    learner_digests: Mapping[str, str]
    metrics: tuple[Metric, ...] = ()
    """Metrics of plugins."""

    def axes(self, task: str, label: str) -> dict[str, Any]:
        """Values on the axes of the grids of a task and a learner."""
        return {**self._axes["task", task], **self._axes["learner", label]}

    @cached_property
    def _axes(self) -> dict[tuple[str, str], dict[str, Any]]:
        tasks = {("task", task.name): task.axes for task in self.suite.task}
        return tasks | {("learner", entry.label): entry.axes for entry in self.suite.learner}

    def cell(self, task: str, label: str, d: int, n: int, replicate: int) -> Cell:
        """A cell of the grid's tasks and learners, whose sizes and replicate need not be in the suite."""
        curve = curve_digest(self.task_digests[task], self.learner_digests[label], label)
        return Cell(cell_id(curve, d, n, replicate), task, label, d, n, replicate)

    def cells(self) -> Iterator[Cell]:
        """All cells in the order of the suite."""
        for name, label, d, n in self.points():
            for replicate in range(self.suite.replicates):
                yield self.cell(name, label, d, n, replicate)

    def part(self, cells: Sequence[Cell]) -> "Grid":
        """The tasks and learners of some cells with the settings of the suite, for a worker."""
        tasks = {name: self.tasks[name] for name in {cell.task for cell in cells}}
        entries = {label: self.entries[label] for label in {cell.label for cell in cells}}
        return replace(self, suite=self._settings, tasks=tasks, entries=entries, task_digests={}, learner_digests={})

    @cached_property
    def _settings(self) -> Suite:
        return self.suite.model_copy(update={"task": [], "learner": [], "claim": []})

    def points(self) -> Iterator[tuple[str, str, int, int]]:
        """Task, label, d and n of all cells of the suite, in its order."""
        sizes = {task.name: task for task in self.suite.task}
        for label, entry in self.entries.items():
            for name in entry.tasks:
                for d in (d for d in sizes[name].d if d <= entry.max_d):
                    for n in (n for n in sizes[name].sizes(d) if n <= entry.max_n):
                        yield name, label, d, n


def make_grid(
    suite: Suite, plugins: Plugins, where: str, learners: Sequence[str] = (), tasks: Sequence[str] = ()
) -> Grid:
    """The grid of a suite, or of some of its learners and tasks."""
    added = [LearnerEntry(name=name) for name in learners if _is_added(name, suite, plugins)]
    suite = suite.model_copy(update={"learner": [*suite.learner, *added]})
    wanted = _select("task", tasks, [(task.name, task.grid) for task in suite.task])
    labels = _select("learner", learners, [(entry.label, entry.name, entry.grid) for entry in suite.learner], plugins)
    tasks_and_entries = [_task(entry, suite, plugins, where) for entry in suite.task]
    suite = suite.model_copy(update={"task": [entry for _, entry in tasks_and_entries]})
    built = {task.name: task for task, _ in tasks_and_entries}
    for entry in suite.task:
        # Those that share the streams of a grid need not agree in anything.
        if entry.teacher in built and (problem := built[entry.name].check_teacher(built[entry.teacher])):
            raise UsageError(f"{where}: task {entry.name!r}: teacher = {entry.teacher!r}: {problem}.")
    entries = [_entry(entry, plugins, wanted, f"{where}: learner {entry.label!r}") for entry in suite.learner]
    parse_claims(suite, plugins.claims, where)
    chosen = {entry.label: entry for entry in entries if entry.label in labels}
    common = {"suite": suite.name, "version": suite.version, "seed": suite.seed, "test_size": suite.test_size}
    grid = Grid(
        suite,
        built,
        chosen,
        {name: digest({**common, "task": task.identity()}) for name, task in built.items()},
        {label: digest(entry.identity()) for label, entry in chosen.items()},
        tuple(metric for metric in map(plugins.metrics.get, plugins.metrics) if metric not in BUILT_IN),
    )
    count = suite.replicates * sum(1 for _ in islice(grid.points(), MOST_CELLS + 1))
    if not count and (learners or tasks):
        raise UsageError(f"{where}: the learners and tasks that were chosen have no cell in common.")
    if count > MOST_CELLS:
        raise UsageError(
            f"{where}: the suite has {count:,} cells or more; at most {MOST_CELLS:,} can be planned. "
            "Take fewer replicates, sizes or learners."
        )
    return grid


def _is_added(name: str, suite: Suite, plugins: Plugins) -> bool:
    in_suite = any(name in (entry.label, entry.name, entry.grid) for entry in suite.learner)
    return not in_suite and plugins.learners.scheme(name) in plugins.learners


def _select(
    what: str, wanted: Sequence[str], names: Sequence[tuple[Any, ...]], plugins: Plugins | None = None
) -> list[str]:
    """The first name of each entry that ``wanted`` names; None is no name. Learners of ``plugins`` could be added."""
    if not wanted:
        return [first for first, *_ in names]
    available = {name for entry in names for name in entry if name is not None}
    for name in wanted:
        if name not in available:
            near = plugins.learners.near(name, available) if plugins else suggest(name, available)
            broken = broken_plugins(plugins.unavailable, name, what) if plugins else ""
            raise UsageError(f"--{what} {name}: the suite has no such {what}.{near}{broken}")
    return [entry[0] for entry in names if set(entry) & set(wanted)]


def task_of(suite: Suite, name: str, plugins: Plugins, where: str) -> tuple[Task, list[int]]:
    """A task of a suite, without the others, and its dimensions. Raises ``UsageError`` if there is no such task."""
    entries = {entry.name: entry for entry in suite.task}
    if name not in entries:
        raise UsageError(f"{where}: the suite has no task {name!r}.{suggest(name, entries)}")
    task, entry = _task(entries[name], suite, plugins, where)
    return task, entry.d


def _task(entry: TaskEntry, suite: Suite, plugins: Plugins, where: str) -> tuple[Task, TaskEntry]:
    """The task of an entry, and the entry with the dimension that a data set or law determines filled in.

    The members of a grid share the random streams that its name keys.
    """
    keys = {other.name: str(other.grid or other.name) for other in suite.task} if entry.teacher else {}
    suite_file, where = where, f"{where}: task {entry.name!r}"
    teacher = keys.get(entry.teacher, entry.teacher) if entry.teacher else str(entry.grid or "")
    task = build_task(entry, plugins, where, teacher)
    try:
        if not entry.d and task.dimension is not None:
            entry = entry.model_copy(update={"d": [task.dimension]})
    except UsageError as error:  # errors of data sets name the task themselves
        raise UsageError(f"{suite_file}: {error}") from None
    if not entry.d:
        raise UsageError(f"{where}: d must be given, since the options of law {entry.law!r} do not determine it.")
    for d in entry.d:
        if problem := task.check(d):
            raise UsageError(f"{where}: d = {d}: {problem}")
    try:
        sizes = sorted({n for d in entry.d for n in entry.sizes(d)})
    except ValueError as error:  # of data, whose dimension is known only now
        raise UsageError(f"{where}: {error}.") from None
    for n in sizes:
        if problem := task.check_size(n, suite.test_size):
            raise UsageError(f"{where}: n = {n}: {problem}.")
    return task, entry


def _entry(entry: LearnerEntry, plugins: Plugins, wanted: Sequence[str], where: str) -> GridLearner:
    cls = plugins.learner(entry.name, where)
    learner = cls.parse(entry.options, f"{where}: options")
    # An option that the suite fixes is not searched by default.
    default = {option: list(values) for option, values in cls.search.items() if option not in entry.options}
    spaces = tuple([default] if entry.spaces is None else entry.spaces)
    options = [{**entry.options, **choice} for choice in candidates(spaces)]
    chosen = tuple(cls.parse(option, f"{where}: tune") for option in options) if any(spaces) else ()
    tasks = tuple(name for name in wanted if entry.tasks is None or name in entry.tasks)
    return GridLearner(entry.label, learner, chosen, spaces, tasks, entry.max_n or inf, entry.max_d or inf, entry.climb)
