"""Tasks from plain data, as suites and workers have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from bfc_bench.config import Settings
from bfc_bench.errors import UsageError
from bfc_bench.registry import Registry
from bfc_bench.tasks.base import DataSet, Inputs, Labels, Target
from bfc_bench.tasks.data_task import DataTask
from bfc_bench.tasks.task import Task
from bfc_bench.tasks.teacher_task import TeacherTask

Part = TypeVar("Part", bound=Settings)


@dataclass(frozen=True)
class Kinds:
    """What tasks are made of, by name."""

    inputs: Registry[type[Inputs]]
    targets: Registry[type[Target]]
    labels: Registry[type[Labels]]
    data: Registry[type[DataSet]]


def build_task(
    name: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    target: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    labels: Mapping[str, Any],
    unlabeled: int = 0,
    teacher: str = "",
    test_size: int | None = None,
    digest: str = "",
    kinds: Kinds,
    where: str,
) -> Task:
    """A task on ``inputs`` with a ``target``, or on ``data``: tables such as ``{"kind": "uniform"}`` with options.

    Raises ``UsageError`` that starts with ``where`` and names the table and the key that is wrong.
    """
    labelling = _build(labels, kinds.labels, f"{where}: labels")
    if data is not None:
        read = build_data(data, kinds.data, f"{where}: data")
        return DataTask(name, read, labelling, unlabeled, teacher, test_size, digest)
    law = _build(inputs or {}, kinds.inputs, f"{where}: inputs")
    return TeacherTask(
        name, law, _build(target or {}, kinds.targets, f"{where}: target"), labelling, unlabeled, teacher
    )


def build_data(table: Mapping[str, Any], known: Registry[type[DataSet]], where: str) -> DataSet:
    """A data set from ``{"kind": "digits"}`` with options. Raises ``UsageError`` that starts with ``where``."""
    return _build(table, known, where)


def _build(table: Mapping[str, Any], known: Registry[type[Part]], where: str) -> Part:
    options = dict(table)
    kind = options.pop("kind", None)
    if not isinstance(kind, str):
        raise UsageError(f"{where}: kind must be the name of one of: {', '.join(known)}. Got {kind!r}.")
    return known.find(kind, where).parse(options, f"{where} ({kind})")
