"""The door between a learner and the run: what comes through it is a row or a plain failure, and nothing else.

Behind it a learner may raise what it likes, ``SystemExit`` included, and may say what it likes. A worker sends bytes: a
line of JSON per row, checked against the row's schema there and again by the session, which never unpickles anything
that a learner's process made.
"""

from __future__ import annotations

import traceback
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from pydantic_core import from_json, to_json

from bfc_bench.errors import Diverged, describe_error, error_text, is_ctrl_c
from bfc_bench.learner import Failure
from bfc_bench.run.memory_limits import is_out_of_memory
from bfc_bench.run.work_units import Batch
from bfc_bench.store.artifacts import checked as checked_artifacts
from bfc_bench.store.artifacts import digests
from bfc_bench.store.row import Row, checked
from bfc_bench.utils.escape_control import visible
from bfc_bench.utils.plain_json import plain_json

T = TypeVar("T")

TRACEBACK = 50_000
"""Characters that are kept of a traceback."""
ROW_BYTES = 2_000_000
"""The largest row, as JSON."""


class FinishedCell(NamedTuple):
    """A cell that has ended."""

    row: Row
    traceback: str = ""
    artifacts: Mapping[str, bytes] = MappingProxyType({})
    """Files by name; the row has their digests."""


@dataclass(frozen=True)
class BatchReport:
    """What a worker says of a batch."""

    finished: list[FinishedCell]
    precision: dict[str, Any]
    """Versions and precision settings of the numerical libraries that the worker has loaded."""


def attempt(call: Callable[[], T]) -> T | Failure:
    """The result of ``call``, or a Failure for whatever it raised that is not Ctrl-C."""
    try:
        return call()
    except Diverged as error:
        return Failure("diverged", error_text(error) or "training diverged", _traceback(error))
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        return Failure(
            "out-of-memory" if is_out_of_memory(error) else "failed", describe_error(error), _traceback(error)
        )


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))
    except Exception:  # nothing that is shown of an exception may be the next fault
        return ""


def pack(row: Row, trace: str, artifacts: Mapping[str, bytes] = MappingProxyType({})) -> bytes:
    """A row, its traceback and its artifacts as a line of JSON. Raises ``ValueError`` for a row that does not fit the
    schema.
    """
    # Numbers are the schema's to check; most other columns of most rows are empty.
    values = {k: plain_json(v) if v and isinstance(v, (str, dict, list)) else v for k, v in row.as_dict().items()}
    checked(values)
    packed = to_json([values, visible(trace, TRACEBACK)])
    if len(packed) > ROW_BYTES:
        raise ValueError(f"a row must take at most {ROW_BYTES / 1e6:g} MB. Got {len(packed) / 1e6:.3g} MB")
    files = to_json({name: b64encode(content).decode() for name, content in artifacts.items()})
    return b"%b,%b]" % (packed[:-1], files)


def send(rows: Iterable[bytes], precision: dict[str, Any]) -> bytes:
    """What a worker sends of a batch: a line of JSON on its libraries, then a packed row a line."""
    return b"\n".join([to_json(plain_json(precision)), *rows])


def receive(batch: Batch, sent: object) -> BatchReport:
    """What a worker sent of ``batch``. Raises ``ValueError`` where that is not one row for each of its cells."""
    if not isinstance(sent, bytes):
        raise ValueError(f"a worker must send bytes. Got {type(sent).__name__}")
    first, *lines = sent.split(b"\n")
    finished = [_finished(*_read(line)) for line in lines]
    asked = {(cell.id, cell.task, cell.label, cell.d, cell.n, cell.replicate) for cell in batch.cells}
    got = [(row.cell, row.task, row.label, row.d, row.n, row.replicate) for row, *_ in finished]
    if len(got) != len(asked) or set(got) != asked:
        raise ValueError(f"a batch must end in one row for each of its {len(asked)} cells. Got {len(got)} rows")
    return BatchReport(finished, dict(_read(first)))


def _finished(values: Mapping[str, Any], trace: object, files: Mapping[str, str]) -> FinishedCell:
    row, artifacts = Row.checked(values), checked_artifacts({name: b64decode(text) for name, text in files.items()})
    if row.artifacts != digests(artifacts):
        raise ValueError(f"the files sent must be those that the row names. Got {sorted(artifacts)}")
    return FinishedCell(row, str(trace), artifacts)


def _read(line: bytes) -> Any:
    return from_json(line, allow_inf_nan=False)
