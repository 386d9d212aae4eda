"""Claims about grids: which members of a grid a claim names, and the points of a claim along an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer
from pydantic.fields import FieldInfo

from bfc_bench.analysis.claims.base import Positive
from bfc_bench.config import Settings
from bfc_bench.errors import UsageError, suggest
from bfc_bench.suite.axes import family, is_numeric, value_key
from bfc_bench.suite.model import LearnerEntry, Size, Suite, TaskEntry

ONE = ("label", "before", "after")
"""Fields of claims with the name of one learner."""
SEVERAL = ("below", "against")
"""Fields of claims with the names of learners, all of which the claim is about."""


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

    @model_serializer(mode="wrap")
    def _without_defaults(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Claims that sweep over tasks only keep the digest of their statement."""
        return {name: value for name, value in dump(self).items() if value not in (None, {})}

    def label(self, name: str) -> str:
        """The predictor, ``LABEL`` or ``LABEL/STAGE``, that the claim calls ``name``, at this value."""
        label, slash, stage = name.partition("/")
        return f"{self.learners.get(label, label)}{slash}{stage}"


def resolve_grids(
    values: Mapping[str, Any], suite: Suite, fields: Mapping[str, FieldInfo], where: str
) -> dict[str, Any]:
    """The fields of a claim with members in place of grids.

    ``at`` says which members are meant, and ``axis`` along which axis a claim goes, if that is not the default of its
    kind. A field for one name must be left with one member; a field for several names gets all of them.
    """
    has_axis = {"axis", "sweep"} <= fields.keys()
    axis = values.get("axis") if has_axis else None
    along = isinstance(axis, str) and axis != fields["axis"].default and "sweep" not in values
    at = values.get("at", {})
    if not isinstance(at, Mapping):
        raise UsageError(f"{where}: at must be a table of values by axis. Got {at!r}.")
    lists = [key for key in ONE if key in fields and fields[key].annotation == tuple[str, ...]]
    names = _Names(suite, at, has_axis, where, lists)
    kept = {key: value for key, value in values.items() if key != "at"}
    names.check_at(kept)
    return names.along(str(axis), kept) if along else names.members(kept)


class _Names:
    """The grids of a suite, as one claim sees them."""

    def __init__(
        self, suite: Suite, at: Mapping[str, Any], has_axis: bool, where: str, lists: Sequence[str] = ()
    ) -> None:
        self.at, self.has_axis, self.where, self.lists = at, has_axis, where, lists
        self.tasks: dict[str, list[TaskEntry]] = {}
        self.learners: dict[str, list[LearnerEntry]] = {}
        for task in suite.task:
            for name in filter(None, (task.name, task.grid)):
                self.tasks.setdefault(str(name), []).append(task)
        for entry in suite.learner:
            for name in filter(None, (entry.label, entry.grid)):
                self.learners.setdefault(str(name), []).append(entry)

    def check_at(self, values: Mapping[str, Any]) -> None:
        """Raise ``UsageError`` for a key of ``at`` that is no axis of the claim's grids."""
        named = [*_list(values.get("task")), *(name for key in (*ONE, *SEVERAL) for name in _list(values.get(key)))]
        entries = [entry for name in named for entry in (*self._of(self.tasks, name), *self._of(self.learners, name))]
        known = {axis for entry in entries for axis in entry.axes}
        for axis in self.at:
            if axis not in known:
                raise UsageError(
                    f"{self.where}: at: {axis!r} is no axis of what the claim names.{suggest(axis, known)}"
                )

    def members(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a claim that goes along no axis of a grid."""
        kept = dict(values)
        if isinstance(task := kept.get("task"), str):
            kept["task"] = self._one("task", task, self.tasks, "name")
        for key in ONE:
            if key not in self.lists and isinstance(name := kept.get(key), str):
                kept[key] = self._one(key, name, self.learners, "label")
        for key in (*SEVERAL, *self.lists):
            if key in kept and any(name.partition("/")[0] in self.learners for name in _list(kept[key])):
                kept[key] = [member for name in _list(kept[key]) for member in self._labels(key, name)]
        return kept

    def along(self, axis: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a claim along an axis, with its points in ``sweep``."""
        given = _list(values.get("task"))
        tasks = [task for name in given for task in self._matching("task", name, self.tasks)]
        names = [name for key in ("label", "below") for name in _list(values.get(key))]
        learners = {name: self._matching("label", name, self.learners) for name in names}
        if not tasks or not names:
            raise UsageError(f"{self.where}: axis = {axis!r} needs a task and a label")
        if axis == "d":
            kept = self.members(values)
            points = [{"task": task.name, "value": d, "d": d} for task in tasks for d in task.d]
            return {**kept, "task": tasks[0].name, "sweep": points}
        by_task = [task for task in tasks if axis in task.axes]
        if by_task:
            self._require_fixed(axis, tasks)
            kept = self.members({key: value for key, value in values.items() if key != "task"})
            points = [{"task": task.name, "value": self._number(axis, task.axes)} for task in tasks]
            return {**kept, "task": family(tasks[0].name, axis, tasks[0].axes[axis]), "sweep": points}
        if not all(entry.axes.keys() & {axis} for entries in learners.values() for entry in entries):
            known = {a for entry in (*tasks, *(e for es in learners.values() for e in es)) for a in entry.axes}
            raise UsageError(
                f"{self.where}: axis = {axis!r} is an axis neither of the task nor of all learners of the claim."
                f"{suggest(axis, [*known, 'd'])}"
            )
        if len(tasks) > 1:
            raise UsageError(f"{self.where}: {self._which('task', given[0], tasks)}")
        by_name: dict[str, dict[Any, str]] = {}
        for name, entries in learners.items():
            self._require_fixed(axis, entries)
            by_name[name.partition("/")[0]] = {self._number(axis, entry.axes): entry.label for entry in entries}
        common = set.intersection(*(set(labels) for labels in by_name.values()))
        points = [
            {"task": tasks[0].name, "value": value, "learners": {name: at[value] for name, at in by_name.items()}}
            for value in sorted(common)
        ]
        return {**values, "task": tasks[0].name, "sweep": points}

    def _number(self, axis: str, axes: Mapping[str, Any]) -> float:
        value = axes[axis]
        if not is_numeric(value) or not value > 0:
            raise UsageError(f"{self.where}: axis = {axis!r} must have positive numbers as values. Got {value!r}.")
        return float(value)

    def _require_fixed(self, axis: str, entries: Sequence[TaskEntry | LearnerEntry]) -> None:
        """Raise ``UsageError`` if the members of one grid differ in more than the axis."""
        if any(axis not in entry.axes for entry in entries):
            raise UsageError(f"{self.where}: not all members that the claim names have the axis {axis!r}.")
        others = [{key: value for key, value in entry.axes.items() if key != axis} for entry in entries]
        if free := sorted(key for key in others[0] if any(other.get(key) != others[0][key] for other in others)):
            fixed = ", ".join(f"{key} = {value_key(others[0][key])}" for key in free)
            raise UsageError(
                f"{self.where}: axis = {axis!r}: the members differ in {', '.join(free)} too; fix that, for example "
                f"at = {{ {fixed} }}."
            )

    def _one(self, key: str, name: str, known: Mapping[str, Sequence[Any]], attribute: str) -> str:
        label, slash, stage = name.partition("/")
        entries = self._matching(key, name, known)
        if len(entries) > 1:
            raise UsageError(f"{self.where}: {self._which(key, label, entries)}")
        return f"{getattr(entries[0], attribute)}{slash}{stage}" if entries else name

    def _which(self, key: str, name: str, entries: Sequence[TaskEntry | LearnerEntry]) -> str:
        """An error message: a grid where one member is needed."""
        free = {axis: value for axis, value in entries[0].axes.items() if axis not in self.at}
        fixed = ", ".join(f"{axis} = {value_key(value)}" for axis, value in free.items())
        along = f", or an axis, for example axis = '{next(iter(free), 'm')}'" if self.has_axis else ""
        return f"{key} {name!r} is a grid of {len(entries)}; name a member, give at = {{ {fixed} }}{along}."

    def _labels(self, key: str, name: str) -> list[str]:
        """All members that a name stands for, with its stage; the name itself if it is unknown."""
        _, slash, stage = name.partition("/")
        return [f"{entry.label}{slash}{stage}" for entry in self._matching(key, name, self.learners)] or [name]

    def _matching(self, key: str, name: str, known: Mapping[str, Sequence[Any]]) -> list[Any]:
        """The entries that a name stands for, those of a grid only if they agree with ``at``; none if it is unknown."""
        entries = self._of(known, name)
        fixed = {axis: value for axis, value in self.at.items() if any(axis in entry.axes for entry in entries)}
        matching = [entry for entry in entries if all(entry.axes.get(axis) == v for axis, v in fixed.items())]
        if entries and not matching:
            axes = {axis: dict.fromkeys(value_key(entry.axes.get(axis)) for entry in entries) for axis in fixed}
            values = "; ".join(f"{axis}: {', '.join(there)}" for axis, there in axes.items())
            raise UsageError(f"{self.where}: at: no member of {key} {name!r} has these values. It has {values}.")
        return matching

    @staticmethod
    def _of(known: Mapping[str, Sequence[Any]], name: str) -> Sequence[Any]:
        return known.get(name.partition("/")[0], ())


def _list(value: Any) -> list[str]:
    """The texts in a text or a list."""
    values = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    return [item for item in values if isinstance(item, str)]
