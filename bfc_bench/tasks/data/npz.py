"""Data sets in NumPy ``.npz`` files."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from bfc_bench.errors import UsageError, error_text, suggest
from bfc_bench.learner import Column
from bfc_bench.tasks.base import DataSet, DataSetContents, LabelledPoints, TableColumns
from bfc_bench.tasks.data.classes import are_classes, class_numbers, names
from bfc_bench.tasks.data.columns import Categorical, Missing, table_columns


class Npz(DataSet):
    """Arrays x and y, and optionally x_test and y_test, in a ``.npz`` file.

    x is (N, d), or (N, height, width) or (N, channels, height, width) for images. Labels that are text or booleans are
    classes. An array ``columns`` may name the columns of x. If an array ``classes`` names classes, labels are their
    numbers. ``levels`` may hold a JSON list for each column, the names of the categories whose numbers x has.
    ``groups`` or ``times``, (N,), split the points as ``split`` does in the kind ``table``.
    """

    kind: ClassVar[str] = "npz"
    path: str
    """The file of NumPy arrays x and y, and x_test and y_test if there is a test part."""
    classes: bool | None = None
    """Whether labels are classes; None: if they are not numbers."""
    divisor: Annotated[float, Field(gt=0)] = 1.0
    """Number by which x is divided, for example 255 for images of bytes."""
    categorical: Categorical | None = None
    """What becomes of columns with ``levels``, see the kind ``table``."""
    missing: Missing | None = None
    """What becomes of NaN in x, see the kind ``table``."""

    def load(self) -> DataSetContents:
        """The contents of the file."""
        arrays = read_npz(Path(self.path))
        if missing := [name for name in ("x", "y") if name not in arrays]:
            raise UsageError(f"{self.path}: there is no array {missing[0]!r}.{suggest(missing[0], arrays)}")
        if ("x_test" in arrays) != ("y_test" in arrays):
            raise UsageError(f"{self.path}: x_test and y_test go together; one is missing.")
        for name in ("y", "y_test"):
            if name in arrays and arrays[name].ndim != 1:
                raise UsageError(f"{self.path}: {name} must have shape (N,). Got {arrays[name].shape}.")
        y, given = arrays["y"], arrays.get("classes")
        known = [] if given is None else given.tolist()
        if given is not None and (y.dtype.kind not in "iu" or given.ndim != 1):
            raise UsageError(f"{self.path}: where 'classes' names them, y must hold their numbers. Got {y.dtype}.")
        if not known and len(y) and are_classes(y, self.classes, f"{self.path}: y"):
            arrays["y"], known = class_numbers(y, f"{self.path}: y")
            if "y_test" in arrays:
                arrays["y_test"] = class_numbers(arrays["y_test"], f"{self.path}: y_test", known)[0]
        test = LabelledPoints(_rows(arrays["x_test"]), arrays["y_test"]) if "x_test" in arrays else None
        columns = tuple(map(str, arrays["columns"].tolist())) if "columns" in arrays else ()
        return DataSetContents(
            LabelledPoints(_rows(arrays["x"]), arrays["y"]),
            test,
            names(known),
            _shape(arrays["x"]),
            columns,
            self.divisor,
            self._table(arrays, columns),
            arrays.get("groups"),
            arrays.get("times"),
        )

    def _table(self, arrays: dict[str, np.ndarray], columns: tuple[str, ...]) -> TableColumns | None:
        """The columns, if some hold categories or may have gaps."""
        if self.categorical is None and self.missing is None and "levels" not in arrays:
            return None
        given = columns or tuple(f"x{i}" for i in range(int(np.prod(arrays["x"].shape[1:]))))
        levels = arrays["levels"].tolist() if "levels" in arrays else ["[]"] * len(given)
        try:
            known = tuple(Column(name, tuple(json.loads(text))) for name, text in zip(given, levels, strict=True))
        except (ValueError, TypeError) as error:
            raise UsageError(f"{self.path}: levels must hold a JSON list for each column. Got {error}.") from None
        if self.categorical is None and any(column.levels for column in known):
            raise UsageError(f"{self.path}: it has columns of categories; set categorical to 'one-hot' or 'keep'.")
        return table_columns(known, self.categorical, self.missing)


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file; arrays of objects, which are pickles, are refused with a ``UsageError``."""
    name = ""
    try:
        with path.open("rb") as file:
            loaded, arrays = np.load(file, allow_pickle=False), {}
            if isinstance(loaded, np.ndarray):
                raise UsageError(
                    f"{path} must be a .npz file with arrays x and y. Got one array, as np.save writes it."
                )
            for name in loaded.files:
                arrays[name] = loaded[name]
            return arrays
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        if "allow_pickle" in error_text(error):
            what = f"array {name!r} holds objects" if name else "it is no .npz file"
            raise UsageError(f"{path}: {what}. Arrays must hold numbers, or text in y; no pickle is read.") from None
        raise UsageError(f"{path} is truncated or damaged: {error_text(error)}.") from None


def _rows(x: np.ndarray) -> np.ndarray:
    """One row per point."""
    return x.reshape(len(x), -1) if x.ndim in (3, 4) else x


def _shape(x: np.ndarray) -> tuple[int, ...]:
    return (1, *x.shape[1:]) if x.ndim == 3 else x.shape[1:] if x.ndim == 4 else ()
