"""What is read from a store's file is checked here, since the file may come from another person.

A record that this program could not have written is refused: readers leave it out and count it. Nothing else in this
program reads a store's tables.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, with_config
from pydantic_core import from_json
from typing_extensions import TypedDict  # pydantic accepts that of typing only from Python 3.12

from bfc_bench.errors import StoreError
from bfc_bench.store.row import ROW_BYTES, parse
from bfc_bench.store.row_digest import row_digest
from bfc_bench.utils.names import is_name

CELL = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Identities of cells and of runs, which become names of folders."""
RECORD_BYTES = 32_000_000
"""Maximum size of any value in the file."""
TRACEBACK_CHARACTERS = 200_000
_LARGEST = 2**53


LOGS = ("-wal", "-journal", "-shm")
"""What SQLite adds to the name of a file for its logs and their index."""


def require_regular_file(path: Path) -> None:
    """Raise ``StoreError`` if a store's file, or a log beside it, is a pipe, a device or a folder.

    SQLite would wait for a pipe and read a device without end.
    """
    logs = (path.with_name(path.name + log) for log in LOGS)
    for file in (path, *(log for log in logs if os.path.lexists(log))):
        if not stat.S_ISREG(_mode(file) if file != path else path.stat().st_mode):
            raise StoreError(f"{file} is not a regular file. Move it away, or use another --store.")


def _mode(log: Path) -> int:
    """Type and permissions of a log, or of what it links to; 0 for a link to nothing."""
    with suppress(OSError):
        return log.stat().st_mode
    return 0


def harden(db: sqlite3.Connection) -> None:
    """Refuse values that are too large, and functions that a file's schema may name."""
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA cell_size_check = ON")
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, RECORD_BYTES)


def objects(db: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """The tables, indices, views and triggers of a file: their SQL by kind and name, without SQLite's own."""
    listed = db.execute("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite^_%' ESCAPE '^'")
    return {(str(kind), str(name)): " ".join(str(sql).split()) for kind, name, sql in listed}


def is_unchanged(content: Sequence[Any], digest: object) -> bool:
    """Whether the columns ``row_digest.DIGESTED`` of a stored row fit the digest that was stored with them."""
    return digest == row_digest(content)


def row_is_unchanged(record: Sequence[Any]) -> bool:
    """``is_unchanged`` for a whole record of the table ``rows``."""
    return is_unchanged((record[0], *record[9:13]), record[-1])


def changed_rows(count: int) -> str:
    """The number of rows that do not fit their digest, in words."""
    return (
        "1 row that was changed after it was written"
        if count == 1
        else (f"{count} rows that were changed after they were written")
    )


def row_is_acceptable(record: Sequence[Any]) -> bool:
    """Whether a record of the table ``rows`` is one that this program writes. Its columns agree with the row's JSON."""
    cell, suite, version, task, label, d, n, replicate, status, *digests, row, traceback = record[:13]
    release, device, learner_version = record[13:16]
    if not (
        isinstance(row, str)
        and len(row) <= ROW_BYTES
        and isinstance(traceback, str)
        and len(traceback) <= TRACEBACK_CHARACTERS
        and all(isinstance(digest, str) and len(digest) <= 64 for digest in digests)
    ):
        return False
    if (values := parse(row)) is None:
        return False
    columns = (
        *("cell", "suite", "suite_version", "task", "label", "d", "n", "replicate", "status"),
        *("release", "device", "learner_version"),
    )
    said = (cell, suite, version, task, label, d, n, replicate, status, release, device, learner_version)
    return all(values.get(name) == value for name, value in zip(columns, said, strict=True))


def session_is_acceptable(record: Sequence[Any]) -> bool:
    """Whether a record of the table ``sessions`` is one that this program writes."""
    id, suite, version, started, finished, definition, provenance = record
    return (
        is_identity(id)
        and is_name(suite)
        and _is_version(version)
        and all(value is None or _is_time(value) for value in (started, finished))
        and _is_suite(mapping(definition))
        and _is_provenance(mapping(provenance))
    )


def definition_is_acceptable(record: Sequence[Any]) -> bool:
    """Whether a record of the table ``definitions`` is one that this program writes."""
    suite, version, kind, name, digest = record
    return (
        is_name(suite)
        and _is_version(version)
        and kind in ("task", "learner")
        and is_name(name)
        and is_identity(digest)
    )


def look_is_acceptable(record: Sequence[Any]) -> bool:
    """Whether a record of the table ``looks`` is one that this program writes."""
    suite, version, *columns, text = record
    if not (is_name(suite) and _is_version(version) and isinstance(text, str)):
        return False
    try:
        look = _looks().validate_json(text)
    except ValidationError:
        return False
    schedule, made = look["looks"]["schedule"], look["looks"]["made"]
    return (
        columns == [look[name] for name in ("claim", "content", "data", "replicates", "verdict")]
        and is_name(look["claim"])
        and all(a < b for a, b in pairwise(schedule))
        and made == schedule[: len(made)]
        and look["replicates"] in schedule
    )


@cache
def _looks() -> TypeAdapter[dict[str, Any]]:
    """The parts of a look as JSON, with their ranges."""
    strictly = with_config(ConfigDict(strict=True, allow_inf_nan=False, extra="forbid"))
    size, digest = Annotated[int, Field(ge=1, lt=_LARGEST)], Annotated[str, StringConstraints(max_length=64)]
    replicates = Annotated[int, Field(ge=2, lt=_LARGEST)]
    schedule = {
        "schedule": Annotated[list[replicates], Field(min_length=1)],
        "total": Annotated[float, Field(gt=0, lt=0.5)],
        "made": list[replicates],
    }
    parts = {
        "claim": str,
        **{"content": digest, "data": digest, "replicates": replicates},
        "reads": list[tuple[str, str, size, list[size]]],  # type: ignore[valid-type]
        "looks": strictly(TypedDict("looks", schedule)),  # type: ignore[operator]
        "verdict": Literal["supported", "contradicted", "undecided"] | None,
        "allows_skewness": NotRequired[bool],
    }
    return TypeAdapter(strictly(TypedDict("look", parts)))  # type: ignore[operator]


ACCEPTABLE = {
    "rows": row_is_acceptable,
    "sessions": session_is_acceptable,
    "definitions": definition_is_acceptable,
    "looks": look_is_acceptable,
}
"""The check of the records of each table."""


def is_identity(value: object) -> bool:
    """Whether a value may be the identity of a cell or a run."""
    return isinstance(value, str) and CELL.fullmatch(value) is not None


def is_own_folder(folder: Path, directory: Path) -> bool:
    """Whether a folder lies where its path says inside a store's directory: no part of it is a symbolic link."""
    inside = folder.relative_to(directory)
    return folder.is_dir() and folder.resolve() == directory.resolve() / inside


def _is_version(value: object) -> bool:
    return type(value) is int and 0 <= value < _LARGEST


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and isfinite(value) and 0 <= value < 1e11


def mapping(text: object) -> Mapping[str, Any] | None:
    """The JSON object in a text; None for anything else."""
    if not isinstance(text, str):
        return None
    try:
        value = from_json(text, allow_inf_nan=False)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _is_provenance(facts: Mapping[str, Any] | None) -> bool:
    """Whether the facts about a run have texts and tables where readers expect them."""
    if facts is None:
        return False
    texts = (facts.get(name) for name in ("command", "git", "host", "platform", "processor", "python"))
    tables = (facts.get(name, {}) for name in ("packages", "executor_options", "precision"))
    return all(isinstance(text, str | None) for text in texts) and all(isinstance(table, dict) for table in tables)


def _is_suite(definition: Mapping[str, Any] | None) -> bool:
    """Whether the definition of a run has the parts that readers use without parsing it."""
    if definition is None or not definition:
        return definition is not None
    levels, tasks, learners = (definition.get(name, []) for name in ("levels", "task", "learner"))
    return (
        isinstance(levels, list)
        and all(type(level) in (int, float) and isfinite(level) and level > 0 for level in levels)
        and isinstance(tasks, list)
        and all(isinstance(task, dict) for task in tasks)
        and isinstance(learners, list)
        and all(isinstance(entry, dict) for entry in learners)
    )
