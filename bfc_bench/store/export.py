"""Rows and other records as tables for other programs: pandas, CSV, JSON, parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import islice
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
    """One line per row. What is nested has a column of its own per entry, ``feature_errors.S2`` for example."""
    import pandas as pd

    return pd.DataFrame([_spread(row.as_dict()) for row in rows])


def _spread(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one, keys joined by dots; an empty one takes no column."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= _spread(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def json_bytes(rows: Sequence[Row]) -> bytes:
    """A JSON list with one object per row."""
    return (json.dumps([row.as_dict() for row in rows], indent=1) + "\n").encode()


def csv_bytes(rows: Sequence[Row]) -> bytes:
    """One line per row; nested columns hold JSON texts."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(_as_texts, rows))
    return text.getvalue().encode()


def parquet_bytes(rows: Iterable[Row]) -> memoryview:
    """A parquet file with one line per row; nested columns hold JSON texts, and numbers that are missing are null.

    Rows are taken ``ROWS_PER_GROUP`` at a time: a million of them need not be there at once.
    """
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
    named = {f.name: str(f.type).removesuffix(" | None") for f in fields(Row)}
    schema = pa.schema([(name, kinds.get(kind, pa.string())) for name, kind in named.items()])
    buffer, left = io.BytesIO(), iter(rows)
    with parquet.ParquetWriter(buffer, schema) as writer:
        while group := list(map(_as_texts, islice(left, ROWS_PER_GROUP))):
            writer.write_table(pa.Table.from_pylist(group, schema))
    return buffer.getbuffer()


def _as_texts(row: Row) -> dict[str, Any]:
    """Nested values as JSON texts, for formats of plain columns."""
    return {k: json.dumps(v) if isinstance(v, dict) else v for k, v in row.as_dict().items()}
