"""Exports rows and other records as pandas frames, CSV, JSON and parquet."""

from __future__ import annotations

import csv
import io
import json
import marshal
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic_core import to_json

from bfc_bench.store.row import AXES, COLUMNS, Row, nested

if TYPE_CHECKING:
    import pandas as pd


_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
ROWS_PER_GROUP = 10_000
"""Rows in one row group of a parquet file."""


class Record(Protocol):
    """An object that can be written as one line of a table."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values by column name."""


R = TypeVar("R", bound=Record)


class Records(list[R]):
    """A list of records that a notebook shows as a table."""

    def frame(self) -> pd.DataFrame:
        """A pandas frame with one line per record."""
        import pandas as pd

        return pd.DataFrame([record.as_dict() for record in self])

    def __repr__(self) -> str:
        return f"<{len(self)} {type(self[0]).__name__ if self else 'records'}: .frame() makes a table of them>"

    def _repr_html_(self) -> str:
        return str(self.frame()._repr_html_())


class RowList(Records[Row]):
    """A list of rows that a notebook shows as a table."""

    def frame(self) -> pd.DataFrame:
        """A pandas frame as that of ``rows_frame``."""
        return rows_frame(self)


def rows_frame(rows: Iterable[Row]) -> pd.DataFrame:
    """A pandas frame with one line per row, and one column per nested value, for example ``feature_errors.S2``.

    ``rows`` may be an iterator: only their values are kept, by column.
    """
    import pandas as pd

    columns: dict[str, list[Any]] = {}
    count = 0
    for row in rows:
        for name, value in _flatten(row.as_dict()).items():
            column = columns.setdefault(name, [])
            column.extend([math.nan] * (count - len(column)))
            column.append(value)
        count += 1
    for column in columns.values():
        column.extend([math.nan] * (count - len(column)))
    return pd.DataFrame(columns)


def _flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """One mapping without nesting, with keys joined by dots; empty mappings are dropped."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def dotted_columns(rows: Iterable[Row], columns: Sequence[str] = COLUMNS) -> dict[str, list[str]]:
    """For each of the columns that has nested values in some row, their names, as in ``rows_frame``.

    The columns ``options`` and ``metrics`` may give ``{"options": ["options.ridge"], "metrics": ["metrics.worst"]}``.
    """
    names: dict[str, dict[str, None]] = {}
    for row in rows:
        for column in columns:
            if isinstance(value := getattr(row, column), Mapping):
                names.setdefault(column, {}).update(dict.fromkeys(_flatten(value, f"{column}.")))
    return {column: list(of_column) for column, of_column in names.items()}


def json_parts(rows: Iterable[Row], columns: Sequence[str] = COLUMNS) -> Iterator[bytes]:
    """Parts of a JSON list with one object per row."""
    separator = "[\n"
    for row in rows:
        yield (separator + json.dumps([{name: row.value(name) for name in columns}], indent=1)[2:-2]).encode()
        separator = ",\n"
    yield b"[]\n" if separator == "[\n" else b"\n]\n"


def csv_parts(rows: Iterable[Row], columns: Sequence[str] = COLUMNS, *, raw: bool = False) -> Iterator[bytes]:
    """Parts of a CSV file with one line per row; lists are JSON texts."""
    cell = as_text if raw else (lambda value: without_formula(as_text(value)))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([cell(row.value(name)) for name in columns])
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    yield text.getvalue().encode()


def without_formula(value: Any) -> Any:
    """A cell of a CSV file; a text that a spreadsheet would take for a formula gets a leading apostrophe.

    These are texts that begin with one of ``= + - @``, tab or a line break and are not numbers
    (https://owasp.org/www-community/attacks/CSV_Injection).
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA_STARTS) or _NUMBER.fullmatch(value):
        return value
    return f"'{value}"


def parquet_bytes(
    rows: Iterable[Row], columns: Sequence[str] = COLUMNS, axes: Mapping[str, Sequence[Any]] | None = None
) -> memoryview:
    """A parquet file of rows, see ``ParquetTable``."""
    table = ParquetTable(columns, axes)
    for row in rows:
        table.add(row.as_dict())
    return table.bytes()


class ParquetTable:
    """Builds a parquet file with one line per row; nested columns hold JSON texts, and missing numbers are null.

    Rows are encoded ``ROWS_PER_GROUP`` at a time, so that a million of them need not be in memory at once.

    Args:
        columns: Names of the columns, ``axes.NAME`` for an axis.
        axes: All values of each axis, and of each nested column, by its name. If some are not numbers, the column holds
            texts.
    """

    def __init__(self, columns: Sequence[str] = COLUMNS, axes: Mapping[str, Sequence[Any]] | None = None) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        arrow_types = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
        types = {f.name: str(f.type).removesuffix(" | None") for f in fields(Row)}
        types |= {name: _common_type(values) for name, values in (axes or {}).items()}
        self._columns = columns
        self._schema = pa.schema([(name, arrow_types.get(types[name], pa.string())) for name in columns])
        self._texts = {name for name in axes or {} if types[name] not in arrow_types}
        self._nested = [name for name in columns if "." in name and not name.startswith(AXES)]
        self._may_be_nested = [k for k, name in enumerate(columns) if types.get(name) not in arrow_types]
        self._buffer = io.BytesIO()
        self._writer = parquet.ParquetWriter(self._buffer, self._schema)
        self._group: list[list[Any]] = []
        self._option_texts: dict[bytes, str] = {}
        """JSON texts of the few distinct options."""

    def add(self, values: Mapping[str, Any]) -> None:
        """Add the columns of a row; missing ones get their defaults."""
        key = marshal.dumps(values["options"], 2)
        if key not in self._option_texts:
            self._option_texts[key] = as_text(values["options"])
        line = {**_DEFAULTS, **values, "options": self._option_texts[key]}
        for axis, value in (values.get("axes") or {}).items():
            name = f"{AXES}{axis}"
            line[name] = json.dumps(value) if name in self._texts else value
        for name in self._nested:
            column, _, path = name.partition(".")
            line[name] = nested(values.get(column), path)
        texts = list(map(line.get, self._columns))
        for place in self._may_be_nested:
            texts[place] = as_text(texts[place])
        self._group.append(texts)
        if len(self._group) == ROWS_PER_GROUP:
            self._write()

    def bytes(self) -> memoryview:
        """The finished file; no row can be added afterwards."""
        self._write()
        self._writer.close()
        return self._buffer.getbuffer()

    def _write(self) -> None:
        import pyarrow as pa

        if self._group:
            columns = map(pa.array, zip(*self._group, strict=True), self._schema.types)
            self._writer.write_table(pa.table(list(columns), schema=self._schema))
            self._group = []


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
    if not isinstance(value, dict | list):
        return value
    return to_json(value).decode()


_DEFAULTS: Mapping[str, Any] = {
    f.name: {} if f.default_factory is not MISSING else f.default
    for f in fields(Row)
    if f.default is not MISSING or f.default_factory is not MISSING
}
