"""Reads a suite file, with changes from the command line."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bfc_bench.config import read_toml
from bfc_bench.suite.changes import changed
from bfc_bench.suite.model import Suite, TaskEntry
from bfc_bench.tasks.base import DataSet


def read_suite(path: Path, changes: Sequence[str] = (), learners: Iterable[str] = ()) -> Suite:
    """The suite in a TOML file, with ``--set`` changes applied. Raises ``UsageError`` that names file and key.

    A change may be of one of ``learners`` that the file does not have, which is added.
    """
    values = read_toml(path)
    entries: Any = values.get("learner")
    for name in learners if isinstance(entries, list) else ():
        names = [entry.get(key) for entry in entries if isinstance(entry, Mapping) for key in ("label", "name")]
        if name not in names and any(change.startswith(f"learner.{name}.") for change in changes):
            entries.append({"name": name})
    suite = Suite.parse(changed(values, changes), str(path))
    return suite.model_copy(update={"task": [_with_absolute_paths(task, path.parent) for task in suite.task]})


def _with_absolute_paths(task: TaskEntry, folder: Path) -> TaskEntry:
    """The task with paths of data, which are relative to the suite file, made absolute."""
    data = task.data or {}
    paths = {key: value for key, value in data.items() if DataSet.is_path(key) and isinstance(value, str) and value}
    absolute = {key: str((folder / Path(value).expanduser()).resolve()) for key, value in paths.items()}
    return task.model_copy(update={"data": {**data, **absolute}}) if absolute else task
