"""Finds a suite by name or by path."""

import os
import shlex
from pathlib import Path

from bfc_bench.errors import UsageError
from bfc_bench.registry import Registry

DATA_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".npz")
"""Endings of files of points and labels, which are not suites."""


def suite_path(suite: str | Path, known: Registry[Path]) -> Path:
    """The file of a suite given by name or by path.

    Raises ``UsageError`` that suggests the nearest name, or says what to do with a table.
    """
    path, name = Path(suite), str(suite)
    if name in known:
        return known.get(name)
    if path.suffix.lower() in DATA_SUFFIXES:
        kind, more = ("npz", "") if path.suffix.lower() == ".npz" else ("table", ', target = "COLUMN"')
        trial = f"`bfc-bench try {shlex.quote(name)} --target COLUMN` writes one for it. Or name it"
        raise UsageError(
            f"{suite} is a table, not a suite. {'Name it' if kind == 'npz' else trial} in the file of a suite, as a "
            f'task with data = {{ kind = "{kind}", path = "{path}"{more} }}; docs/tutorials/data.md has a whole file.'
        )
    if path.suffix != ".toml" and os.path.exists(path):  # also if the name is too long
        what = "a folder" if path.is_dir() else "a file whose name does not end in .toml"
        raise UsageError(f"a suite must be the name of a suite or the path of its .toml file. {suite} is {what}.")
    if path.suffix == ".toml" or path.parent != Path("."):
        return path
    if os.path.isfile(file := path.with_name(f"{path.name}.toml")):
        raise UsageError(f"there is no suite {name!r}. Did you mean the file {file}?")
    return known.get(name)  # raises an error that suggests the nearest name
