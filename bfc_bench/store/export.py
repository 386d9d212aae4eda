"""Exports rows and other records as pandas frames, CSV, JSON and parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from inspect import formatannotation
from itertools import islice
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic_core import to_json

from bfc_bench.store.row import AXES, COLUMNS, Row, flat

if TYPE_CHECKING:
    import pandas as pd

ROWS_PER_GROUP = 10_000
"""Rows in one row group of a parquet file."""


class Record(Protocol):
    """An object that can be written as one line of a table."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values by column name."""


class FlatRecord:
    """A dataclass whose fields are the columns of a table; missing numbers are nan, and open ends are infinite."""

    __slots__ = ()

    def as_dict(self) -> dict[str, Any]:
        """The fields as a flat record."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]


R = TypeVar("R", bound=Record)


class Records(list[R]):
    """A list of records that a notebook shows as a table."""

    def frame(self) -> pd.DataFrame:
        """A pandas frame as that of ``frame_of``."""
        return frame_of(self)

    def __repr__(self) -> str:
        return f"<{len(self)} {type(self[0]).__name__ if self else 'records'}: .frame() makes a table of them>"

    def _repr_html_(self) -> str:
        return str(self.frame()._repr_html_())


def frame_of(records: Iterable[Record]) -> pd.DataFrame:
    """A pandas frame with one line per record, and one column per nested value, for example ``feature_errors.S2``."""
    import pandas as pd

    return pd.DataFrame([flat(record.as_dict()) for record in records])


def dotted_columns(rows: Iterable[Row], columns: Sequence[str] = COLUMNS) -> dict[str, list[str]]:
    """For each of the columns that has nested values in some row, their names, as in ``frame_of``.

    The columns ``options`` and ``metrics`` may give ``{"options": ["options.ridge"], "metrics": ["metrics.worst"]}``.
    """
    names: dict[str, dict[str, None]] = {}
    for row in rows:
        for column in columns:
            if isinstance(value := getattr(row, column), Mapping):
                names.setdefault(column, {}).update(dict.fromkeys(flat(value, f"{column}.")))
    return {column: list(of_column) for column, of_column in names.items()}


def json_parts(rows: Iterable[Row], columns: Sequence[str] = COLUMNS) -> Iterator[bytes]:
    """Parts of a JSON list with one object per row."""
    separator = "[\n"
    for row in rows:
        values = dict(zip(columns, row.cells(columns), strict=True))
        yield (separator + json.dumps([values], indent=1)[2:-2]).encode()
        separator = ",\n"
    yield b"[]\n" if separator == "[\n" else b"\n]\n"


def csv_parts(rows: Iterable[Row], columns: Sequence[str] = COLUMNS) -> Iterator[bytes]:
    """Parts of a CSV file with one line per row; lists are JSON texts."""
    writer = csv.writer(SimpleNamespace(write=str.encode), lineterminator="\n")  # ``writerow`` returns what it writes
    yield writer.writerow(columns)
    for row in rows:
        yield writer.writerow(map(as_text, row.cells(columns)))


def parquet_bytes(
    rows: Iterable[Row], columns: Sequence[str] = COLUMNS, axes: Mapping[str, Sequence[Any]] | None = None
) -> memoryview:
    """A parquet file with one line per row; nested columns hold JSON texts, and missing numbers are null.

    Rows are encoded ``ROWS_PER_GROUP`` at a time, so that a million of them need not be in memory at once. ``axes`` has
    all values of each axis, and of each nested column, by its name. If some are not numbers, the column holds texts.
    """
    import pyarrow as pa
    from pyarrow import parquet

    arrow_types = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
    types = {f.name: formatannotation(f.type).removesuffix(" | None") for f in fields(Row)}
    types |= {name: _common_type(values) for name, values in (axes or {}).items()}
    schema = pa.schema([(name, arrow_types.get(types[name], pa.string())) for name in columns])
    mixed = [(name.startswith(AXES) and types[name] not in arrow_types) or types[name] == "Any" for name in columns]
    buffer, remaining = io.BytesIO(), iter(rows)
    with parquet.ParquetWriter(buffer, schema) as writer:
        while group := [_as_texts(row.cells(columns), mixed) for row in islice(remaining, ROWS_PER_GROUP)]:
            values = map(pa.array, zip(*group, strict=True), schema.types)
            writer.write_table(pa.table(list(values), schema=schema))
    return buffer.getbuffer()


def _as_texts(cells: Sequence[Any], mixed: Sequence[bool]) -> list[Any]:
    """Cells with JSON texts in the place of nested values, and of all values in ``mixed`` columns."""
    return [
        json.dumps(cell) if of_mixed and cell is not None else as_text(cell)
        for cell, of_mixed in zip(cells, mixed, strict=True)
    ]


def axis_columns(axes: Iterable[Mapping[str, Any] | None]) -> dict[str, list[Any]]:
    """All values of each axis, by the name of its column, from the ``axes`` of rows or of entries of a suite."""
    columns: dict[str, list[Any]] = {}
    for values in axes:
        for axis, value in (values or {}).items():
            columns.setdefault(f"{AXES}{axis}", []).append(value)
    return columns


def _common_type(values: Sequence[Any]) -> str:
    """``int``, ``float`` or ``str`` if all values are of this type; otherwise, and for integers that 64 bits do not
    hold, ``Any``."""
    if any(type(value) is int and not -(2**63) <= value < 2**63 for value in values):
        return "Any"
    kinds = {type(value).__name__ for value in values}
    return "float" if kinds == {"int", "float"} else kinds.pop() if len(kinds) == 1 else "Any"


def as_text(value: Any) -> Any:
    """The value, or its JSON text if it is a dictionary or a list."""
    return to_json(value).decode() if isinstance(value, dict | list) else value
