"""Builds tasks from plain data, the form in which suites hold them."""

from collections.abc import Mapping
from typing import Any, TypeVar

from bfc_bench.config import Settings
from bfc_bench.errors import UsageError
from bfc_bench.plugins.manager import Plugins
from bfc_bench.registry import Registry
from bfc_bench.tasks.data_task import DataTask
from bfc_bench.tasks.joint_task import JointTask
from bfc_bench.tasks.task import Task
from bfc_bench.tasks.teacher_task import TeacherTask

Part = TypeVar("Part", bound=Settings)


def build_task(
    name: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    target: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    law: Mapping[str, Any] | None = None,
    labels: Mapping[str, Any],
    unlabeled: int = 0,
    teacher: str = "",
    test_size: int | None = None,
    plugins: Plugins,
    where: str,
) -> Task:
    """A task on ``inputs`` with a ``target``, on ``data``, or of a joint ``law``."""
    labelling = build_part(labels, plugins.labels, f"{where}: labels")
    if data is not None:
        read = build_part(data, plugins.data, f"{where}: data")
        return DataTask(name, read, test_size, labels=labelling, unlabeled=unlabeled, teacher=teacher)
    if law is not None:
        joint = build_part(law, plugins.laws, f"{where}: law")
        return JointTask(name, joint, labels=labelling, unlabeled=unlabeled, teacher=teacher)
    x = build_part(inputs or {}, plugins.inputs, f"{where}: inputs")
    f = build_part(target or {}, plugins.targets, f"{where}: target")
    return TeacherTask(name, x, f, labels=labelling, unlabeled=unlabeled, teacher=teacher)


def build_part(table: Mapping[str, Any], known: Registry[type[Part]], where: str) -> Part:
    """A part of a task from a table of its kind and its options. Raises ``UsageError`` that begins with ``where``."""
    options = dict(table)
    kind = options.pop("kind", None)
    if not isinstance(kind, str):
        raise UsageError(f"{where}: kind must be the name of one of: {', '.join(known)}. Got {kind!r}.")
    return known.get(kind, where).parse(options, f"{where} ({kind})")
