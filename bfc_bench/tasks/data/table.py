"""Data sets in tables: CSV and parquet files."""

from __future__ import annotations

import csv
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from bfc_bench.errors import UsageError, error_text, suggest
from bfc_bench.tasks.base import DataSet, DataSetContents, LabelledPoints
from bfc_bench.tasks.data.classes import are_classes, class_numbers, names

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")


class Table(DataSet):
    """A table with named columns: CSV with a header, or parquet.

    A target of text, booleans or categories is a class. All other columns that are learned from must hold numbers.
    """

    kind: ClassVar[str] = "table"
    path: str
    """The file, which ends in .csv, .tsv, .txt or .parquet."""
    test_path: str = ""
    """A table of the same columns to test on."""
    target: str
    """The column to be predicted."""
    columns: Annotated[list[str], Field(min_length=1)] | None = None
    """The columns to learn from; None: all but the target."""
    classes: bool | None = None
    """Whether the target is a class; None: if it is not a number."""
    separator: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    """Separator of a text file; None: a tab in .tsv, otherwise a comma."""

    def load(self) -> DataSetContents:
        """The contents of the files."""
        frame = _read(Path(self.path), self.separator)
        columns = self.columns or [name for name in map(str, frame.columns) if name != self.target]
        if self.target in columns:
            raise UsageError(f"{self.path}: columns must not have the target, {self.target!r}, among them.")
        x, y, order = self._part(frame, self.path, columns)
        target = f"{self.path}: column {self.target!r}"
        known: list[Any] = []
        classes = are_classes(y, self.classes, target) if len(y) else False
        if classes:
            y, known = class_numbers(y, target, order)
        points, test = LabelledPoints(x, y), None
        if self.test_path:
            x, y, _ = self._part(_read(Path(self.test_path), self.separator), self.test_path, columns)
            target = f"{self.test_path}: column {self.target!r}"
            if len(y) and are_classes(y, self.classes, target) != classes:
                raise UsageError(f"{target}: classes in one of the two files and numbers in the other.")
            test = LabelledPoints(x, class_numbers(y, target, known)[0] if classes else y)
        return DataSetContents(points, test, names(known), columns=tuple(columns))

    def _part(self, frame: Any, path: str, columns: list[str]) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        """x (N, d), y (N,), and the classes in order if the file orders them."""
        for name in (self.target, *columns):
            if name not in frame.columns:
                raise UsageError(f"{path}: there is no column {name!r}.{suggest(name, map(str, frame.columns))}")
        locator = RowLocator(path, self.separator)
        x = [numbers(frame[name], name, locator) for name in columns]
        y, order = labels(frame[self.target], self.target, locator, self.classes)
        return np.column_stack(x) if x else np.empty((len(y), 0)), y, order


class RowLocator:
    """Locates rows of a table for error messages."""

    def __init__(self, path: str, separator: str | None = None) -> None:
        self.path, self.separator = path, separator

    def of(self, row: int, column: str) -> str:
        """File, line (in a text file) or row, and column."""
        path = Path(self.path)
        if path.suffix not in SUFFIXES[:3]:
            return f"{self.path}: row {row}, column {column!r}"
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, delimiter=_separator(path, self.separator))
            lines = (reader.line_num for fields in reader if fields)
            return f"{self.path}: line {next(islice(lines, row + 1, None))}, column {column!r}"


def numbers(series: Any, name: str, locator: RowLocator) -> np.ndarray:
    """A column as float64, (N,).

    Args:
        series: The column, a pandas series (N,).
        name: Its name.
        locator: Locates rows for the message.

    Raises:
        UsageError: A value is missing or not a finite number; the message names file, line and column.
    """
    import pandas as pd

    kind = series.dtype.kind if isinstance(series.dtype, np.dtype) else ""
    if kind in "Mmc" and kind:
        raise UsageError(f"{locator.of(0, name)} must be a number. Got {series.iloc[0]!s}, of dtype {series.dtype}.")
    if not (pd.api.types.is_numeric_dtype(series) or pd.api.types.is_bool_dtype(series)):
        parsed = pd.to_numeric(series.astype(object), errors="coerce")
        if (wrong := np.flatnonzero(parsed.isna() & series.notna())).size:
            value = series.iloc[wrong[0]]
            raise UsageError(f"{locator.of(int(wrong[0]), name)} must be a number. Got {value!r}.")
        series = parsed
    _check_complete(series, name, locator)
    numeric: np.ndarray = series.to_numpy(dtype=float)
    if (wrong := np.flatnonzero(~np.isfinite(numeric))).size:
        raise UsageError(f"{locator.of(int(wrong[0]), name)} must be finite. Got {numeric[wrong[0]]}.")
    return numeric


def labels(series: Any, name: str, locator: RowLocator, classes: bool | None) -> tuple[np.ndarray, list[Any]]:
    """The target's values, (N,), and its classes in order if it is categorical.

    Text among numbers is taken for a mistake, unless ``classes`` is true.

    Args:
        series: The column, a pandas series (N,).
        name: Its name.
        locator: Locates rows for the message.
        classes: Whether the values are classes; None: if they are not numbers.

    Raises:
        UsageError: A value is missing, or should be a number.
    """
    import pandas as pd

    _check_complete(series, name, locator)
    if isinstance(series.dtype, pd.CategoricalDtype):
        present = set(series.unique())
        order = [str(item) for item in series.dtype.categories if item in present]
        return series.astype(str).to_numpy(dtype=str), order
    if pd.api.types.is_bool_dtype(series):
        return series.to_numpy(dtype=float if classes is False else bool), []
    text = not pd.api.types.is_numeric_dtype(series)
    if text and classes is None and series.dtype.kind not in "Mm":
        parsed = pd.to_numeric(series.astype(object), errors="coerce").notna().to_numpy()
        if parsed.any() and not parsed.all():
            row = int(np.flatnonzero(~parsed)[0])
            raise UsageError(
                f"{locator.of(row, name)} must be a number, as others in the column are. Got {series.iloc[row]!r}. "
                "Set classes = true if they are names of classes."
            )
    if text and classes is not False:
        return series.astype(str).to_numpy(dtype=str), []
    return numbers(series, name, locator), []


def _check_complete(series: Any, name: str, locator: RowLocator) -> None:
    if (gaps := np.flatnonzero(series.isna())).size:
        others = f", as are {gaps.size - 1:,} more of {len(series):,}" if gaps.size > 1 else ""
        raise UsageError(
            f"{locator.of(int(gaps[0]), name)} is empty or NA{others}. Leave such rows out, or fill them in before."
        )


def _separator(path: Path, separator: str | None) -> str:
    return separator or ("\t" if path.suffix == ".tsv" else ",")


def _exact_floats(version: str) -> dict[str, str]:
    """Options with which pandas reads numbers to the last digit, as it does by default from 3.1 on."""
    return {} if tuple(map(int, version.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}


def _read(path: Path, separator: str | None) -> Any:
    """The table in a file, a pandas frame. Raises ``UsageError`` that names the file."""
    import pandas as pd

    if path.suffix not in SUFFIXES:
        raise UsageError(f"{path}: a table must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.")
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file.")
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        return pd.read_csv(
            path,
            sep=_separator(path, separator),
            index_col=False,
            low_memory=False,  # else one column may get several types
            encoding="utf-8-sig",
            **_exact_floats(pd.__version__),
        )
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} must be text in UTF-8; its byte {error.start} is not.") from None
    except (ValueError, ImportError) as error:  # errors of pandas and pyarrow are ValueErrors
        raise UsageError(f"{path} is no table: {' '.join(error_text(error).split())}") from None
