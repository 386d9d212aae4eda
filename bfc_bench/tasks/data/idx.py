"""Reads IDX files, the format of MNIST and similar data sets."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import ClassVar, TypeAlias

import numpy as np

from bfc_bench.errors import UsageError
from bfc_bench.tasks.base import DataSetContents, LabelledPoints
from bfc_bench.tasks.data.classes import class_numbers, names
from bfc_bench.tasks.data.images import ImageSet

TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
"""NumPy types by the third byte of a file. LeCun, Cortes and Burges, *The MNIST database*."""

Part: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Images (N, height, width) or (N, channels, height, width) of bytes, and whole numbers (N,) as labels."""


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


def read_images(images: Path, labels: Path) -> Part:
    """The images and the labels in two files. Raises ``UsageError`` that names one of them."""
    x, y = read_idx(images), read_idx(labels)
    if x.dtype != np.uint8 or x.ndim not in (3, 4):
        raise UsageError(f"{images} must hold images of bytes. Got {x.dtype} of shape {x.shape}.")
    if y.dtype.kind not in "iu" or y.ndim != 1 or len(y) != len(x):
        raise UsageError(f"{labels} must hold a whole number for each of {len(x)} images. Got {y.dtype}, {y.shape}.")
    return x, y


def contents(train: Part, test: Part | None, where: str) -> DataSetContents:
    """The contents of a data set of images.

    Args:
        train: Images and labels to train on.
        test: Images and labels to test on, if there are any.
        where: Start of error messages.

    Raises:
        UsageError: The two parts do not match.
    """
    (x, y), tested = train, None
    numbers, classes = class_numbers(y, where)
    shape = (1, *x.shape[1:]) if x.ndim == 3 else x.shape[1:]
    if test:
        x_test, y_test = test
        if x_test.shape[1:] != x.shape[1:]:
            raise UsageError(f"{where}: images are {x.shape[1:]}, test images {x_test.shape[1:]}; both need the same.")
        tested = LabelledPoints(x_test.reshape(len(x_test), -1), class_numbers(y_test, where, classes)[0])
    return DataSetContents(LabelledPoints(x.reshape(len(x), -1), numbers), tested, names(classes), shape)


class Idx(ImageSet):
    """Images of bytes and their classes in IDX files, which may be compressed by gzip."""

    kind: ClassVar[str] = "idx"
    path: str
    """The file of the images."""
    labels_path: str
    """The file of the images' labels."""
    test_path: str = ""
    """The file of the test images, if there are any."""
    test_labels_path: str = ""
    """The file of the test images' labels."""

    def images(self) -> DataSetContents:
        """The contents of the files."""
        train = read_images(Path(self.path), Path(self.labels_path))
        if bool(self.test_path) != bool(self.test_labels_path):
            raise UsageError("test_path and test_labels_path go together; one is missing.")
        test = read_images(Path(self.test_path), Path(self.test_labels_path)) if self.test_path else None
        return contents(train, test, self.labels_path)
