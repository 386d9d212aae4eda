"""Labels of a data set as numbers of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bfc_bench.errors import UsageError


def are_classes(labels: np.ndarray, classes: bool | None, where: str) -> bool:
    """Whether labels (N,) are classes: text and truth values unless ``classes`` says no, numbers where it says yes.

    Raises ``UsageError`` for text that is not to be classes.
    """
    if labels.dtype.kind in "fiu":
        return bool(classes)
    if classes is False and labels.dtype.kind != "b":
        raise UsageError(f"{where} must hold numbers, since classes = false. Got {labels[0]!s}.")
    return classes is not False


def numbered(labels: np.ndarray, where: str, known: Sequence[Any] = ()) -> tuple[np.ndarray, list[Any]]:
    """Numbers (N,) of the classes of labels (N,), and the classes in order, or as they are ``known``.

    Raises ``UsageError`` for a class that is not known, where some are.
    """
    found, numbers = np.unique(labels, return_inverse=True)
    if not len(known):
        return numbers, found.tolist()
    if new := [item for item in found.tolist() if item not in known]:
        raise UsageError(f"{where}: the class {new[0]!r} of the test part is not among those of the training part.")
    places = np.array([list(known).index(item) for item in found.tolist()])
    return places[numbers], list(known)


def names(classes: Sequence[Any]) -> tuple[str, ...]:
    """What classes are called: whole numbers without a point."""
    return tuple(str(int(item)) if isinstance(item, float) and item.is_integer() else str(item) for item in classes)
