"""Data sets in NumPy ``.npz`` files."""

from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from bfc_bench.errors import UsageError, suggest
from bfc_bench.tasks.base import DataSet, DataSetContents, LabelledPoints
from bfc_bench.tasks.data.classes import numbered
from bfc_bench.tasks.load_data import reading


class Npz(DataSet):
    """Arrays x and y, and optionally x_test and y_test, in a ``.npz`` file.

    x is (N, d), or (N, height, width) or (N, channels, height, width) for images. Labels that are text or booleans are
    classes.
    """

    kind: ClassVar[str] = "npz"
    path: str
    """The file of NumPy arrays x and y, and x_test and y_test if there is a test part."""
    classes: bool | None = None
    """Whether labels are classes; None: if they are not numbers."""
    divisor: Annotated[float, Field(gt=0)] = 1.0
    """Number by which x is divided, for example 255 for images of bytes."""

    def load(self) -> DataSetContents:
        """The contents of the file."""
        arrays = read_npz(Path(self.path))
        if missing := [name for name in ("x", "y") if name not in arrays]:
            raise UsageError(f"{self.path}: there is no array {missing[0]!r}.{suggest(missing[0], arrays)}")
        if others := sorted(arrays.keys() - {"x", "y", "x_test", "y_test"}):
            raise UsageError(f"{self.path}: arrays must be x, y, x_test and y_test only. Got {others[0]!r}.")
        if ("x_test" in arrays) != ("y_test" in arrays):
            raise UsageError(f"{self.path}: x_test and y_test go together; one is missing.")
        labels = {f"{self.path}: {name}": arrays[name] for name in ("y", "y_test") if name in arrays}
        ys, classes = numbered(labels, self.classes)
        points, *test = map(LabelledPoints, [_rows(arrays[name]) for name in ("x", "x_test") if name in arrays], ys)
        return DataSetContents(points, test[0] if test else None, classes, _shape(arrays["x"]), divisor=self.divisor)


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file; arrays of objects, which are pickles, are refused with a ``UsageError``."""
    with reading(path), path.open("rb") as file:
        try:
            loaded = np.load(file, allow_pickle=False)
            if not isinstance(loaded, np.ndarray):
                return {name: loaded[name] for name in loaded.files}
        except ValueError as error:
            raise UsageError(
                f"{path}: arrays must hold numbers, or text in y, and no pickle is read: {error}."
            ) from None
    raise UsageError(f"{path} must be a .npz file with arrays x and y. Got one array, as np.save writes it.")


def _rows(x: np.ndarray) -> np.ndarray:
    """One row per point."""
    return x.reshape(len(x), -1) if x.ndim in (3, 4) else x


def _shape(x: np.ndarray) -> tuple[int, ...]:
    return (1, *x.shape[1:]) if x.ndim == 3 else x.shape[1:] if x.ndim == 4 else ()
