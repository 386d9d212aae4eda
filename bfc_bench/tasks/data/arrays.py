"""Saves arrays and frames of a Python session to a file, so that other processes can read them."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np

from bfc_bench.errors import UsageError
from bfc_bench.tasks.data.classes import are_classes, class_numbers, names
from bfc_bench.tasks.data.columns import ColumnOptions, Part, encode, labels, levels_text
from bfc_bench.tasks.data.python_tables import x_and_y
from bfc_bench.utils.files import cache_folder, make_folder, write_file

PLAIN = ColumnOptions()


def save_arrays(
    x: Any,
    y: Any,
    x_test: Any = None,
    y_test: Any = None,
    *,
    classes: bool | None = None,
    options: ColumnOptions = PLAIN,
    folder: Path | None = None,
) -> Path:
    """Write a ``.npz`` file for the kind ``npz``, named by its content, and return its path.

    Args:
        x: Inputs (N, d), or images (N, height, width) or (N, channels, height, width), or a table with named columns.
        y: Target (N,), or the name of a column of x; None if the items of x are pairs. Text, booleans and categories
            are classes.
        x_test: Inputs of a test part.
        y_test: Target of the test part.
        classes: Whether numbers in y are classes.
        options: What becomes of text, dates and missing values in a table.
        folder: Folder of the file; None: in the cache.

    Raises:
        UsageError: Nothing can be learned from the arrays.
    """
    if (x_test is None) != (y_test is None) and y is not None and not isinstance(y, str):
        raise UsageError("x_test and y_test go together; one is missing.")
    x, y = x_and_y(x, y)
    if x_test is not None:
        x_test, y_test = x_and_y(x_test, y_test if y_test is not None else getattr(y, "name", None), "x_test")
    arrays = _inputs(x, x_test, options)
    values, known = labels(_series(y, "y"), "y", _in("y"), classes)
    is_class = len(values) > 0 and are_classes(values, classes, "y")
    if is_class:
        values, known = class_numbers(values, "y", known)
        arrays["classes"] = np.array(names(known))
    arrays["y"] = values
    if x_test is not None:
        tested, _ = labels(_series(y_test, "y_test"), "y_test", _in("y_test"), classes)
        arrays["y_test"] = class_numbers(tested, "y_test", known)[0] if is_class else tested
    order = [key for key in ("x", "classes", "y", "columns", "x_test", "y_test") if key in arrays]
    stream = io.BytesIO()
    np.savez(stream, **{key: arrays[key] for key in dict.fromkeys([*order, *arrays])})  # type: ignore[arg-type]
    folder = cache_folder() / "arrays" if folder is None else folder
    make_folder(folder)
    path = folder.resolve() / f"{hashlib.blake2b(stream.getbuffer(), digest_size=16).hexdigest()}.npz"
    write_file(path, stream.getbuffer())
    return path


def _in(name: str) -> Any:
    """A function that locates rows of an argument for messages."""
    return lambda row, column: f"{name}: row {row}, column {column!r}"


def _inputs(x: Any, x_test: Any, options: ColumnOptions) -> dict[str, np.ndarray]:
    """Arrays of the inputs: x and x_test, and names, levels and split of a table's columns."""
    if not hasattr(x, "columns"):
        if options.changed():
            raise UsageError(f"{min(options.changed())} needs a table with named columns. Got {type(x).__name__}.")
        given = {"x": x} | ({} if x_test is None else {"x_test": x_test})
        return {name: _numbers(array, name) for name, array in given.items()}
    columns = [str(name) for name in x.columns]
    parts = [Part(_text_names(x), _in("x"), "x")]
    if x_test is not None:
        if not hasattr(x_test, "columns"):
            raise UsageError("x_test must have the columns of x; it has none.")
        tested = [str(name) for name in x_test.columns]
        if missing := [name for name in columns if name not in tested]:
            raise UsageError(f"x_test must have the columns of x; there is no {missing[0]!r}.")
        parts.append(Part(_text_names(x_test), _in("x_test"), "x_test"))
        if options.split:
            raise UsageError("split and x_test both say what is tested on; leave out one of the two.")
    if options.split:
        columns = [name for name in columns if name != options.split.column]
    encoded = encode(parts, columns, options)
    arrays = {"x": encoded.parts[0].x, "columns": np.array(columns)}
    if x_test is not None:
        arrays["x_test"] = encoded.parts[1].x
    if any(column.levels for column in encoded.columns):
        arrays["levels"] = np.array(levels_text(encoded.columns))
    if options.split and encoded.parts[0].split is not None:
        arrays["groups" if options.split.group else "times"] = encoded.parts[0].split
    return arrays


def _text_names(frame: Any) -> Any:
    """The frame with names that are texts."""
    return frame if all(isinstance(name, str) for name in frame.columns) else frame.rename(columns=str)


def _numbers(x: Any, name: str) -> np.ndarray:
    array = np.asarray(x)
    if array.dtype.kind not in "fiub":
        raise UsageError(f"{name} must be an array of numbers or a frame. Got dtype {array.dtype}.")
    return array


def _series(y: Any, name: str) -> Any:
    import pandas as pd

    if isinstance(y, pd.Series):
        return y
    if isinstance(y, pd.Categorical):
        return pd.Series(y)
    array = np.asarray(y)
    if array.ndim != 1:
        raise UsageError(f"{name} must have shape (N,). Got {array.shape}.")
    return pd.Series(array)
