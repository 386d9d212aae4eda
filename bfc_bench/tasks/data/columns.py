"""Columns of tables as numbers: values, dates, and the numbers of categories, with NaN for a missing value.

Shapes: N rows, k columns of the table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from pydantic import model_validator

from bfc_bench.config import Settings
from bfc_bench.errors import UsageError, suggest
from bfc_bench.learner import Column
from bfc_bench.tasks.base import TableColumns
from bfc_bench.tasks.data.classes import names
from bfc_bench.tasks.data.text_table import as_number

Locate: TypeAlias = Callable[[int, str], str]
"""File, line and column of a row and the name of its column, for error messages."""
Categorical: TypeAlias = Literal["one-hot", "keep"]
Missing: TypeAlias = Literal["keep", "median", "mean", "indicate"]
DATE_FORMATS = ("ISO8601", "%d.%m.%Y")
"""Formats of dates that are recognised; others are named by ``dates``, since 03/04/2020 may be two days."""
MOST_LEVELS = 1000
"""The largest number of categories of a column, since some learners get a column for each."""


class Split(Settings):
    """What decides which rows are tested on, in place of chance alone."""

    group: str | None = None
    """A column whose equal values, such as those of one patient, are never on both sides."""
    time: str | None = None
    """A column of dates or numbers: test points are the last ones, and all training points are earlier."""

    @model_validator(mode="after")
    def _one(self) -> Split:
        if (self.group is None) == (self.time is None):
            raise ValueError('split must be { group = "COLUMN" } or { time = "COLUMN" }')
        return self

    @property
    def column(self) -> str:
        """The column."""
        return self.group or self.time or ""


class ColumnOptions(Settings):
    """How the columns of a table become numbers."""

    categorical: Categorical | None = None
    """What becomes of columns of text: ``one-hot`` gives each of their values a column of 0 and 1, ``keep`` gives them
    as they are to learners that take frames, and one-hot to others; None refuses text as a mistake."""
    categories: list[str] = []
    """Columns of numbers that are names of categories, such as postcodes."""
    dates: dict[str, str] = {}
    """Formats of columns of dates, such as ``%m/%d/%Y``; ISO 8601 and ``%d.%m.%Y`` need none. A date becomes its
    number of days since 1970."""
    missing: Missing | None = None
    """What becomes of missing values: ``median`` or ``mean`` of the n training points, ``indicate`` for the median
    with a column that says where, ``keep`` to give them as they are to learners that take frames, and the median to
    others; None refuses them."""
    split: Split | None = None
    """``{ group = "COLUMN" }`` or ``{ time = "COLUMN" }``; the column is learned from only if ``columns`` names it."""

    @model_validator(mode="after")
    def _consistent(self) -> ColumnOptions:
        if self.categories and self.categorical is None:
            raise ValueError('categories needs categorical = "one-hot" or categorical = "keep"')
        return self


@dataclass(frozen=True)
class Part:
    """One file, or one frame, of a table."""

    frame: Any
    """A pandas frame of N rows."""
    locate: Locate
    where: str
    """The file, or the name of the argument."""
    decimal: str = "."
    """The decimal mark of its texts."""
    remark: str = ""
    """How it was read, for messages about columns that are not there."""


@dataclass
class EncodedPart:
    """The columns of a part as numbers."""

    x: np.ndarray
    """(N, k): values, days, numbers of categories; NaN for missing values."""
    split: np.ndarray | None
    """Numbers of groups, or times, (N,); None without a split."""


@dataclass
class Encoded:
    """The parts of a table as numbers."""

    columns: tuple[Column, ...]
    """The k columns."""
    parts: list[EncodedPart] = field(default_factory=list)


def encode(parts: Sequence[Part], names_: Sequence[str], options: ColumnOptions) -> Encoded:
    """The columns of tables as numbers; categories have the same numbers in all parts.

    Args:
        parts: The table, and the one to test on if there is one.
        names_: Names of the columns that are learned from.
        options: What becomes of text, dates and missing values.

    Raises:
        UsageError: A column is missing, or a value is not what its column needs; names file, line and column.
    """
    split = options.split
    for part in parts:
        known = list(map(str, part.frame.columns))
        for name in (*names_, *options.categories, *options.dates, *([split.column] if split else [])):
            if name not in known:
                raise UsageError(f"{part.where}: there is no column {name!r}.{suggest(name, known)}")
    read = [_column(parts, name, options) for name in names_]
    columns = tuple(column for column, _ in read)
    arrays = [
        np.column_stack([values[i] for _, values in read]) if read else np.empty((len(part.frame), 0))
        for i, part in enumerate(parts)
    ]
    keys = _split_keys(parts, split, options) if split else [None] * len(parts)
    return Encoded(columns, [EncodedPart(x, key) for x, key in zip(arrays, keys, strict=True)])


def _column(parts: Sequence[Part], name: str, options: ColumnOptions) -> tuple[Column, list[np.ndarray]]:
    """A column and its numbers in each part, (N,)."""
    values = [_values(part, name, options) for part in parts]
    if all(array.dtype.kind == "f" for array in values):
        return Column(name), values
    for i, (part, array) in enumerate(zip(parts, values, strict=True)):
        if array.dtype.kind == "f" and not np.isnan(array).all():
            raise UsageError(f"{part.where}: column {name!r} holds numbers here, and text in the other table.")
        if array.dtype.kind == "f":
            values[i] = np.full(len(array), None)
    ordered = _ordered_levels([part.frame[name] for part in parts], options.categorical is not None)
    present = sorted({text for array in values for text in array if text is not None})
    levels = ordered or tuple(present)
    if len(levels) > MOST_LEVELS:
        raise UsageError(
            f"{parts[0].where}: column {name!r} holds {len(levels):,} different texts; a category may have "
            f"at most {MOST_LEVELS:,}. Leave it out with columns."
        )
    number_of: dict[Any, float] = {text: float(number) for number, text in enumerate(levels)}
    return Column(name, levels), [np.array([number_of.get(text, np.nan) for text in array]) for array in values]


def _ordered_levels(series: Sequence[Any], wanted: bool) -> tuple[str, ...]:
    """Categories in their own order, where the table has one; else empty."""
    import pandas as pd

    if not wanted or not all(isinstance(part.dtype, pd.CategoricalDtype) for part in series):
        return ()
    present = {item for part in series for item in part.dropna().unique()}
    order = dict.fromkeys(item for part in series for item in part.dtype.categories if item in present)
    return names(list(order))


def _values(part: Part, name: str, options: ColumnOptions) -> np.ndarray:
    """The values of a column: numbers, float (N,), or texts with None for missing ones, object (N,)."""
    import pandas as pd

    series = part.frame[name]
    if name in options.categories or (options.categorical and isinstance(series.dtype, pd.CategoricalDtype)):
        return _texts(series, part, name, options)
    if (days := _days(series, part, name, options)) is not None:
        if options.missing is None:
            check_complete(series, name, part.locate, "Leave such rows out, or set missing.")
        return days
    if options.categorical and not _is_numeric(series) and (wrong := _not_numbers(series, part.decimal)).size:
        if wrong.size < series.notna().sum():
            value = series.iloc[wrong[0]]
            raise UsageError(
                f"{part.locate(int(wrong[0]), name)} must be a number, as others in the column are. Got {value!r}. Set "
                f"missing_texts = [{str(value)!r}] if it stands for a missing value, or categories = [{name!r}] if the "
                "column holds names."
            )
        return _texts(series, part, name, options)
    return numbers(series, name, part.locate, gaps=options.missing is not None, decimal=part.decimal)


def _texts(series: Any, part: Part, name: str, options: ColumnOptions) -> np.ndarray:
    if options.missing is None:
        check_complete(series, name, part.locate, "Leave such rows out, or set missing.")
    plain = [None if gap else value for value, gap in zip(series.astype(object), series.isna(), strict=True)]
    return np.array([None if value is None else names([value])[0] for value in plain], dtype=object)


def _is_numeric(series: Any) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_numeric_dtype(series) or pd.api.types.is_bool_dtype(series))


def _not_numbers(series: Any, decimal: str) -> np.ndarray:
    """Rows of a column that is not numeric whose value is there and no number."""
    import pandas as pd

    parsed = pd.to_numeric(series.astype(object).map(lambda value: as_number(value, decimal)), errors="coerce")
    return np.flatnonzero(parsed.isna() & series.notna())


def _days(series: Any, part: Part, name: str, options: ColumnOptions) -> np.ndarray | None:
    """Days since 1970 of a column of dates, (N,), NaN where there is none; None if it holds something else."""
    import pandas as pd

    given = options.dates.get(name)
    if pd.api.types.is_datetime64_any_dtype(series):
        return _since_1970(series)
    if given is None and (
        _is_numeric(series) or not series.notna().any() or not _not_numbers(series, part.decimal).size
    ):
        return None
    texts = series.astype(object).where(series.notna(), None)
    for form in (given,) if given else DATE_FORMATS:
        try:
            parsed = pd.to_datetime(texts, format=form, errors="coerce", utc=True)
        except ValueError:  # the format is none
            raise UsageError(f"{part.where}: dates must hold formats such as '%m/%d/%Y'. Got {given!r}.") from None
        wrong = np.flatnonzero(parsed.isna() & series.notna())
        if not wrong.size:
            return _since_1970(parsed)
        if given:
            value = series.iloc[wrong[0]]
            raise UsageError(f"{part.locate(int(wrong[0]), name)} must be a date of the form {given}. Got {value!r}.")
    return None


def _since_1970(series: Any) -> np.ndarray:
    """Days since 1970 of a series of times, (N,)."""
    import pandas as pd

    if getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    days: np.ndarray = ((series - pd.Timestamp(0)) / pd.Timedelta(days=1)).to_numpy(dtype=float)
    return days


def numbers(series: Any, name: str, locate: Locate, *, gaps: bool = False, decimal: str = ".") -> np.ndarray:
    """A column as float64, (N,).

    Args:
        series: The column, a pandas series (N,).
        name: Its name.
        locate: Locates rows for the message.
        gaps: Whether values may be missing; they are NaN.
        decimal: The decimal mark of texts.

    Raises:
        UsageError: A value is missing or not a finite number; the message names file, line and column.
    """
    import pandas as pd

    kind = series.dtype.kind if isinstance(series.dtype, np.dtype) else ""
    if kind in "Mmc" and kind:
        raise UsageError(f"{locate(0, name)} must be a number. Got {series.iloc[0]!s}, of dtype {series.dtype}.")
    if not _is_numeric(series):
        if (wrong := _not_numbers(series, decimal)).size:
            value = series.iloc[wrong[0]]
            raise UsageError(f"{locate(int(wrong[0]), name)} must be a number. Got {value!r}.{_hint(value)}")
        series = pd.to_numeric(series.astype(object).map(lambda value: as_number(value, decimal)))
    if not gaps:
        check_complete(series, name, locate, "Leave such rows out, or set missing.")
    numeric: np.ndarray = series.to_numpy(dtype=float, na_value=np.nan)
    if (wrong := np.flatnonzero(np.isinf(numeric))).size:
        raise UsageError(f"{locate(int(wrong[0]), name)} must be finite. Got {numeric[wrong[0]]}.")
    return np.where(np.isnan(numeric), np.nan, numeric)  # one NaN of all, since contents are compared bit by bit


def _hint(value: object) -> str:
    """What to do about a text among numbers."""
    from bfc_bench.tasks.data.text_table import COMMA_NUMBER

    if isinstance(value, str) and COMMA_NUMBER.fullmatch(value):
        return " Set decimal = ',' if the comma is a decimal mark."
    return " Set categorical = 'one-hot' or 'keep' for a column of text, dates for one of dates, or leave it out."


def labels(
    series: Any, name: str, locate: Locate, classes: bool | None, decimal: str = "."
) -> tuple[np.ndarray, list[Any]]:
    """The target's values, (N,), and its classes in order if it is categorical.

    Text among numbers is taken for a mistake, unless ``classes`` is true.

    Args:
        series: The column, a pandas series (N,).
        name: Its name.
        locate: Locates rows for the message.
        classes: Whether the values are classes; None: if they are not numbers.
        decimal: The decimal mark of texts.

    Raises:
        UsageError: A value is missing, or should be a number.
    """
    import pandas as pd

    check_complete(series, name, locate)
    if isinstance(series.dtype, pd.CategoricalDtype):
        present = set(series.unique())
        order = [str(item) for item in series.dtype.categories if item in present]
        return series.astype(str).to_numpy(dtype=str), order
    if pd.api.types.is_bool_dtype(series):
        return series.to_numpy(dtype=float if classes is False else bool), []
    text = not pd.api.types.is_numeric_dtype(series)
    if text and classes is None and series.dtype.kind not in "Mm":
        wrong = _not_numbers(series, decimal)
        if 0 < wrong.size < len(series):
            row = int(wrong[0])
            raise UsageError(
                f"{locate(row, name)} must be a number, as others in the column are. Got {series.iloc[row]!r}. "
                "Set classes = true if they are names of classes."
            )
    if text and classes is not False:
        return series.astype(str).to_numpy(dtype=str), []
    return numbers(series, name, locate, decimal=decimal), []


def check_complete(
    series: Any, name: str, locate: Locate, advice: str = "Leave such rows out, or fill them in before."
) -> None:
    """Raises ``UsageError`` for a missing value.

    Args:
        series: The column, a pandas series (N,).
        name: Its name.
        locate: Locates rows for the message.
        advice: What to do.
    """
    if (gaps := np.flatnonzero(series.isna())).size:
        others = f", as are {gaps.size - 1:,} more of {len(series):,}" if gaps.size > 1 else ""
        raise UsageError(f"{locate(int(gaps[0]), name)} is empty or NA{others}. {advice}")


def _split_keys(parts: Sequence[Part], split: Split, options: ColumnOptions) -> list[np.ndarray]:
    """Numbers of groups, or times, of each part."""
    for part in parts:
        check_complete(part.frame[split.column], split.column, part.locate, "Each row needs one for the split.")
    if split.time is not None:
        values = [_values(part, split.time, options.model_copy(update={"categories": []})) for part in parts]
        for part, array in zip(parts, values, strict=True):
            if array.dtype.kind != "f":
                raise UsageError(
                    f"{part.where}: column {split.time!r} must hold dates or numbers, since split is by time. "
                    "Name the format of its dates with dates."
                )
        return values
    known: dict[Any, int] = {}
    return [
        np.array([known.setdefault(value, len(known)) for value in part.frame[split.column].astype(object)])
        for part in parts
    ]


def table_columns(
    columns: tuple[Column, ...], categorical: Categorical | None, missing: Missing | None
) -> TableColumns | None:
    """What a task must know to encode the columns; None if they are plain numbers that need no encoding.

    Args:
        columns: The columns of x.
        categorical: The option of this name.
        missing: The option of this name.
    """
    if categorical is None and missing is None:
        return None
    return TableColumns(columns, categorical == "keep", missing or "median")


def levels_text(columns: Sequence[Column]) -> list[str]:
    """The levels of each column as a JSON text, for a file of arrays."""
    return [json.dumps(list(column.levels)) for column in columns]


def columns_of(names_: Sequence[str], levels: Sequence[str]) -> tuple[Column, ...]:
    """Columns from their names and what ``levels_text`` gave. Raises ``ValueError`` for other texts."""
    return tuple(Column(name, tuple(map(str, json.loads(text)))) for name, text in zip(names_, levels, strict=True))
