"""Converts labels of a data set to numbers of classes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bfc_bench.errors import UsageError


def numbered(labels: Mapping[str, np.ndarray], classes: bool | None) -> tuple[list[np.ndarray], tuple[str, ...]]:
    """Labels of the training part, and of a test part, each (N,), as numbers of classes, with the classes' names.

    ``labels`` have where they are from, for messages. Text and booleans are classes by default, numbers only if
    ``classes`` is true; labels that are none stay as they are, and there are no names.
    """
    are = [_are_classes(y, classes, part) for part, y in labels.items()]
    if not any(are):
        return list(labels.values()), ()
    names: list[Any] = np.unique(next(iter(labels.values()))).tolist()
    for part, y in labels.items():
        if not all(are):
            raise UsageError(f"{part}: classes in one of the two parts and numbers in the other.")
        if new := [item for item in np.unique(y).tolist() if item not in names]:
            raise UsageError(f"{part}: the class {new[0]!r} of the test part is not among those of the training part.")
    return [np.searchsorted(names, y) for y in labels.values()], tuple(map(name_of, names))


def name_of(value: Any) -> str:
    """A value as the name of a class or a category; whole numbers are written without a decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _are_classes(labels: np.ndarray, classes: bool | None, where: str) -> bool:
    if classes and labels.dtype.kind == "f" and (gaps := np.flatnonzero(np.isnan(labels))).size:
        raise UsageError(f"{where} must name a class for each point. Got nan in row {gaps[0]}. Leave such points out.")
    if labels.dtype.kind in "fiu":
        return bool(classes)
    if classes is False and labels.dtype.kind != "b":
        raise UsageError(f"{where} must hold numbers, since classes = false. Got {labels[0]!s}.")
    return classes is not False
