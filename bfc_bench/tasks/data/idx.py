"""Reads IDX files, the format of MNIST."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import numpy as np

from bfc_bench.errors import UsageError

TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
"""NumPy types by the third byte of a file. LeCun, Cortes and Burges, *The MNIST database*."""


def read_idx(path: Path) -> np.ndarray:
    """The array in an IDX file, which may be compressed by gzip. Raises ``UsageError`` that names the file."""
    content = _bytes(path)
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in TYPES:
        raise UsageError(f"{path}: an IDX file must begin with 0, 0 and a type's number. Got {content[:4].hex(' ')}.")
    dtype, start = np.dtype(TYPES[content[2]]), 4 + 4 * content[3]
    shape = tuple(int.from_bytes(content[at : at + 4]) for at in range(4, start, 4))
    size = start + dtype.itemsize * int(np.prod(shape, dtype=object))
    if len(content) != size:
        what = "truncated" if len(content) < size else "too long"
        sides = " x ".join(map(str, shape))
        raise UsageError(f"{path} is {what}: {sides} values take {size:,} bytes. Got {len(content):,}.")
    array = np.frombuffer(content, dtype, offset=start).reshape(shape)
    return array.astype(dtype.newbyteorder("="))


def _bytes(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{path} is truncated or damaged: {error}.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from None
