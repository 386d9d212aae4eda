"""Columns of tables as numbers: values, dates, and the numbers of categories, with NaN for a missing value.

Shapes: N rows, k columns of the table.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import Field

from bfc_bench.config import Settings
from bfc_bench.errors import UsageError, suggest
from bfc_bench.learner import Column
from bfc_bench.tasks.data.classes import name_of, numbered

Categorical: TypeAlias = Literal["one-hot", "keep"]
Missing: TypeAlias = Literal["keep", "median", "mean"]
DATE_FORMATS = ("ISO8601", "%d.%m.%Y")
"""Formats of dates that are recognised; others are named by ``dates``, since 03/04/2020 may be two days."""
MOST_LEVELS = 1000
"""The largest number of categories of a column, since some learners get a column for each."""
Split: TypeAlias = Annotated[dict[Literal["group", "time"], str], Field(min_length=1, max_length=1)]
"""What decides which rows are tested on, in place of chance alone, and its column: equal values of ``group``, such as
those of one patient, are never on both sides; of ``time``, dates or numbers, the last are tested on, and all training
rows are earlier."""
COMMA_NUMBER = re.compile(r"\s*[+-]?((\d+|\d{1,3}(\.\d{3})+)(,\d+)?|,\d+)([eE][+-]?\d+)?\s*")
"""A number with a decimal comma, or a whole number; points may separate thousands, as in 1.234,5."""


class ColumnOptions(Settings):
    """How the columns of a table become numbers."""

    categorical: Categorical | None = None
    """What becomes of columns of text: ``one-hot`` gives each of their values a column of 0 and 1, ``keep`` gives them
    as they are to learners that take frames, and one-hot to others; None refuses text as a mistake."""
    categories: list[str] = []
    """Columns of numbers that are names of categories, such as postcodes; one-hot if ``categorical`` is None."""
    dates: dict[str, str] = {}
    """Formats of columns of dates, such as ``%m/%d/%Y``; ISO 8601 and ``%d.%m.%Y`` need none. A date becomes its
    number of days since 1970."""
    missing: Missing | None = None
    """What becomes of missing values: ``median`` or ``mean`` of the n training points, ``keep`` to give them as
    they are to learners that take frames, and the median to others; None refuses them."""
    split: Split | None = None
    """``{ group = "COLUMN" }`` or ``{ time = "COLUMN" }``; the column is learned from only if ``columns`` names it."""


@dataclass(frozen=True)
class Part:
    """One file, or one frame, of a table."""

    frame: Any
    """A pandas frame of N rows."""
    where: str
    """The file, or the name of the argument."""
    decimal: str = ""
    """The decimal mark of a text file, which does not tell numbers from texts; empty for parquet, which does."""
    remark: str = ""
    """How it was read, for messages about columns that are not there."""

    def at(self, row: int, column: str) -> str:
        """A value's row, from 1 on, and its column, for messages."""
        return f"{self.where}: row {row + 1} of {len(self.frame):,}, column {column!r}"

    def require(self, *columns: str) -> None:
        """Raise ``UsageError`` for a column that is not there."""
        names = [str(name) for name in self.frame.columns]
        for name in columns:
            if name not in names:
                hint = suggest(name, names) + (f" {self.remark}" if self.remark and len(names) == 1 else "")
                raise UsageError(f"{self.where}: there is no column {name!r}.{hint}")

    def complete(self, column: str, advice: str = "Leave such rows out, or set missing.") -> None:
        """Raise ``UsageError`` with an ``advice`` for a missing value."""
        if (gaps := np.flatnonzero(self.frame[column].isna())).size:
            others = f", as are {gaps.size - 1:,} more" if gaps.size > 1 else ""
            raise UsageError(f"{self.at(gaps[0], column)} is empty or NA{others}. {advice}")

    def numbers(self, column: str) -> tuple[np.ndarray, np.ndarray]:
        """A column as float64, (N,), with NaN for what is no number, and the rows whose value is there but no number.

        Raises ``UsageError`` for a number that is not finite.
        """
        import pandas as pd

        series = self.frame[column]
        if pd.api.types.is_numeric_dtype(series) or pd.api.types.is_bool_dtype(series):
            numbers = series
        else:
            values = series.astype(object)
            if self.decimal == ",":
                values = values.map(_with_point)
            numbers = pd.to_numeric(values, errors="coerce")
        numeric = numbers.to_numpy(dtype=float, na_value=np.nan)
        if (wrong := np.flatnonzero(np.isinf(numeric))).size:
            raise UsageError(f"{self.at(wrong[0], column)} must be finite. Got {numeric[wrong[0]]}.")
        empty = np.isnan(numeric)
        # One NaN of all, since contents are compared bit by bit.
        return np.where(empty, np.nan, numeric), np.flatnonzero(empty & series.notna())

    def not_a_number(self, row: int, column: str, among_numbers: bool) -> UsageError:
        """The error about a text that should be a number; ``among_numbers`` if others in the column are numbers."""
        value = self.frame[column].iloc[row]
        if isinstance(value, str) and self.decimal == "." and COMMA_NUMBER.fullmatch(value):
            advice = "Set decimal = ',' if the comma is a decimal mark."
        elif among_numbers:
            advice = (
                f"Others in the column are numbers: set missing_texts = [{str(value)!r}] if it stands for a missing "
                f"value, or categories = [{column!r}] if the column holds names."
            )
        else:
            advice = "Set categorical = 'one-hot' or 'keep' for text, dates for dates, or leave the column out."
        return UsageError(f"{self.at(row, column)} must be a number. Got {value!r}. {advice}")


def encode(
    parts: Sequence[Part], names_: Sequence[str], options: ColumnOptions
) -> tuple[tuple[Column, ...], list[np.ndarray]]:
    """The columns ``names_`` of tables, and their numbers in each part, (N, k): values, days, numbers of categories.

    Categories have the same numbers in all parts. Raises ``UsageError`` if a column is missing, or a value is not what
    its column needs.
    """
    for part in parts:
        part.require(*names_, *options.categories, *options.dates)
    read = [_column(parts, name, options) for name in names_]
    arrays = [
        np.column_stack([values[i] for _, values in read]) if read else np.empty((len(part.frame), 0))
        for i, part in enumerate(parts)
    ]
    return tuple(column for column, _ in read), arrays


def _column(parts: Sequence[Part], name: str, options: ColumnOptions) -> tuple[Column, list[np.ndarray]]:
    """A column and its numbers in each part, (N,)."""
    values = [values_of(part, name, options) for part in parts]
    if all(array.dtype.kind == "f" for array in values):
        return Column(name), values
    for part, array in zip(parts, values, strict=True):
        if array.dtype.kind == "f" and not np.isnan(array).all():
            raise UsageError(f"{part.where}: column {name!r} holds numbers here, and text in the other table.")
    levels = tuple(sorted({text for array in values for text in array if isinstance(text, str)}))
    if len(levels) > MOST_LEVELS:
        raise UsageError(
            f"{parts[0].where}: column {name!r} holds {len(levels):,} different texts; a category may have "
            f"at most {MOST_LEVELS:,}. Leave it out with columns."
        )
    number_of: dict[Any, float] = {text: float(number) for number, text in enumerate(levels)}
    return Column(name, levels), [np.array([number_of.get(text, np.nan) for text in array]) for array in values]


def values_of(part: Part, name: str, options: ColumnOptions) -> np.ndarray:
    """The values of a column: numbers, float (N,), or texts with None for missing ones, object (N,).

    Raises ``UsageError`` if a value is not what its column needs.
    """
    import pandas as pd

    series = part.frame[name]
    if options.missing is None:
        part.complete(name)
    if name in options.categories or (options.categorical and isinstance(series.dtype, pd.CategoricalDtype)):
        return _texts(series)
    if pd.api.types.is_datetime64_any_dtype(series):
        return _since_1970(series)
    numeric, wrong = part.numbers(name)
    if (wrong.size or name in options.dates) and (days := _days(part, name, options.dates.get(name))) is not None:
        return days
    if not wrong.size:
        return numeric
    some_are_numbers = bool(wrong.size < series.notna().sum())
    if options.categorical is None or some_are_numbers:
        raise part.not_a_number(wrong[0], name, some_are_numbers)
    return _texts(series)


def _texts(series: Any) -> np.ndarray:
    values = zip(series.astype(object), series.isna(), strict=True)
    return np.array([None if gap else name_of(value) for value, gap in values], dtype=object)


def _days(part: Part, name: str, given: str | None) -> np.ndarray | None:
    """Days since 1970 of a column of dates in the format ``given`` or a known one, (N,); None if it has another."""
    import pandas as pd

    series = part.frame[name]
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
            raise UsageError(f"{part.at(wrong[0], name)} must be a date of the form {given}. Got {value!r}.")
    return None


def _since_1970(series: Any) -> np.ndarray:
    """Days since 1970 of a series of times, (N,)."""
    import pandas as pd

    if getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    start = pd.Timestamp(0).as_unit(series.dt.unit)  # in nanoseconds it would exclude years such as 9999 and 1600
    return np.asarray(((series - start) / pd.Timedelta(days=1)).to_numpy(dtype=float))


def targets(parts: Sequence[Part], name: str, classes: bool | None) -> tuple[list[np.ndarray], tuple[str, ...]]:
    """The target's values in each part, (N,), and the names of its classes; their numbers if it is categorical."""
    return numbered({f"{part.where}: column {name!r}": _target(part, name, classes) for part in parts}, classes)


def _target(part: Part, name: str, classes: bool | None) -> Any:
    """The target's values, (N,). Text among numbers is taken for a mistake, unless ``classes`` is true."""
    import pandas as pd

    part.complete(name, "Fill them in before, or set missing_target = 'drop' to leave such rows out.")
    series = part.frame[name]
    if isinstance(series.dtype, pd.CategoricalDtype):
        return series.astype(str).to_numpy(dtype=str)
    if pd.api.types.is_bool_dtype(series):
        return series.to_numpy(dtype=float if classes is False else bool)
    numeric, wrong = part.numbers(name)
    if pd.api.types.is_numeric_dtype(series) or (classes is None and part.decimal and not wrong.size):
        return numeric  # pandas leaves some numbers of text files as texts, such as 1.234,5
    if classes is None and 0 < wrong.size < len(series):
        value = series.iloc[wrong[0]]
        raise UsageError(
            f"{part.at(wrong[0], name)} must be a number, as others in the column are. Got {value!r}. "
            "Set classes = true if they are names of classes."
        )
    if classes is False and wrong.size:
        raise part.not_a_number(wrong[0], name, False)
    return numeric if classes is False else series.astype(str).to_numpy(dtype=str)


def split_keys(part: Part, options: ColumnOptions) -> dict[str, Any]:
    """What ``split`` splits by: ``{"groups": numbers}`` or ``{"times": times}``, (N,); nothing without it."""
    import pandas as pd

    if options.split is None:
        return {}
    [(by, column)] = options.split.items()
    part.require(column)
    part.complete(column, "Each row needs one for the split.")
    if by == "group":
        return {"groups": pd.factorize(part.frame[column].astype(object))[0]}
    times = values_of(part, column, options.model_copy(update={"categories": []}))
    if times.dtype.kind != "f":
        raise UsageError(
            f"{part.where}: column {column!r} must hold dates or numbers, since split is by time. "
            "Name the format of its dates with dates."
        )
    return {"times": times}


def _with_point(value: object) -> object:
    """A text with a point in place of the decimal comma; a text with another mark is no number."""
    if not isinstance(value, str):
        return value
    return value.replace(".", "").replace(",", ".") if COMMA_NUMBER.fullmatch(value) else "no number"
