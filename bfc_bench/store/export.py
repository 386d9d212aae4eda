"""Rows and other records as tables for other programs: pandas, CSV, JSON, parquet."""

from __future__ import annotations

import csv
import io
import json
import marshal
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from bfc_bench.store.row import COLUMNS, Row

if TYPE_CHECKING:
    import pandas as pd


ROWS_PER_GROUP = 10_000


class Record(Protocol):
    """Whatever can say itself as one flat record."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values by column."""


R = TypeVar("R", bound=Record)


class Records(list[R]):
    """A list of records that a notebook shows as a table."""

    def frame(self) -> pd.DataFrame:
        """One line per record, as pandas has it."""
        import pandas as pd

        return pd.DataFrame([record.as_dict() for record in self])

    def _repr_html_(self) -> str:
        return str(self.frame()._repr_html_())


def rows_frame(rows: Iterable[Row]) -> pd.DataFrame:
    """One line per row. What is nested has a column of its own per entry, ``feature_errors.S2`` for example.

    Values are kept by column while rows pass: a million of them need not be there at once.
    """
    import pandas as pd

    columns: dict[str, list[Any]] = {}
    count = 0
    for row in rows:
        for name, value in _spread(row.as_dict()).items():
            column = columns.setdefault(name, [])
            column.extend([math.nan] * (count - len(column)))
            column.append(value)
        count += 1
    for column in columns.values():
        column.extend([math.nan] * (count - len(column)))
    return pd.DataFrame(columns)


def _spread(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one, keys joined by dots; an empty one takes no column."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= _spread(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def json_parts(rows: Iterable[Row], columns: Sequence[str] = COLUMNS) -> Iterator[bytes]:
    """A JSON list with one object per row, which has ``columns``."""
    between = "[\n"
    for row in rows:
        yield (between + json.dumps([{name: getattr(row, name) for name in columns}], indent=1)[2:-2]).encode()
        between = ",\n"
    yield b"[]\n" if between == "[\n" else b"\n]\n"


def csv_parts(rows: Iterable[Row], columns: Sequence[str] = COLUMNS) -> Iterator[bytes]:
    """One line per row, which has ``columns``; nested ones hold JSON texts."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([as_text(getattr(row, name)) for name in columns])
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    yield text.getvalue().encode()


def parquet_bytes(rows: Iterable[Row], columns: Sequence[str] = COLUMNS) -> memoryview:
    """The ``ParquetTable`` of rows."""
    table = ParquetTable(columns)
    for row in rows:
        table.add(row.as_dict())
    return table.bytes()


class ParquetTable:
    """A parquet file with one line per row, which has ``columns``; nested ones hold JSON texts, and numbers that are
    missing are null.

    Rows are written ``ROWS_PER_GROUP`` at a time: a million of them need not be there at once.
    """

    def __init__(self, columns: Sequence[str] = COLUMNS) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        kinds = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
        named = {f.name: str(f.type).removesuffix(" | None") for f in fields(Row)}
        self._columns = columns
        self._schema = pa.schema([(name, kinds.get(named[name], pa.string())) for name in columns])
        self._buffer = io.BytesIO()
        self._writer = parquet.ParquetWriter(self._buffer, self._schema)
        self._group: list[list[Any]] = []
        self._options: dict[bytes, str] = {}

    def add(self, values: Mapping[str, Any]) -> None:
        """One more line: the columns of a row, those that it lacks with their defaults."""
        key = marshal.dumps(values["options"], 2)
        if key not in self._options:  # few are distinct
            self._options[key] = as_text(values["options"])
        line = {**_DEFAULTS, **values, "options": self._options[key]}
        self._group.append([as_text(line[name]) for name in self._columns])
        if len(self._group) == ROWS_PER_GROUP:
            self._write()

    def bytes(self) -> memoryview:
        """The file; nothing can be added then."""
        self._write()
        self._writer.close()
        return self._buffer.getbuffer()

    def _write(self) -> None:
        import pyarrow as pa

        if self._group:
            columns = map(pa.array, zip(*self._group, strict=True), self._schema.types)
            self._writer.write_table(pa.table(list(columns), schema=self._schema))
            self._group = []


def as_text(value: Any) -> Any:
    """What is nested as a JSON text."""
    return (json.dumps(value) if value else "{}") if isinstance(value, dict) else value


_DEFAULTS: Mapping[str, Any] = {
    f.name: {} if f.default_factory is not MISSING else f.default
    for f in fields(Row)
    if f.default is not MISSING or f.default_factory is not MISSING
}
