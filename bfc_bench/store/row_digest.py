"""The digest of a stored row, by which readers notice a row that was changed after it was written.

It finds damage by disks and copies, and rows that were edited by hand. It contains no secret, so it does not prove who
wrote a row: a program that changes a row can compute its digest too.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

DIGESTED = ("cell", "task_digest", "learner_digest", "row", "traceback")
"""Columns of the table ``rows`` with the whole content of a row. The other columns repeat values of its JSON."""


def row_digest(values: Sequence[Any]) -> bytes:
    """Eight bytes of BLAKE2b (RFC 7693) over the columns ``DIGESTED`` of a row."""
    cell, task_digest, learner_digest, row, traceback = values
    text = f"{cell}\n{task_digest}\n{learner_digest}\n{row}\n{traceback}"
    return blake2b(text.encode(), digest_size=8).digest()
