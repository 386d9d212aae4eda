"""Builds tasks and their parts from the entries of suites, which hold them as plain data."""

from collections.abc import Mapping
from typing import Any, TypeVar

from bfc_bench.config import Settings
from bfc_bench.errors import UsageError
from bfc_bench.plugins.manager import Plugins
from bfc_bench.registry import Registry
from bfc_bench.suite.model import TaskEntry
from bfc_bench.tasks.data_task import DataTask
from bfc_bench.tasks.joint_task import JointTask
from bfc_bench.tasks.task import Task
from bfc_bench.tasks.teacher_task import TeacherTask

Part = TypeVar("Part", bound=Settings)


def build_task(entry: TaskEntry, plugins: Plugins, where: str, teacher: str = "") -> Task:
    """The task of an entry, whose random streams ``teacher`` keys if it is not empty."""
    labels, unlabeled = build_part(entry.labels, plugins.labels, f"{where}: labels"), entry.unlabeled
    if entry.data is not None:
        data = build_part(entry.data, plugins.data, f"{where}: data")
        return DataTask(entry.name, data, entry.test_size, labels=labels, unlabeled=unlabeled, teacher=teacher)
    if entry.law is not None:
        law = build_part(entry.law, plugins.laws, f"{where}: law")
        return JointTask(entry.name, law, labels=labels, unlabeled=unlabeled, teacher=teacher)
    x = build_part(entry.inputs or {}, plugins.inputs, f"{where}: inputs")
    f = build_part(entry.target or {}, plugins.targets, f"{where}: target")
    return TeacherTask(entry.name, x, f, labels=labels, unlabeled=unlabeled, teacher=teacher)


def build_part(table: Mapping[str, Any], known: Registry[type[Part]], where: str) -> Part:
    """A part of a task from a table of its kind and its options. Raises ``UsageError`` that begins with ``where``."""
    options = dict(table)
    kind = options.pop("kind", None)
    if not isinstance(kind, str):
        raise UsageError(f"{where}: kind must be the name of one of: {', '.join(known)}. Got {kind!r}.")
    return known.get(kind, where).parse(options, f"{where} ({kind})")
