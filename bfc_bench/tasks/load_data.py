"""Reads data sets: what they give is checked, made read-only, and named by what it holds."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import lru_cache

import numpy as np

from bfc_bench.errors import UsageError, words
from bfc_bench.tasks.base import DataSet, DataSetContents, Float, LabelledPoints
from bfc_bench.utils.plain_json import canonical_json


def read(data: DataSet, where: str) -> DataSetContents:
    """A data set's contents, arrays read-only. Raises ``UsageError`` that starts with ``where``."""
    try:
        found = data.load()
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None
    except Exception as error:
        raise UsageError(f"{where}: load raised {words(error)}.") from error
    path = getattr(data, "path", None)
    return _checked(found, f"{where} ({path})" if path else where)


@lru_cache(maxsize=4)
def read_expected(kind: type[DataSet], options: str, where: str, digest: str) -> tuple[DataSetContents, str]:
    """A data set's contents and their name, read once by a process that fits many cells.

    Once for each name that is expected: data that have changed are read again.
    """
    found = read(kind.parse(json.loads(options), where), where)
    return found, digest_of(found)


def _checked(found: DataSetContents, where: str) -> DataSetContents:
    """What a data set gave, arrays read-only. Raises ``UsageError`` where it is not what learners can be given."""
    if not isinstance(found, DataSetContents):
        raise UsageError(f"{where}: load must return DataSetContents. Got {type(found).__name__}.")
    points = _checked_points(found.points, "", found, where)
    test = found.test and _checked_points(found.test, "test ", found, where)
    width = points.x.shape[1]
    if test and test.x.shape[1] != width:
        raise UsageError(f"{where}: x has {width} columns and test x has {test.x.shape[1]}; both need the same.")
    if found.shape and (len(found.shape) != 3 or np.prod(found.shape) != width):
        raise UsageError(f"{where}: shape must be (channels, height, width) of the {width} columns. Got {found.shape}.")
    if not found.classes and np.ptp(points.y.astype(float)) == 0:
        raise UsageError(f"{where}: all values to be learned are {points.y[0]:g}; there is nothing to learn.")
    return replace(found, points=points, test=test)


def _checked_points(points: LabelledPoints, prefix: str, found: DataSetContents, where: str) -> LabelledPoints:
    """Points, read-only. Raises ``UsageError`` for numbers that are not finite, too few, or of unknown classes."""
    x, y = np.asarray(points.x), np.asarray(points.y)
    if x.ndim != 2 or y.shape != x.shape[:1] or len(x) < 2 or not x.shape[1]:
        raise UsageError(
            f"{where}: {prefix}x must have shape (N, d) and {prefix}y shape (N,), N >= 2. Got {x.shape} and {y.shape}."
        )
    for name, array in ((f"{prefix}x", x), (f"{prefix}y", y)):
        if array.dtype.kind not in "fiub":
            raise UsageError(f"{where}: {name} must hold numbers. Got dtype {array.dtype}.")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            row, *column = np.argwhere(~np.isfinite(array))[0].tolist()
            named = f", column {found.columns[column[0]]!r}" if column and found.columns else ""
            at = f"row {row}{named or (f', column {column[0]}' if column else '')}"
            raise UsageError(
                f"{where}: {name} must be finite. Got {array[(row, *column)]} in {at}. "
                "Leave such points out, or fill them in before."
            )
    if found.classes:
        counts = np.bincount(y.astype(int).clip(0), minlength=len(found.classes))
        if np.any((y < 0) | (y >= len(found.classes)) | (y != y.astype(int))):
            raise UsageError(f"{where}: {prefix}y must hold numbers of classes, 0 ... {len(found.classes) - 1}.")
        if not prefix and len(found.classes) < 2:
            raise UsageError(f"{where}: there must be 2 classes or more. Got {len(found.classes)}.")
        few = [f"{name!r} has {count}" for name, count in zip(found.classes, counts, strict=True) if count < 2]
        if few and not prefix:
            raise UsageError(f"{where}: each class needs 2 points or more; {', '.join(few[:5])}.")
    return LabelledPoints(frozen(x), frozen(y))


def digest_of(found: DataSetContents) -> str:
    """A name of the contents that depends on nothing else."""
    hashed = hashlib.blake2b(digest_size=16)
    hashed.update(canonical_json([list(found.classes), list(found.shape), found.divisor]).encode())
    for part in filter(None, (found.points, found.test)):
        for array in (part.x, part.y):
            hashed.update(canonical_json([array.dtype.str, list(array.shape)]).encode())
            hashed.update(np.ascontiguousarray(array).data)
    return hashed.hexdigest()


def frozen(array: Float) -> Float:
    """A read-only view."""
    view = np.asarray(array).view()
    view.setflags(write=False)
    return view
