"""The contents of a suite file: tasks, sizes, replicates, learners, budgets and claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise, product
from math import prod
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, PlainSerializer, ValidationInfo, WrapValidator, model_validator

from bfc_bench.config import Settings, plain_option
from bfc_bench.errors import UsageError, suggest
from bfc_bench.suite.axes import MOST_CANDIDATES, MOST_MEMBERS
from bfc_bench.suite.members import check_membership, expanded
from bfc_bench.suite.sizes import check_increasing, sizes_at
from bfc_bench.utils.counted import counted
from bfc_bench.utils.names import NAME_RULE, is_name
from bfc_bench.utils.plain_json import canonical_json


def _check_name(value: str) -> str:
    if not is_name(value):
        raise ValueError(NAME_RULE)
    return value


Name = Annotated[str, AfterValidator(_check_name)]
AtMost = Field(max_length=MOST_MEMBERS)
Size = Annotated[int, Field(strict=True, ge=1)]
Sizes = Annotated[list[Size], Field(min_length=1), AfterValidator(check_increasing)]


def _list_or_table(value: Any, check: Callable[[Any], Any]) -> Any:
    """A list as ``check`` gives it; tables are checked where d and the axes are known (``suite.sizes``)."""
    return dict(value) if isinstance(value, Mapping) else check(value)


SizeRule = Annotated[Sizes, WrapValidator(_list_or_table), PlainSerializer(lambda sizes: sizes)]
"""Sizes, or a table that gives them for each d and value of an axis."""
TABLES = ("inputs", "target", "data", "law", "labels")
"""Tables of a task whose options may be axes."""


class TaskEntry(Settings):
    """One ``[[task]]``: inputs x target x labels, or data with labels, at dimensions d and training sizes n."""

    name: Name
    inputs: dict[str, Any] | None = None
    target: dict[str, Any] | None = None
    data: dict[str, Any] | None = None
    """A data set, which replaces inputs and target."""
    law: dict[str, Any] | None = None
    """A joint law of (x, y), which replaces inputs and target."""
    labels: dict[str, Any] = {"kind": "clean"}
    test_size: Size | None = None
    """Number of test points of a task on data, which replaces the suite's."""
    unlabeled: Annotated[int, Field(strict=True, ge=0)] = 0
    """Number of inputs without labels that learners are offered."""
    teacher: Name | None = None
    """The task whose teacher, inputs, test points and random draws of labels this one uses, so that samples differ only
    where the definitions do; None: its own."""
    d: Annotated[list[Size], AfterValidator(check_increasing)] = []
    """Input dimensions; leave it out for data, and for a law whose options determine it."""
    n: SizeRule
    """Training sizes: a list, or a table for sizes that depend on d or on an axis (``suite.sizes.sizes_at``)."""
    grid: dict[str, Any] | str | None = None
    """Lists of values by option, whose combinations are tasks of their own, the members of the grid. They are expanded
    when the suite is read, and a member has the grid's name here. Members share random streams."""
    axes: dict[str, Any] = {}
    """Values of a member on the axes of its grid, which the program fills in."""

    @classmethod
    def from_arrays(
        cls,
        name: str,
        x: Any,
        y: Any = None,
        *,
        n: Iterable[int],
        x_test: Any = None,
        y_test: Any = None,
        classes: bool | None = None,
        folder: str | Path | None = None,
        **options: Any,
    ) -> TaskEntry:
        """A task on arrays, or on a table: a frame, a dict of columns, or an object with ``to_pandas()``.

        Workers read the arrays from a file, whose name is a digest of its contents.

        Args:
            name: The task's name.
            x: Inputs (N, d), or images (N, height, width) or (N, channels, height, width), or a table of N rows, or a
                torch data set of pairs (x, y).
            y: Target (N,), or the name of a column of the table; None for a torch data set. Text, booleans and
                categories are classes.
            n: Training sizes.
            x_test: Inputs of a test part.
            y_test: Target of the test part.
            classes: Whether numbers in y are classes.
            folder: Folder of the file; by default in the cache.
            **options: Options of the kind ``table`` for a table, and of the kind ``npz`` for arrays.

        Raises:
            UsageError: Nothing can be learned from the arrays, or an argument is wrong.
        """
        from bfc_bench.tasks.data.arrays import saved

        if not isinstance(n, Iterable) or isinstance(n, str):
            raise UsageError(f"task {name!r}: n must be a list of training sizes, such as [{n}]. Got {n!r}.")
        what = f"task {name!r}"
        into = None if folder is None else Path(folder)
        try:
            data = saved(x, y, x_test, y_test, options={"classes": classes, **options}, folder=into)
        except UsageError as error:
            raise UsageError(f"{what}: {error}") from None
        return cls.parse({"name": name, "data": {"kind": data.kind, **data.changed()}, "n": list(map(int, n))}, what)

    @model_validator(mode="after")
    def _check_parts(self) -> TaskEntry:
        for key, others in (("data", ("inputs", "target", "law")), ("law", ("inputs", "target"))):
            clashing = [other for other in others if getattr(self, other) is not None]
            if getattr(self, key) is not None and clashing:
                raise ValueError(f"{key} replaces inputs and target; leave out {' and '.join(clashing)}")
        if self.data is None:
            needed = ("inputs", "target", "d") if self.law is None else ()
            swept = {key.partition(".")[0] for key in self.grid} if isinstance(self.grid, dict) else set()
            if missing := [key for key in needed if not getattr(self, key) and key not in swept]:
                raise ValueError(f"{' and '.join(missing)} must be given, or data or law instead of inputs and target")
            if self.test_size is not None:
                raise ValueError("test_size is for tasks on data only; leave it out, the suite's own applies")
        return self

    @model_validator(mode="after")
    def _check_grid(self) -> TaskEntry:
        check_membership(self.name, self.grid, self.axes)
        if isinstance(self.grid, dict):
            self.members()
        elif not isinstance(self.n, list):
            for d in self.d:
                self.sizes(d)
        return self

    def sizes(self, d: int) -> list[int]:
        """Training sizes at one d, ascending. Raises ``ValueError`` if the table ``n`` is wrong."""
        return sizes_at(self.n, {"d": d, **self.axes})

    def members(self) -> list[TaskEntry]:
        """The tasks of the grid; the task itself if it has none. Raises ``ValueError`` for a wrong grid."""
        if not isinstance(self.grid, dict):
            return [self]
        return expanded(self, "name", "target", self.grid, self._path)

    def _path(self, key: str) -> tuple[str, ...]:
        """Where an axis is written; a key without a table is an option of the data, the law or the target."""
        first, *inner = key.split(".")
        if first in TABLES:
            if not inner:
                raise ValueError(f"{self.name!r}: grid.{key} must name an option of {key}, for example '{key}.kind'")
            return (first, *inner)
        if key in ("unlabeled", "test_size"):
            return (key,)
        if first in TaskEntry.model_fields:
            tables = ", ".join(TABLES)
            raise ValueError(f"{self.name!r}: grid.{key}: {first} cannot be an axis; options of {tables} can")
        return ("data" if self.data is not None else "law" if self.law is not None else "target", first, *inner)


class LearnerEntry(Settings):
    """One ``[[learner]]``: a learner with its options, under a label."""

    name: str
    label: Name = Field(default_factory=lambda entry: entry.get("name", ""))
    """Distinguishes option sets of one learner; the learner's name by default."""
    options: dict[str, Any] = {}
    tune: Any = None
    """A table of values per option, whose combinations are compared on a validation part, or a list of such tables;
    None: the learner's own search space; {}: no tuning."""
    climb: str | None = None
    """An option of ``tune`` whose values are tried in their order, each only if the one before lowered the validation
    error by a tenth or more; None: all values are tried. It is for numbers of steps."""
    tasks: Annotated[list[str], Field(min_length=1)] | None = None
    """Names of the tasks on which it runs; None: all."""
    max_n: Size | None = None
    """The largest n at which it runs; None: all. Cells beyond are not planned."""
    max_d: Size | None = None
    """The largest d at which it runs; None: all. Cells beyond are not planned."""
    grid: dict[str, Any] | str | None = None
    """Lists of values by option, whose combinations are learners of their own, the members of the grid. They are
    expanded when the suite is read, and a member has the grid's label here."""
    axes: dict[str, Any] = {}
    """Values of a member on the axes of its grid, which the program fills in."""

    @model_validator(mode="after")
    def _check_tune(self) -> LearnerEntry:
        if (spaces := self.spaces) is None and self.climb is None:
            return self
        if not spaces or not all(isinstance(space, Mapping) for space in spaces):
            raise ValueError(f"tune must be a table of lists, or a list of such tables. Got {self.tune!r}")
        for option, among in (pair for space in spaces for pair in space.items()):
            if option in self.options:
                raise ValueError(
                    f"{option} is fixed in options, at {self.options[option]!r}, and tuned; leave out one of the two"
                )
            if not isinstance(among, list) or not among:
                raise ValueError(f"tune.{option} must be a list of at least 1 item. Got {among!r}")
            if len({canonical_json(plain_option(value)) for value in among}) < len(among):
                raise ValueError(f"tune.{option} must hold different values. Got {among}")
        if (count := sum(prod(map(len, space.values())) for space in spaces)) > MOST_CANDIDATES:
            raise ValueError(f"tune has {count:,} combinations; at most {MOST_CANDIDATES:,} are possible")
        if self.climb is not None and not all(self.climb in space for space in spaces):
            raise ValueError(f"climb must name an option that tune lists values of. Got {self.climb!r}")
        return self

    @model_validator(mode="after")
    def _check_grid(self) -> LearnerEntry:
        check_membership(self.label, self.grid, self.axes)
        self.members()
        return self

    def members(self) -> list[LearnerEntry]:
        """The learners of the grid; the learner itself if it has none. Raises ``ValueError`` for a wrong grid."""
        if not isinstance(self.grid, dict):
            return [self]
        return expanded(
            self, "label", "options", self.grid, lambda key: ["options", *key.removeprefix("options.").split(".")]
        )

    @property
    def spaces(self) -> list[dict[str, list[Any]]] | None:
        """The tables of ``tune``."""
        return self.tune if self.tune is None or isinstance(self.tune, list) else [self.tune]


class Budget(Settings):
    """``[budget]``: what one cell may use."""

    cell_seconds: Annotated[float, Field(gt=0)] = 120.0
    """Wall time in seconds after which a cell is stopped."""
    memory_gb: Annotated[float, Field(gt=0)] = 8.0
    """Memory of a cell in 10^9 bytes; a cell that declares more, or whose data take more, is skipped."""
    gpu_memory_gb: Annotated[float, Field(gt=0)] | None = None
    """GPU memory of a cell in 10^9 bytes, which replaces ``memory_gb`` for what it declares; None: what one library may
    take of the visible GPU, or ``memory_gb`` if none is visible."""


class ExecutorEntry(Settings):
    """``[executor]``: where cells run unless the command says otherwise; further fields are the executor's options."""

    model_config = ConfigDict(extra="allow")
    name: str

    @property
    def options(self) -> dict[str, Any]:
        """The executor's own options."""
        return dict(self.model_extra or {})


class ClaimEntry(Settings):
    """One ``[[claim]]``: a statement about the results; further fields belong to its kind."""

    model_config = ConfigDict(extra="allow")
    id: Name
    source: str = ""
    kind: str


def _expanded_tasks(tasks: list[TaskEntry]) -> list[TaskEntry]:
    """The tasks with the members of each grid in its place."""
    return [member for task in tasks for member in task.members()]


def _expanded_learners(learners: list[LearnerEntry], info: ValidationInfo) -> list[LearnerEntry]:
    """The learners with the members of each grid in its place, and in ``tasks`` the members of each grid of tasks."""
    grids: dict[str, list[str]] = {}
    for task in info.data.get("task", ()):
        if task.grid is not None:
            grids.setdefault(task.grid, []).append(task.name)

    def named(entry: LearnerEntry) -> LearnerEntry:
        if not grids.keys() & set(entry.tasks or ()):
            return entry
        tasks = dict.fromkeys(member for name in entry.tasks or () for member in grids.get(name, [name]))
        return entry.model_copy(update={"tasks": list(tasks)})

    return [named(member) for entry in learners for member in entry.members()]


Levels = Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)]


class Locate(Settings):
    """``locate``: of the sizes between the smallest and the largest n of a task, those that locate N* are run."""

    factor: Annotated[float, Field(ge=1.1, le=2)] = 1.1
    """Largest ratio of the sizes between which N* of a replicate lies."""
    levels: Levels | None = None
    """Levels of N*; None: those of the suite."""


Looks = Annotated[list[Annotated[Size, Field(ge=3)]], Field(min_length=1), AfterValidator(check_increasing)]


class Suite(Settings):
    """A whole suite file."""

    name: Name
    version: Annotated[int, Field(strict=True, ge=1)] = 1
    description: str = ""
    replicates: Size = 3
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63)] = 0
    test_size: Annotated[int, Field(strict=True, ge=100, le=100_000_000)] = 20_000
    """Number of fresh test points for each task, d and replicate."""
    levels: Levels = [0.1, 0.01]
    """Error levels eps at which N*(eps) is estimated."""
    locate: Locate | None = None
    """The sizes that are run instead of those of the tasks; None: those of the tasks."""
    looks: Looks | None = None
    """Numbers of replicates at which claims are judged, in turn, until they are decided; None: once, on all rows."""
    budget: Budget = Budget()
    executor: ExecutorEntry | None = None
    """Where cells run; None: in processes on this machine."""
    task: Annotated[list[TaskEntry], Field(min_length=1), AfterValidator(_expanded_tasks), AtMost]
    """Tasks, with the members of each grid in its place."""
    learner: Annotated[list[LearnerEntry], Field(min_length=1), AfterValidator(_expanded_learners), AtMost]
    """Learners, with the members of each grid in its place."""
    claim: list[ClaimEntry] = []

    @model_validator(mode="after")
    def _check_levels(self) -> Suite:
        steps = {(a < b) - (a > b) for a, b in pairwise(self.levels)}
        if len(steps) > 1 or 0 in steps:
            raise ValueError(f"levels must be different and in order, largest first for example. Got {self.levels}")
        return self

    @model_validator(mode="after")
    def _check_names(self) -> Suite:
        names = [*(task.name for task in self.task), *_grids(self.task)]
        labels = [entry.label for entry in self.learner]
        _require_unique("name of a task or of its grid", names)
        _require_unique("label of a learner or of its grid", [*labels, *_grids(self.learner)])
        _require_unique("claim id", [claim.id for claim in self.claim])
        self._check_axes()
        for task in self.task:
            if task.teacher is not None:
                self._check_teacher(task, task.teacher, names)
        for entry in self.learner:
            for name in entry.tasks or ():
                if name not in names:
                    raise ValueError(f"learner {entry.label!r} names an unknown task {name!r}.{suggest(name, names)}")
            own = [task for task in self.task if entry.tasks is None or task.name in entry.tasks]
            for together in dict.fromkeys(task.grid or task.name for task in own):
                reasons = [_too_small(entry, task) for task in own if (task.grid or task.name) == together]
                if all(reasons):
                    raise ValueError(f"learner {entry.label!r}: {reasons[0]}")
        return self

    def __repr__(self) -> str:
        counts = [(len(self.task), "task"), (len(self.learner), "learner"), (self.replicates, "replicate")]
        text = ", ".join(counted(*each) for each in [*counts, (len(self.claim), "claim")])
        return f"<suite {self.name}@{self.version}: {text}>"

    def _check_axes(self) -> None:
        """Check that an axis is one of tasks or one of learners."""
        own = {axis: task.grid for task in self.task for axis in task.axes}
        for entry in self.learner:
            if both := sorted(own.keys() & entry.axes.keys()):
                axis = both[0]
                raise ValueError(
                    f"the axis {axis!r} is one of task {own[axis]!r} and one of learner {entry.grid!r}; write "
                    f"'options.{axis}' in the grid of the learner, which names its axis so"
                )

    def _check_teacher(self, task: TaskEntry, teacher: str, known: Sequence[str]) -> None:
        """Check that the named teacher is a task with a teacher of its own, at all of this task's d."""
        who = f"task {task.name!r}: teacher"
        if teacher not in known:
            raise ValueError(f"{who} names an unknown task {teacher!r}.{suggest(teacher, known)}")
        named = next(other for other in self.task if teacher in (other.name, other.grid))
        if named.teacher is not None:
            hint = f"name {named.teacher!r} here" if named.teacher != task.name else "leave out one of the two"
            raise ValueError(f"{who} names {teacher!r}, which has the teacher {named.teacher!r} itself; {hint}")
        if missing := sorted(set(task.d) - set(named.d)):
            raise ValueError(f"{who}: d must be among those of task {named.name!r}, {named.d}. Got {missing} besides")

    def definition(self) -> dict[str, Any]:
        """The suite as plain data, without the executor, which does not define it, and keys that have no value."""
        return self.model_dump(mode="json", exclude={"executor"}, exclude_none=True)


def _grids(entries: Iterable[TaskEntry | LearnerEntry]) -> set[str]:
    """Names of the grids of expanded entries."""
    return {str(entry.grid) for entry in entries if entry.grid is not None}


def _too_small(entry: LearnerEntry, task: TaskEntry) -> str:
    """Why a learner's limits leave no cell of a task; empty if they leave one or if the d of data is not known yet."""
    if task.d and entry.max_d is not None and entry.max_d < task.d[0]:
        return f"max_d must be at least {task.d[0]}, the smallest d of task {task.name!r}. Got {entry.max_d}"
    if entry.max_n is not None and (task.d or isinstance(task.n, list)):
        least = min(task.sizes(d)[0] for d in task.d or [1])
        if entry.max_n < least:
            return f"max_n must be at least {least}, the smallest n of task {task.name!r}. Got {entry.max_n}"
    return ""


def _require_unique(what: str, names: Sequence[str]) -> None:
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise ValueError(f"every {what} must be unique; {', '.join(map(repr, repeated))} appears more than once")


def candidates(spaces: Iterable[Mapping[str, Sequence[Any]]]) -> list[dict[str, Any]]:
    """All combinations of each search space, in order."""
    return [dict(zip(space, values, strict=True)) for space in spaces for values in product(*space.values())]
