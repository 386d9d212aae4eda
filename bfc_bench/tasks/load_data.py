"""Reads data sets: checks what they return, makes it read-only and computes its digest."""

import hashlib
import json
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from bfc_bench.errors import UsageError, describe_error
from bfc_bench.tasks.base import DataSet, DataSetContents, Float, LabelledPoints
from bfc_bench.utils.plain_json import canonical_json


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns the error of a file that is missing, truncated or damaged into a ``UsageError`` that names it."""
    try:
        yield
    except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error) as error:
        text = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise UsageError(f"{path} cannot be read: {text}.") from None


def read(data: DataSet, where: str) -> DataSetContents:
    """The contents of a data set, read-only. Raises ``UsageError`` that starts with ``where``."""
    try:
        contents = data.load()
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None
    except Exception as error:
        raise UsageError(f"{where}: load raised {describe_error(error)}.") from error
    path = getattr(data, "path", None)
    return _checked(contents, f"{where} ({path})" if path else where)


@lru_cache(maxsize=4)
def read_planned(kind: type[DataSet], options: str, where: str, digest: str) -> DataSetContents:
    """The contents of a data set that a run was planned with, cached for processes that fit many cells.

    Raises ``UsageError`` if their digest is another one now.
    """
    contents = read(kind.parse(json.loads(options), where), where)
    if digest_of(contents) != digest:
        raise UsageError(
            f"{where}: the data have changed since the run was planned. Start the run again: "
            "cells on other data are other cells."
        )
    return contents


def _checked(contents: DataSetContents, where: str) -> DataSetContents:
    """The contents, read-only. Raises ``UsageError`` if learners cannot be given them."""
    if not isinstance(contents, DataSetContents):
        raise UsageError(f"{where}: load must return DataSetContents. Got {type(contents).__name__}.")
    points = _checked_points(contents.points, "", contents, where)
    test = contents.test and _checked_points(contents.test, "test ", contents, where)
    width = points.x.shape[1]
    if test and test.x.shape[1] != width:
        raise UsageError(f"{where}: x has {width} columns and test x has {test.x.shape[1]}; both need the same.")
    if contents.shape and (len(contents.shape) != 3 or np.prod(contents.shape) != width):
        expected = f"(channels, height, width) of the {width} columns"
        raise UsageError(f"{where}: shape must be {expected}. Got {contents.shape}.")
    for name in ("groups", "times"):
        keys = getattr(contents, name)
        if keys is not None and (np.shape(keys) != (len(points),) or not np.isfinite(keys).all() or test):
            raise UsageError(
                f"{where}: {name} must be a finite number for each of the points, and there is no test part."
            )
    if contents.groups is not None and len(np.unique(contents.groups)) < 2:
        raise UsageError(f"{where}: all rows are of one group; split by group needs 2 or more.")
    if np.ptp(points.y.astype(float)) == 0:
        raise UsageError(f"{where}: all values to be learned are {points.y[0]:g}; there is nothing to learn.")
    return replace(contents, points=points, test=test)


def _checked_points(points: LabelledPoints, prefix: str, contents: DataSetContents, where: str) -> LabelledPoints:
    """Points, read-only. Raises ``UsageError`` if they are not finite, too few, or of unknown classes."""
    x, y = np.asarray(points.x), np.asarray(points.y)
    if x.ndim != 2 or y.shape != x.shape[:1] or len(x) < 2 or not x.shape[1]:
        raise UsageError(
            f"{where}: {prefix}x must have shape (N, d) and {prefix}y shape (N,), N >= 2. Got {x.shape} and {y.shape}."
        )
    for name, array in ((f"{prefix}x", x), (f"{prefix}y", y)):
        if array.dtype.kind not in "fiub":
            raise UsageError(f"{where}: {name} must hold numbers. Got dtype {array.dtype}.")
        may_have_gaps = name.endswith("x") and contents.table is not None
        if (wrong := np.argwhere(np.isinf(array) if may_have_gaps else ~np.isfinite(array))).size:
            row, *column = wrong[0].tolist()
            at = f"row {row}" + "".join(f", column {(contents.columns or range(x.shape[1]))[i]!r}" for i in column)
            raise UsageError(
                f"{where}: {name} must be finite. Got {array[(row, *column)]} in {at}. "
                "Leave such points out, or fill them in before."
            )
    if contents.classes:
        if np.any((y < 0) | (y >= len(contents.classes)) | (y != y.astype(int))):
            raise UsageError(f"{where}: {prefix}y must hold numbers of classes, 0 ... {len(contents.classes) - 1}.")
        counts = np.bincount(y.astype(int), minlength=len(contents.classes))
        few = [f"{name!r} has {count}" for name, count in zip(contents.classes, counts, strict=True) if count < 2]
        if few and not prefix:
            raise UsageError(f"{where}: each class needs 2 points or more; {', '.join(few[:5])}.")
    return LabelledPoints(frozen(x), frozen(y))


def digest_of(contents: DataSetContents) -> str:
    """A digest that depends on the contents alone."""
    hashed = hashlib.blake2b(digest_size=16)
    hashed.update(canonical_json([list(contents.classes), list(contents.shape), contents.divisor]).encode())
    if contents.table:
        columns = [[column.name, list(column.levels)] for column in contents.table.columns]
        hashed.update(canonical_json(columns).encode())
    for name in ("groups", "times"):
        if (keys := getattr(contents, name)) is not None:
            hashed.update(name.encode() + np.ascontiguousarray(keys, float).tobytes())
    for part in filter(None, (contents.points, contents.test)):
        for array in (part.x, part.y):
            hashed.update(canonical_json([array.dtype.str, list(array.shape)]).encode())
            hashed.update(np.ascontiguousarray(array).data)
    return hashed.hexdigest()


def frozen(array: Float) -> Float:
    """A read-only view."""
    view = np.asarray(array).view()
    view.setflags(write=False)
    return view
