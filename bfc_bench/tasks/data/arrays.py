"""Saves arrays and frames of a Python session to a file, so that other processes can read them."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np

from bfc_bench.errors import UsageError
from bfc_bench.tasks.data.classes import are_classes, class_numbers, names
from bfc_bench.tasks.data.table import RowLocator, labels, numbers
from bfc_bench.utils.files import cache_folder, make_folder, write_file


def save_arrays(
    x: Any, y: Any, x_test: Any = None, y_test: Any = None, *, classes: bool | None = None, folder: Path | None = None
) -> Path:
    """Write a ``.npz`` file for the kind ``npz``, named by its content, and return its path.

    Args:
        x: Inputs (N, d), or images (N, height, width) or (N, channels, height, width), or a frame of numbers.
        y: Target (N,). Text, booleans and categories are classes.
        x_test: Inputs of a test part.
        y_test: Target of the test part.
        classes: Whether numbers in y are classes.
        folder: Folder of the file; None: in the cache.

    Raises:
        UsageError: Nothing can be learned from the arrays.
    """
    if (x_test is None) != (y_test is None):
        raise UsageError("x_test and y_test go together; one is missing.")
    arrays: dict[str, np.ndarray] = {"x": _inputs(x, "x")}
    values, known = labels(_series(y, "y"), "y", RowLocator("y"), classes)
    is_class = len(values) > 0 and are_classes(values, classes, "y")
    if is_class:
        values, known = class_numbers(values, "y", known)
        arrays["classes"] = np.array(names(known))
    arrays["y"] = values
    if hasattr(x, "columns"):
        arrays["columns"] = np.array([str(name) for name in x.columns])
    if x_test is not None:
        arrays["x_test"] = _inputs(x_test, "x_test", getattr(x, "columns", None))
        tested, _ = labels(_series(y_test, "y_test"), "y_test", RowLocator("y_test"), classes)
        arrays["y_test"] = class_numbers(tested, "y_test", known)[0] if is_class else tested
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    folder = cache_folder() / "arrays" if folder is None else folder
    make_folder(folder)
    path = folder.resolve() / f"{hashlib.blake2b(stream.getbuffer(), digest_size=16).hexdigest()}.npz"
    write_file(path, stream.getbuffer())
    return path


def _inputs(x: Any, name: str, columns: Any = None) -> np.ndarray:
    """Inputs as an array of numbers; named columns are put in the order of ``columns``."""
    if not hasattr(x, "columns"):
        array = np.asarray(x)
        if array.dtype.kind not in "fiub":
            raise UsageError(f"{name} must be an array of numbers or a frame. Got dtype {array.dtype}.")
        return array
    wanted = list(x.columns if columns is None else columns)
    if missing := [item for item in wanted if item not in x.columns]:
        raise UsageError(f"{name} must have the columns of x; there is no {missing[0]!r}.")
    return np.column_stack([numbers(x[item], str(item), RowLocator(name)) for item in wanted])


def _series(y: Any, name: str) -> Any:
    import pandas as pd

    if isinstance(y, pd.Series):
        return y
    array = np.asarray(y)
    if array.ndim != 1:
        raise UsageError(f"{name} must have shape (N,). Got {array.shape}.")
    return pd.Series(array)
