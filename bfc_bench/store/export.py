"""Rows and other records as tables for other programs: pandas, CSV, JSON, parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from bfc_bench.store.row import COLUMNS, Row

if TYPE_CHECKING:
    import pandas as pd


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


def parquet_bytes(rows: Sequence[Row]) -> bytes:
    """A parquet file with one line per row; nested columns hold JSON texts."""
    import pandas as pd

    buffer = io.BytesIO()
    pd.DataFrame(map(_as_texts, rows), columns=list(COLUMNS)).to_parquet(buffer, index=False)
    return buffer.getvalue()


def _as_texts(row: Row) -> dict[str, Any]:
    """Nested values as JSON texts, for formats of plain columns."""
    return {k: json.dumps(v) if isinstance(v, dict) else v for k, v in row.as_dict().items()}
