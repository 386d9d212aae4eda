"""Turns tables of other libraries into pandas frames or arrays, without importing those libraries.

Known are pandas frames, dicts of columns, objects with ``to_pandas()`` such as frames of Polars and data sets of
Hugging Face, and torch data sets, whose items are pairs (x, y).
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bfc_bench.errors import UsageError, suggest


def x_and_y(x: Any, y: Any, name: str = "x") -> tuple[Any, Any]:
    """Inputs as a pandas frame or as they are, and the target as it is or as a pandas series.

    Args:
        x: Inputs, with a column of the target if ``y`` is its name, or a torch data set if ``y`` is None.
        y: Target (N,), the name of a column of x, or None for a torch data set.
        name: Name of the argument, for error messages.

    Raises:
        UsageError: There is no column of this name, lengths differ, or x has no target.
    """
    table = as_frame(x, name)
    if y is None:
        if table is not None or not (hasattr(x, "__len__") and hasattr(x, "__getitem__")):
            raise UsageError(f"y is missing: give the target (N,), or the name of a column of {name}.")
        return _pairs(x, name)
    if isinstance(y, str):
        if table is None:
            raise UsageError(f"y = {y!r} names a column, but {name} is {type(x).__name__}, which has no named columns.")
        if y not in table:
            raise UsageError(f"{name} has no column {y!r} for the target.{suggest(y, table)}")
        return _inputs(table.drop(columns=y), name), table[y]
    if table is None:
        return x, y
    if not hasattr(y, "__len__"):
        raise UsageError(f"y must be the target (N,), or the name of a column of {name} as a text. Got {y!r}.")
    if len(table) != len(y):
        raise UsageError(f"{name} has {len(table)} rows and its target {len(y)}; both need the same number.")
    return _inputs(table, name), y


def as_frame(x: Any, name: str) -> Any:
    """A pandas frame with the columns of x; None if x has no named columns. Raises ``UsageError`` for an odd table."""
    import pandas as pd

    if isinstance(x, Mapping):
        if splits := [key for key, part in x.items() if hasattr(part, "column_names")]:
            raise UsageError(
                f"{name} has the parts {', '.join(map(repr, splits))}; give one of them, such as x[{splits[0]!r}]."
            )
        try:
            x = pd.DataFrame({column: list(values) for column, values in x.items()})
        except ValueError as error:
            raise UsageError(f"{name}: {error}.") from None
    elif hasattr(x, "to_pandas"):
        x = x.to_pandas()
    if not isinstance(x, pd.DataFrame):
        return None
    names = x.columns.astype(str)
    if (twice := names[names.duplicated()]).size:
        raise UsageError(f"{name}: two columns are named {twice[0]!r}. Give each column a name of its own.")
    return x.set_axis(names, axis="columns")


def _inputs(table: Any, name: str) -> Any:
    """A frame; the array of its only column if that holds arrays, such as images."""
    if len(table.columns) == 1 and len(table):
        column = table.iloc[:, 0]
        if isinstance(column.iloc[0], Mapping):  # such as files of images
            raise UsageError(f"{name}: column {column.name!r} holds dicts. Give images as an array of numbers.")
        if isinstance(column.iloc[0], np.ndarray | list | tuple):
            return _stacked(column, name)
    return table


def _stacked(items: Iterable[Any], name: str) -> np.ndarray:
    """The array of arrays of one shape."""
    arrays = [np.asarray(item) for item in items]
    if len(shapes := {array.shape for array in arrays}) > 1:
        raise UsageError(f"{name}: all items must have one shape. Got {sorted(map(str, shapes))[:3]}.")
    return np.stack(arrays)


def _pairs(dataset: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """x and y of a data set whose items are pairs, as torch's are."""
    items = [dataset[i] for i in range(len(dataset))]
    if not items or any(not isinstance(item, tuple | list) or len(item) != 2 for item in items):
        raise UsageError(f"{name}: without y, its items must be pairs (x, y), as those of a torch data set are.")
    x, labels = (_stacked([item[side] for item in items], name) for side in (0, 1))
    if labels[0].size != 1:
        raise UsageError(f"{name}: the y of an item must be one value. Got the shape {labels[0].shape}.")
    return (x[:, None] if x.ndim == 1 else x), np.array([label.item() for label in labels])
