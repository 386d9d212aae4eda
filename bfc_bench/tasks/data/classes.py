"""Converts labels of a data set to numbers of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bfc_bench.errors import UsageError


def are_classes(labels: np.ndarray, classes: bool | None, where: str) -> bool:
    """Whether labels are classes: text and booleans by default, numbers only if ``classes`` is true.

    Args:
        labels: Labels, (N,).
        classes: What the user said, or None.
        where: Start of error messages.

    Raises:
        UsageError: ``classes`` is false, but labels are text.
    """
    if labels.dtype.kind in "fiu":
        return bool(classes)
    if classes is False and labels.dtype.kind != "b":
        raise UsageError(f"{where} must hold numbers, since classes = false. Got {labels[0]!s}.")
    return classes is not False


def class_numbers(labels: np.ndarray, where: str, known: Sequence[Any] = ()) -> tuple[np.ndarray, list[Any]]:
    """Class numbers (N,) of labels, and the classes in order.

    Args:
        labels: Labels, (N,).
        where: Start of error messages.
        known: The classes in order; by default the sorted labels.

    Raises:
        UsageError: A label is not among the known classes.
    """
    distinct, numbers = np.unique(labels, return_inverse=True)
    if not len(known):
        return numbers, distinct.tolist()
    if new := [item for item in distinct.tolist() if item not in known]:
        raise UsageError(f"{where}: the class {new[0]!r} of the test part is not among those of the training part.")
    number_of = np.array([list(known).index(item) for item in distinct.tolist()])
    return number_of[numbers], list(known)


def names(classes: Sequence[Any]) -> tuple[str, ...]:
    """Names of classes; whole numbers are written without a decimal point."""
    return tuple(str(int(item)) if isinstance(item, float) and item.is_integer() else str(item) for item in classes)
