"""Writes the rows of a suite as parquet, and reads them back bit for bit, with their digests.

A line has the columns of ``Row``, nested ones as JSON texts. ``written`` names the columns that the row's JSON has, in
their order, because a release may lack columns that a later one has. ``json`` is empty unless the row's JSON cannot be
made again from the columns. Tracebacks are left out, because they name folders of the machine.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from bfc_bench.errors import StoreError
from bfc_bench.store.row import ROW_BYTES, Row
from bfc_bench.store.row_digest import row_digest

if TYPE_CHECKING:
    import pyarrow as pa

Record = tuple[Any, ...]
"""A record of a store's table ``rows``."""
_TYPES = {f.name: str(f.type).removesuffix(" | None") for f in fields(Row)}
_OTHER = ("written", "json", "task_digest", "learner_digest")
_DISTINCT = {
    *("cell", "nmse", "nmse_trimmed", "train_nmse", "fit_cpu_seconds", "fit_wall_seconds", "fit_wait_seconds"),
    *("finished_at", "stages", "chosen", "feature_errors", "row_digest", "json"),
}
"""Columns whose values seldom repeat, for which a dictionary would be a waste."""
_LATER = frozenset({"fit_wait_seconds"})
"""Columns that files of earlier versions lack."""
_LEVEL = 19
"""Level of Zstandard, for files that are written once."""
ROWS_PER_GROUP = 10_000
PAGE_BYTES = 8_000_000
MOST_ROWS = 2_000_000
MOST_BYTES = 8_000_000_000
"""Maximum number of rows, and of bytes when they are unpacked, in one file."""
ROWS_PER_BATCH = 256
BATCH_BYTES = 256_000_000
"""Maximum size of the texts of ``ROWS_PER_BATCH`` rows."""
_INT64 = 2**63


def _schema() -> pa.Schema:
    import pyarrow as pa

    known = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
    columns = [(name, known.get(kind, pa.string())) for name, kind in _TYPES.items()]
    return pa.schema([*columns, *((name, pa.string()) for name in _OTHER), ("row_digest", pa.binary(8))])


def rows_to_parquet(records: Iterable[Record]) -> bytes:
    """A parquet file of records of the table ``rows``, in their order."""
    import pyarrow as pa
    from pyarrow import parquet

    schema, buffer, group = _schema(), io.BytesIO(), []
    repeated = [name for name in schema.names if name not in _DISTINCT]
    options = {"compression": "zstd", "compression_level": _LEVEL, "write_statistics": False, "store_schema": False}
    with parquet.ParquetWriter(buffer, schema, use_dictionary=repeated, data_page_size=PAGE_BYTES, **options) as writer:
        for record in records:
            group.append(_line(record))
            if len(group) == ROWS_PER_GROUP:
                writer.write_table(pa.Table.from_pylist(group, schema))
                group = []
        writer.write_table(pa.Table.from_pylist(group, schema))
    return buffer.getvalue()


def _line(record: Record) -> dict[str, Any]:
    cell, task_digest, learner_digest, text = record[0], *record[9:12]
    values = from_json(text)
    line = {name: _column(kind, values.get(name)) for name, kind in _TYPES.items()}
    line |= {"written": ",".join(values), "task_digest": task_digest, "learner_digest": learner_digest}
    line["row_digest"] = row_digest((cell, task_digest, learner_digest, text, ""))
    return line if _text(line) == text else line | {"json": text}


def _column(kind: str, value: Any) -> Any:
    """A value as its column has it; None if the column cannot have it."""
    if isinstance(value, dict):
        return to_json(value).decode()
    if kind == "int":
        return value if type(value) is int and -_INT64 <= value < _INT64 else None
    return value if isinstance(value, float if kind == "float" else str) else None


def _text(line: Mapping[str, Any]) -> str | None:
    """The JSON of a row from its line; None if the line has unknown columns or nested ones that are not JSON."""
    if line.get("json") is not None:
        return str(line["json"])
    names = (line["written"] or "").split(",")
    if not all(name in _TYPES for name in names):
        return None
    nested = {name for name in names if _TYPES[name].startswith("dict") and line[name] is not None}
    try:
        values = {name: from_json(line[name]) if name in nested else line[name] for name in names}
        return to_json(values).decode()
    except ValueError:
        return None


def rows_from_parquet(content: bytes, where: str) -> Iterator[Record | None]:
    """The records in a parquet file, without tracebacks; None for a line that has no record.

    Raises ``StoreError`` for a file that ``rows_to_parquet`` could not have written, or that is too large.

    Args:
        content: The file.
        where: Its name in error messages.
    """
    import pyarrow as pa
    from pyarrow import parquet

    schema = _schema()
    texts = [field.name for field in schema if field.type == pa.string()]
    try:
        metadata = parquet.read_metadata(io.BytesIO(content))
        size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
        if not 0 <= metadata.num_rows <= MOST_ROWS or not 0 <= size <= MOST_BYTES:
            raise StoreError(f"{where} is too large: {metadata.num_rows:,} rows of {size:,} bytes.")
        read = metadata.schema.to_arrow_schema().remove_metadata()
        if read != pa.schema([field for field in schema if field.name in read.names or field.name not in _LATER]):
            raise StoreError(f"{where} has other columns than bfc-bench writes.")
        file = parquet.ParquetFile(io.BytesIO(content), read_dictionary=texts)
        for batch in file.iter_batches(ROWS_PER_BATCH):
            columns = _decoded(batch, where)
            for values in zip(*columns.values(), strict=True):
                yield _record(dict(zip(columns, values, strict=True)))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{where} cannot be read as parquet: {' '.join(str(error).split())[:300]}.") from None


def _decoded(batch: pa.RecordBatch, where: str) -> dict[str, list[Any]]:
    """The columns of a batch. Repeated texts are copied only after their size is known."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns, size = {}, 0
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if isinstance(column, pa.DictionaryArray):
            lengths = pc.take(pc.binary_length(column.dictionary), column.indices)
            size += pc.sum(lengths).as_py() or 0
            if size > BATCH_BYTES:
                raise StoreError(
                    f"{where} is too large: {len(batch)} of its rows have more than {BATCH_BYTES:,} bytes."
                )
            columns[name] = column.dictionary_decode().to_pylist()
        else:
            columns[name] = column.to_pylist()
    return columns


def _record(line: Mapping[str, Any]) -> Record | None:
    text = _text(line)
    try:
        values = None if text is None or len(text) > ROW_BYTES else from_json(text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        return None
    first = ("cell", "suite", "suite_version", "task", "label", "d", "n", "replicate", "status")
    return (
        *map(values.get, first),
        *(line["task_digest"], line["learner_digest"], text, ""),
        *map(values.get, ("release", "device", "learner_version")),
        line["row_digest"],
    )
