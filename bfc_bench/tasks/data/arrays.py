"""Saves arrays and tables of a Python session to files, so that other processes can read them."""

import hashlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bfc_bench.errors import UsageError, error_text
from bfc_bench.tasks.base import DataSet
from bfc_bench.tasks.data.npz import Npz
from bfc_bench.tasks.data.python_tables import x_and_y
from bfc_bench.tasks.data.table import Table
from bfc_bench.tasks.load_data import read
from bfc_bench.utils.files import cache_folder, make_folder, write_file


def saved(
    x: Any, y: Any, x_test: Any = None, y_test: Any = None, *, options: Mapping[str, Any], folder: Path | None = None
) -> DataSet:
    """A data set of arrays in a ``.npz`` file, or of a table in parquet files, which are named by their content.

    Args:
        x: Inputs (N, d), or images (N, height, width) or (N, channels, height, width), or a table with named columns.
        y: Target (N,), or the name of a column of x; None if the items of x are pairs. Text, booleans and categories
            are classes.
        x_test: Inputs of a test part.
        y_test: Target of the test part.
        options: Options of the kind ``npz``, or ``table``.
        folder: Folder of the files; None: in the cache.

    Raises:
        UsageError: Nothing can be learned from the arrays, or an option is wrong.
    """
    if (x_test is None) != (y_test is None) and y is not None and not isinstance(y, str):
        raise UsageError("x_test and y_test go together; one is missing.")
    folder = cache_folder() / "arrays" if folder is None else folder
    make_folder(folder)
    parts = [x_and_y(x, y)]
    if x_test is not None:
        parts.append(x_and_y(x_test, y if y_test is None else y_test, "x_test"))
    tables = [hasattr(inputs, "columns") for inputs, _ in parts]
    if any(tables) and not all(tables):
        raise UsageError("x and x_test must both have named columns, or neither.")
    target = y if isinstance(y, str) else "y"
    while all(tables) and target in parts[0][0].columns:
        target += "_"
    if options.get("classes") is None and any(_holds_numbers_of_categories(labels) for _, labels in parts):
        options = {**options, "classes": True}
    table = _as_table(parts, target, options, folder) if all(tables) else _as_arrays(parts, options, folder)
    read(table, "data")
    return table


def _holds_numbers_of_categories(y: Any) -> bool:
    """Whether y is categorical with numbers as categories: a file has them as numbers alone."""
    import pandas as pd

    dtype = getattr(y, "dtype", None)
    return isinstance(dtype, pd.CategoricalDtype) and np.array(dtype.categories.tolist()).dtype.kind in "iuf"


def _as_arrays(parts: Sequence[tuple[Any, Any]], options: Mapping[str, Any], folder: Path) -> DataSet:
    names = ("x", "y", "x_test", "y_test")
    arrays = dict(zip(names, [_array(values) for part in parts for values in part], strict=False))
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    return Npz.parse({"path": _written(stream, folder, "npz"), **options}, "data")


def _array(values: Any) -> np.ndarray:
    array = np.asarray(values)
    return np.array(array.tolist()) if array.dtype.kind == "O" else array  # such as texts of a pandas series


def _as_table(parts: Sequence[tuple[Any, Any]], target: str, options: Mapping[str, Any], folder: Path) -> DataSet:
    paths = {}
    for key, (inputs, y) in zip(("path", "test_path"), parts, strict=False):
        stream = io.BytesIO()
        try:
            inputs.rename(columns=str).assign(**{target: np.asarray(y)}).to_parquet(stream, index=False)
        except (ValueError, TypeError) as error:  # errors of pyarrow are of these
            text = " ".join(error_text(error).split())
            raise UsageError(f"each column must hold values of one type: {text}") from None
        paths[key] = _written(stream, folder, "parquet")
    return Table.parse({**paths, "target": target, **options}, "data")


def _written(stream: io.BytesIO, folder: Path, suffix: str) -> str:
    """The path of the file, named by its content."""
    name = hashlib.blake2b(stream.getbuffer(), digest_size=16).hexdigest()
    path = folder.resolve() / f"{name}.{suffix}"
    write_file(path, stream.getbuffer())
    return str(path)
