"""Claims about grids: which members of a grid a claim names, and the points of a claim along an axis."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from bfc_bench.analysis.claims.base import Claim, Positive, name_fields, texts
from bfc_bench.config import Settings
from bfc_bench.errors import UsageError, suggest
from bfc_bench.suite.axes import family, is_numeric, value_key
from bfc_bench.suite.model import LearnerEntry, Size, Suite, TaskEntry

Entry: TypeAlias = TaskEntry | LearnerEntry


class SweptTask(Settings):
    """A point of a sweep: a task, or another d or learner, at one value of the swept number."""

    task: str
    """Name of the task."""
    value: Positive
    """Value of the swept number in this task."""
    d: Size | None = None
    """Input dimension, if the sweep is over d."""
    learners: dict[str, str] = Field(default={})
    """Label of each learner at this value, by the name that the claim gives it, if they differ."""

    def label(self, name: str) -> str:
        """The predictor, ``LABEL`` or ``LABEL/STAGE``, that the claim calls ``name``, at this value."""
        label, slash, stage = name.partition("/")
        return f"{self.learners.get(label, label)}{slash}{stage}"


class AlongAxis(Claim):
    """A claim that goes along an ``axis`` of a grid, if this is not the default, or over a ``sweep``."""

    sweep: Annotated[tuple[SweptTask, ...], Field(min_length=2)] | None = None
    """The points along the axis; by default those of the grid."""

    @property
    def predictors(self) -> tuple[str, ...]:
        """Those that are named, or their members along the axis of a grid of learners."""
        names = super().predictors
        if self.sweep is None:
            return names
        return tuple(dict.fromkeys(point.label(name) for name in names for point in self.sweep))

    @property
    def tasks(self) -> tuple[str, ...]:
        """The task, or those along the axis."""
        return super().tasks if self.sweep is None else tuple(dict.fromkeys(point.task for point in self.sweep))


def resolve_grids(values: Mapping[str, Any], suite: Suite, kind: type[Claim], where: str) -> dict[str, Any]:
    """The fields of a claim with members in place of grids, in the fields whose types are names (``NameOf``).

    ``at`` says which members are meant, and ``axis`` along which axis a claim goes. A field for one name must be left
    with one member; a field for several names gets all of them.
    """
    at = values.get("at", {})
    if not isinstance(at, Mapping):
        raise UsageError(f"{where}: at must be a table of values by axis. Got {at!r}.")
    names = _Names({key: value for key, value in values.items() if key != "at"}, suite, kind, at, where)
    axis = names.values.get("axis") if names.goes_along and "sweep" not in values else None
    if not isinstance(axis, str) or axis == kind.model_fields["axis"].default:
        return names.members()
    tasks, learners = list(chain(*names.entries("task").values())), names.entries("learner")
    if not tasks or not learners:
        raise UsageError(f"{where}: axis = {axis!r} needs a task and a label")
    if axis == "d":
        return names.along_d(tasks)
    if any(axis in task.axes for task in tasks):
        return names.along_tasks(axis, tasks)
    return names.along_learners(axis, tasks, learners)


class _Names:
    """The names in one claim, and the grids of its suite that they stand for."""

    def __init__(
        self, values: dict[str, Any], suite: Suite, kind: type[Claim], at: Mapping[str, Any], where: str
    ) -> None:
        self.values, self.suite, self.at, self.where = values, suite, at, where
        self.goes_along = issubclass(kind, AlongAxis)
        self.marks = {key: mark for key, mark in name_fields(kind).items() if key in values}
        named = [entry for key in self.marks for name in texts(values[key]) for entry in self._of(key, name)]
        axes = {axis for entry in named for axis in entry.axes}
        if unknown := [axis for axis in at if axis not in axes]:
            raise UsageError(
                f"{where}: at: {unknown[0]!r} is no axis of what the claim names.{suggest(unknown[0], axes)}"
            )

    def entries(self, what: str) -> dict[str, list[Any]]:
        """What each name of a task, or of a learner, stands for."""
        keys = [key for key, mark in self.marks.items() if mark.what == what]
        return {name: self._matching(key, name) for key in keys for name in texts(self.values[key])}

    def members(self, *without: str) -> dict[str, Any]:
        """The fields with members in the place of grids, but for fields ``without``."""
        kept = {key: value for key, value in self.values.items() if key not in without}
        return {key: self._members(key, value) if key in self.marks else value for key, value in kept.items()}

    def along_d(self, tasks: Sequence[TaskEntry]) -> dict[str, Any]:
        """The fields of a claim over all d of its task."""
        points = [{"task": task.name, "value": d, "d": d} for task in tasks for d in task.d]
        return {**self.members(), "task": tasks[0].name, "sweep": points}

    def along_tasks(self, axis: str, tasks: Sequence[TaskEntry]) -> dict[str, Any]:
        """The fields of a claim along an axis of a grid of tasks."""
        self._require_fixed(axis, tasks)
        points = [{"task": task.name, "value": self._number(axis, task.axes)} for task in tasks]
        return {**self.members("task"), "task": family(tasks[0].name, axis, tasks[0].axes[axis]), "sweep": points}

    def along_learners(
        self, axis: str, tasks: Sequence[TaskEntry], learners: Mapping[str, Sequence[Any]]
    ) -> dict[str, Any]:
        """The fields of a claim on one task along an axis that the grids of all its learners have."""
        entries = list(chain(*learners.values()))
        if not all(axis in entry.axes for entry in entries):
            known = {name for entry in [*entries, *tasks] for name in entry.axes}
            raise UsageError(
                f"{self.where}: axis = {axis!r} is an axis neither of the task nor of all learners of the claim."
                f"{suggest(axis, [*known, 'd'])}"
            )
        if len(tasks) > 1:
            raise UsageError(f"{self.where}: {self._which('task', texts(self.values['task'])[0], tasks)}")
        labels: dict[str, dict[float, str]] = {}
        for name, of_name in learners.items():
            self._require_fixed(axis, of_name)
            labels[name.partition("/")[0]] = {self._number(axis, entry.axes): entry.label for entry in of_name}
        points = [
            {"task": tasks[0].name, "value": value, "learners": {name: of[value] for name, of in labels.items()}}
            for value in sorted(set.intersection(*map(set, labels.values())))
        ]
        return {**self.values, "task": tasks[0].name, "sweep": points}

    def _number(self, axis: str, axes: Mapping[str, Any]) -> float:
        value = axes[axis]
        if not is_numeric(value) or not value > 0:
            raise UsageError(f"{self.where}: axis = {axis!r} must have positive numbers as values. Got {value!r}.")
        return float(value)

    def _require_fixed(self, axis: str, entries: Sequence[Entry]) -> None:
        """Raise ``UsageError`` if the members of one grid differ in more than the axis."""
        if not entries or any(axis not in entry.axes for entry in entries):
            raise UsageError(f"{self.where}: not all members that the claim names have the axis {axis!r}.")
        others = [{key: value for key, value in entry.axes.items() if key != axis} for entry in entries]
        if free := sorted(key for key in others[0] if any(other.get(key) != others[0][key] for other in others)):
            fixed = ", ".join(f"{key} = {value_key(others[0][key])}" for key in free)
            raise UsageError(
                f"{self.where}: axis = {axis!r}: the members differ in {', '.join(free)} too; fix that, for example "
                f"at = {{ {fixed} }}."
            )

    def _members(self, key: str, value: Any) -> Any:
        """The names of the members that a field stands for, with their stages; unknown names are kept."""
        members, several = [], self.marks[key].several
        if not several and not isinstance(value, str):
            return value  # of a wrong type, or tasks along an axis
        for name in texts(value):
            label, slash, stage = name.partition("/")
            entries = self._matching(key, name)
            if len(entries) > 1 and not several:
                raise UsageError(f"{self.where}: {self._which(key, label, entries)}")
            members += [f"{_name(entry)}{slash}{stage}" for entry in entries] or [name]
        return members[0] if not several else members or value

    def _which(self, key: str, name: str, entries: Sequence[Entry]) -> str:
        """An error message: a grid where one member is needed."""
        free = {axis: value for axis, value in entries[0].axes.items() if axis not in self.at}
        fixed = ", ".join(f"{axis} = {value_key(value)}" for axis, value in free.items())
        along = f", or an axis, for example axis = '{next(iter(free), 'm')}'" if self.goes_along else ""
        return f"{key} {name!r} is a grid of {len(entries)}; name a member, give at = {{ {fixed} }}{along}."

    def _matching(self, key: str, name: str) -> list[Any]:
        """The entries that a name stands for, those of a grid only if they agree with ``at``; none if it is unknown."""
        entries = self._of(key, name)
        fixed = {axis: value for axis, value in self.at.items() if any(axis in entry.axes for entry in entries)}
        matching = [entry for entry in entries if all(entry.axes.get(axis) == v for axis, v in fixed.items())]
        if entries and not matching:
            axes = {axis: dict.fromkeys(value_key(entry.axes.get(axis)) for entry in entries) for axis in fixed}
            values = "; ".join(f"{axis}: {', '.join(there)}" for axis, there in axes.items())
            raise UsageError(f"{self.where}: at: no member of {key} {name!r} has these values. It has {values}.")
        return matching

    def _of(self, key: str, name: str) -> list[Any]:
        """The entries with this name, or of the grid with this name."""
        name = name.partition("/")[0]
        return [entry for entry in getattr(self.suite, self.marks[key].what) if name in (_name(entry), entry.grid)]


def _name(entry: Entry) -> str:
    return entry.name if isinstance(entry, TaskEntry) else entry.label
