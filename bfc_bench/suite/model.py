"""The contents of a suite file: tasks, sizes, replicates, learners, budgets and claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from bfc_bench.config import Settings, plain_option, read_toml
from bfc_bench.errors import UsageError, suggest
from bfc_bench.suite.changes import apply
from bfc_bench.tasks.base import DataSet
from bfc_bench.utils.names import NAME_RULE, is_name
from bfc_bench.utils.plain_json import canonical_json


def _check_name(value: str) -> str:
    if not is_name(value):
        raise ValueError(NAME_RULE)
    return value


Name = Annotated[str, AfterValidator(_check_name)]
Size = Annotated[int, Field(strict=True, ge=1)]
Sizes = Annotated[list[Size], Field(min_length=1)]


class Budget(Settings):
    """What one cell may use."""

    cell_seconds: Annotated[float, Field(gt=0)] = 120.0
    """Wall time in seconds after which a cell is stopped."""
    memory_gb: Annotated[float, Field(gt=0)] = 8.0
    """Memory of a cell in 10^9 bytes; a cell that declares more, or whose data take more, is skipped."""
    gpu_memory_gb: Annotated[float, Field(gt=0)] | None = None
    """GPU memory of a cell in 10^9 bytes, which replaces ``memory_gb`` for what it declares; None: what one library may
    take of the visible GPU, or ``memory_gb`` if none is visible."""


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
    d: list[Size] = []
    """Input dimensions; leave it out for data, and for a law whose options determine it."""
    n: Sizes

    @classmethod
    def from_arrays(
        cls,
        name: str,
        x: Any,
        y: Any,
        *,
        n: Iterable[int],
        x_test: Any = None,
        y_test: Any = None,
        classes: bool | None = None,
        labels: Mapping[str, Any] | None = None,
        test_size: int | None = None,
        unlabeled: int = 0,
        folder: str | Path | None = None,
        **options: Any,
    ) -> TaskEntry:
        """A task on arrays or a pandas frame.

        Workers read the arrays from a file, whose name is a digest of its contents.

        Args:
            name: The task's name.
            x: Inputs (N, d), or images (N, height, width) or (N, channels, height, width), or a frame of N rows.
            y: Target (N,). Text, booleans and categories are classes.
            n: Training sizes.
            x_test: Inputs of a test part.
            y_test: Target of the test part.
            classes: Whether numbers in y are classes.
            labels: Table of the labelling; by default labels are clean.
            test_size: Number of test points; None for the suite's.
            unlabeled: Number of inputs without labels that learners are offered.
            folder: Folder of the file; by default in the cache.
            **options: Options of the kind ``npz``: ``standardize``, ``whiten``, ``stratify``, ``divisor``.

        Raises:
            UsageError: Nothing can be learned from the arrays, or an argument is wrong.
        """
        from bfc_bench.tasks.data.arrays import save_arrays

        try:
            path = save_arrays(x, y, x_test, y_test, classes=classes, folder=None if folder is None else Path(folder))
        except UsageError as error:
            raise UsageError(f"task {name!r}: {error}") from None
        values = {
            "name": name,
            "data": {"kind": "npz", "path": str(path), **options},
            "labels": dict(labels or {"kind": "clean"}),
            "test_size": test_size,
            "unlabeled": unlabeled,
            "n": [int(size) for size in n],
        }
        return cls.parse(values, f"task {name!r}")

    @model_validator(mode="after")
    def _check_parts(self) -> TaskEntry:
        for key, others in (("data", ("inputs", "target", "law")), ("law", ("inputs", "target"))):
            given = [other for other in others if getattr(self, other) is not None]
            if getattr(self, key) is not None and given:
                raise ValueError(f"{key} replaces inputs and target; leave out {' and '.join(given)}")
        if self.data is None:
            needed = ("inputs", "target", "d") if self.law is None else ()
            if missing := [key for key in needed if not getattr(self, key)]:
                raise ValueError(f"{' and '.join(missing)} must be given, or data or law instead of inputs and target")
            if self.test_size is not None:
                raise ValueError("test_size is for tasks on data only; leave it out, the suite's own applies")
        return self

    @model_validator(mode="after")
    def _check_increasing(self) -> TaskEntry:
        for key in ("d", "n"):
            values = getattr(self, key)
            if any(a >= b for a, b in pairwise(values)):
                raise ValueError(f"{key} must be strictly increasing integers >= 1, without repetition. Got {values}")
        return self


class LearnerEntry(Settings):
    """One ``[[learner]]``: a learner with its options, under a label."""

    name: str
    label: Name = ""
    """Distinguishes option sets of one learner; the learner's name by default."""
    options: dict[str, Any] = {}
    tune: Any = None
    """A table of values per option, whose combinations are compared on a validation part, or a list of such tables;
    None: the learner's own search space; {}: no tuning."""
    tasks: Annotated[list[str], Field(min_length=1)] | None = None
    """Names of the tasks on which it runs; None: all."""
    max_n: Size | None = None
    """The largest n at which it runs; None: all. Cells beyond are not planned."""
    max_d: Size | None = None
    """The largest d at which it runs; None: all. Cells beyond are not planned."""

    @model_validator(mode="before")
    @classmethod
    def _default_label(cls, values: Any) -> Any:
        if isinstance(values, Mapping) and "label" not in values:
            return {**values, "label": values.get("name", "")}
        return values

    @model_validator(mode="after")
    def _check_tune(self) -> LearnerEntry:
        if (spaces := self.spaces) is None:
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
        return self

    @property
    def spaces(self) -> list[dict[str, list[Any]]] | None:
        """The tables of ``tune``."""
        return self.tune if self.tune is None or isinstance(self.tune, list) else [self.tune]


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


class Suite(Settings):
    """A whole suite file."""

    name: Name
    version: Annotated[int, Field(strict=True, ge=1)] = 1
    description: str = ""
    replicates: Size = 3
    seed: Annotated[int, Field(strict=True, ge=0)] = 0
    test_size: Annotated[int, Field(strict=True, ge=100, le=100_000_000)] = 20_000
    """Number of fresh test points for each task, d and replicate."""
    levels: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)] = [0.1, 0.01]
    """Error levels eps at which N*(eps) is estimated."""
    budget: Budget = Budget()
    executor: ExecutorEntry | None = None
    """Where cells run; None: in processes on this machine."""
    task: Annotated[list[TaskEntry], Field(min_length=1)]
    learner: Annotated[list[LearnerEntry], Field(min_length=1)]
    claim: list[ClaimEntry] = []

    @model_validator(mode="after")
    def _check_levels(self) -> Suite:
        steps = {(a < b) - (a > b) for a, b in pairwise(self.levels)}
        if len(steps) > 1 or 0 in steps:
            raise ValueError(f"levels must be different and in order, largest first for example. Got {self.levels}")
        return self

    @model_validator(mode="after")
    def _check_names(self) -> Suite:
        _require_unique("task name", [task.name for task in self.task])
        _require_unique("learner label", [entry.label for entry in self.learner])
        _require_unique("claim id", [claim.id for claim in self.claim])
        known = [task.name for task in self.task]
        for task in self.task:
            self._check_teacher(task, known)
        for entry in self.learner:
            for name in entry.tasks or ():
                if name not in known:
                    raise ValueError(f"learner {entry.label!r} names an unknown task {name!r}.{suggest(name, known)}")
            for task in self.task:
                if entry.tasks is None or task.name in entry.tasks:
                    for key, sizes, most in (("n", task.n, entry.max_n), ("d", task.d, entry.max_d)):
                        if sizes and most is not None and most < sizes[0]:
                            raise ValueError(
                                f"learner {entry.label!r}: max_{key} must be at least {sizes[0]}, the smallest {key} "
                                f"of task {task.name!r}. Got {most}"
                            )
        return self

    def _check_teacher(self, task: TaskEntry, known: Sequence[str]) -> None:
        """Check that a named teacher is a task with a teacher of its own, at all of this task's d."""
        if task.teacher is None:
            return
        who = f"task {task.name!r}: teacher"
        if task.teacher not in known:
            raise ValueError(f"{who} names an unknown task {task.teacher!r}.{suggest(task.teacher, known)}")
        named = self.task[known.index(task.teacher)]
        if named.teacher is not None:
            hint = f"name {named.teacher!r} here" if named.teacher != task.name else "leave out one of the two"
            raise ValueError(f"{who} names {task.teacher!r}, which has the teacher {named.teacher!r} itself; {hint}")
        if missing := sorted(set(task.d) - set(named.d)):
            raise ValueError(f"{who}: d must be among those of task {named.name!r}, {named.d}. Got {missing} besides")

    def definition(self) -> dict[str, Any]:
        """The suite as plain data, without the executor, which does not define it."""
        values = self.model_dump(mode="json", exclude={"executor"})
        if self.budget.gpu_memory_gb is None:  # keep the definition of suites without this option
            del values["budget"]["gpu_memory_gb"]
        for entry, key in [(task, "law") for task in values["task"]] + [(each, "max_d") for each in values["learner"]]:
            if entry[key] is None:
                del entry[key]
        return values


def _require_unique(what: str, names: Sequence[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"every {what} must be unique; {', '.join(map(repr, repeated))} appears more than once")


def candidates(spaces: Iterable[Mapping[str, Sequence[Any]]]) -> list[dict[str, Any]]:
    """All combinations of each search space, in order."""
    return [dict(zip(space, values, strict=True)) for space in spaces for values in product(*space.values())]


def read_suite(path: Path, changes: Iterable[str] = ()) -> Suite:
    """The suite in a TOML file, with ``--set`` changes applied. Raises ``UsageError`` that names file and key."""
    values = read_toml(path)
    for change in changes:
        apply(values, change)
    suite = Suite.parse(values, str(path))
    return suite.model_copy(update={"task": [_with_absolute_paths(task, path.parent) for task in suite.task]})


def _with_absolute_paths(task: TaskEntry, folder: Path) -> TaskEntry:
    """The task with paths of data, which are relative to the suite file, made absolute."""
    data = task.data or {}
    paths = {key: value for key, value in data.items() if DataSet.is_path(key) and isinstance(value, str) and value}
    absolute = {key: str((folder / Path(value).expanduser()).resolve()) for key, value in paths.items()}
    return task.model_copy(update={"data": {**data, **absolute}}) if absolute else task
