"""Saves arrays and frames of a Python session to a file, so that other processes can read them."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from bfc_bench.errors import UsageError
from bfc_bench.tasks.data.columns import ColumnOptions, Part, encode, split_keys, targets
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
    xs, ys = {"x": x}, [_target(y, "y")]
    if x_test is not None:
        x_test, y_test = x_and_y(x_test, y_test if y_test is not None else getattr(y, "name", None), "x_test")
        xs["x_test"] = x_test
        ys.append(_target(y_test, "y_test"))
    arrays = _inputs(xs, options)
    (arrays["y"], *tested), names = targets(ys, "y", classes)
    if tested:
        arrays["y_test"] = tested[0]
    if names:
        arrays["classes"] = np.array(names)
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    folder = cache_folder() / "arrays" if folder is None else folder
    make_folder(folder)
    path = folder.resolve() / f"{hashlib.blake2b(stream.getbuffer(), digest_size=16).hexdigest()}.npz"
    write_file(path, stream.getbuffer())
    return path


def _inputs(xs: dict[str, Any], options: ColumnOptions) -> dict[str, np.ndarray]:
    """Arrays of the inputs x and x_test, and names, levels and split of a table's columns."""
    import pandas as pd

    if not isinstance(xs["x"], pd.DataFrame):
        if options.changed():
            raise UsageError(f"{min(options.changed())} needs a table with named columns; x has none.")
        return {name: _numbers(array, name) for name, array in xs.items()}
    if not all(isinstance(x, pd.DataFrame) for x in xs.values()):
        raise UsageError("x_test must have the columns of x; it has none.")
    if options.split and len(xs) > 1:
        raise UsageError("split and x_test both say what is tested on; leave out one of the two.")
    parts = [Part(x.rename(columns=str), name) for name, x in xs.items()]
    columns = [name for name in parts[0].frame.columns if not options.split or name != options.split.column]
    known, arrays = encode(parts, columns, options)
    found = {**dict(zip(xs, arrays, strict=True)), "columns": np.array(columns)}
    if any(column.levels for column in known):
        found["levels"] = np.array([json.dumps(list(column.levels)) for column in known])
    return found | split_keys(parts[0], options)


def _numbers(x: Any, name: str) -> np.ndarray:
    array = np.asarray(x)
    if array.dtype.kind not in "fiub":
        raise UsageError(f"{name} must be an array of numbers or a frame. Got dtype {array.dtype}.")
    return array


def _target(y: Any, name: str) -> Part:
    import pandas as pd

    if not isinstance(y, pd.Series | pd.Categorical):
        y = np.asarray(y)
        if y.ndim != 1:
            raise UsageError(f"{name} must have shape (N,). Got {y.shape}.")
    return Part(pd.DataFrame({"y": y}), name)
