"""The format in which workers send rows: a line of JSON per row, checked against the schema of rows.

Worker and session both check it, and the session never unpickles what a worker sends.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from pydantic_core import from_json, to_json

from bfc_bench.run.work_units import Batch
from bfc_bench.store.artifacts import checked_files, digests
from bfc_bench.store.row import ROW_BYTES, Row, checked
from bfc_bench.utils.escape_control import visible
from bfc_bench.utils.plain_json import plain_json

TRACEBACK = 50_000
"""Length to which a traceback is shortened, in characters."""


FinishedCell: TypeAlias = tuple[Row, str, Mapping[str, bytes]]
"""The row of a cell that has ended, its traceback, and its artifacts by name, whose digests the row has."""


def pack(row: Row, trace: str, artifacts: Mapping[str, bytes] = MappingProxyType({})) -> bytes:
    """A row as a line of JSON."""
    # For speed: the schema checks numbers, and most other columns are empty.
    values = {k: plain_json(v) if v and isinstance(v, (str, dict, list)) else v for k, v in row.as_dict().items()}
    checked(values)
    packed = to_json([values, visible(trace, TRACEBACK)])
    if len(packed) > ROW_BYTES:
        raise ValueError(f"a row must take at most {ROW_BYTES / 1e6:g} MB. Got {len(packed) / 1e6:.3g} MB")
    files = to_json({name: b64encode(content).decode() for name, content in artifacts.items()})
    return b"%b,%b]" % (packed[:-1], files)


def send(rows: Iterable[bytes], precision: dict[str, Any]) -> bytes:
    """What a worker sends for a batch: a line of JSON on its libraries, then the packed rows."""
    return b"\n".join([to_json(plain_json(precision)), *rows])


def receive(batch: Batch, sent: object) -> tuple[list[FinishedCell], dict[str, Any]]:
    """Read what a worker sent for a batch: its cells, and versions and precision of its numerical libraries.

    Raises ``ValueError`` unless it is one valid row per cell.
    """
    if not isinstance(sent, bytes):
        raise ValueError(f"a worker must send bytes. Got {type(sent).__name__}")
    first, *lines = sent.split(b"\n")
    finished = [_finished(*_read(line)) for line in lines]
    expected = {(cell.id, cell.task, cell.label, cell.d, cell.n, cell.replicate) for cell in batch.cells}
    received = [(row.cell, row.task, row.label, row.d, row.n, row.replicate) for row, *_ in finished]
    if len(received) != len(expected) or set(received) != expected:
        raise ValueError(f"a batch must end in one row for each of its {len(expected)} cells. Got {len(received)} rows")
    return finished, dict(_read(first))


def _finished(values: Mapping[str, Any], trace: object, files: Mapping[str, str]) -> FinishedCell:
    row, artifacts = Row(**checked(values)), checked_files({name: b64decode(text) for name, text in files.items()})
    if row.artifacts != digests(artifacts):
        raise ValueError(f"the files sent must be those that the row names. Got {sorted(artifacts)}")
    return row, str(trace), artifacts


def _read(line: bytes) -> Any:
    return from_json(line, allow_inf_nan=False)
