"""Reads tables in text files: finds separator and decimal mark, and checks header and lines.

A guess that cannot be right ends in one line that names the option to set.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from bfc_bench.errors import UsageError, error_text

SEPARATORS = (",", ";", "\t", "|")
"""Separators that are recognised, in the order in which they are preferred."""
SAMPLE_LINES = 200
"""Lines that are looked at to find the separator."""
COMMA_NUMBER = re.compile(r"\s*[+-]?(\d+(,\d+)?|,\d+)([eE][+-]?\d+)?\s*")
"""A number with a decimal comma, or a whole number."""
THOUSANDS = re.compile(r"\s*[+-]?\d{1,3},\d{3}\s*")
"""A number such as 1,234, whose comma may be a decimal mark or may group digits."""


@dataclass(frozen=True)
class TextFormat:
    """How a text file is read."""

    separator: str | None = None
    """The character between values; None: the file decides."""
    decimal: str | None = None
    """The decimal mark, ``.`` or ``,``; None: the file decides."""
    encoding: str = "utf-8"
    missing_texts: tuple[str, ...] = ()
    """Texts that stand for a missing value, besides those that pandas knows."""

    @property
    def words(self) -> str:
        """The separator as a part of a message."""
        return f"It was read with separator {self.separator!r}; set separator if that is wrong."


def read_text(path: Path, form: TextFormat) -> tuple[Any, TextFormat]:
    """The table in a text file, a pandas frame, and the format in which it was read.

    Raises ``UsageError`` that names the file, if it is no table, and the option, if a guess is not possible.
    """
    text = decoded(path, form.encoding)
    if form.separator is None:
        form = replace(form, separator="\t" if path.suffix == ".tsv" else _found_separator(text))
    _check_lines(text, path, form)
    if form.decimal is not None:
        return _parsed(text, path, form), form
    frame = _parsed(text, path, replace(form, decimal="."))
    form = replace(form, decimal=_found_decimal(frame, path))
    return (frame if form.decimal == "." else _parsed(text, path, form)), form


def decoded(path: Path, encoding: str) -> str:
    """The text of a file. Raises ``UsageError`` that names the option ``encoding``."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding)
    except LookupError:
        raise UsageError(f"{path}: encoding must be one that Python knows. Got {encoding!r}.") from None
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        if encoding != "utf-8":
            raise UsageError(f"{path} must be text in {encoding}; its byte {at} is not.") from None
        likely = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1"
        raise UsageError(
            f'{path} must be text in UTF-8; its byte {at} is not. Set encoding = "{likely}" if it was saved in that '
            "encoding."
        ) from None
    return text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")


def line_of(path: Path, form: TextFormat, row: int) -> int:
    """Number of the line, from 1, on which a row ends.

    Args:
        path: The file.
        form: Its format.
        row: Number of the row; 0 is the first below the header.
    """
    lines = (number for number, _ in _lines(decoded(path, form.encoding), form.separator or ","))
    return next(islice(lines, row + 1, None))


def as_number(value: object, decimal: str) -> object:
    """A value for pandas to parse: a text with the decimal mark ``.``, and with another mark than ``decimal`` none."""
    if decimal == "." or not isinstance(value, str):
        return value
    return value.replace(",", ".") if COMMA_NUMBER.fullmatch(value) else "no number"


def _lines(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Number and values of each line that is not empty."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    for values in reader:
        if values:
            yield reader.line_num, values


def _found_separator(text: str) -> str:
    """The first of ``SEPARATORS`` that splits header and first lines into equally many values, or else a comma."""
    for separator in SEPARATORS:
        try:
            counts = [len(values) for _, values in islice(_lines(text, separator), SAMPLE_LINES)]
        except csv.Error:
            continue
        if counts and counts[0] > 1 and len(set(counts)) == 1:
            return separator
    header = text.partition("\n")[0]  # its lines differ: the header decides, and the check names the line
    return max(SEPARATORS, key=lambda separator: (header.count(separator), -SEPARATORS.index(separator)))


def _check_lines(text: str, path: Path, form: TextFormat) -> None:
    """Raises ``UsageError`` for a header with equal names, and for a line of another length."""
    try:
        lines = _lines(text, form.separator or ",")
        header = next(lines, (0, []))[1]
        named = [name for name in header if name.strip()]
        if twice := [name for name in named if named.count(name) > 1]:
            raise UsageError(f"{path}: two columns are named {twice[0]!r}. Give each column a name of its own.")
        for number, values in lines:
            if len(values) != len(header):
                counted = f"{len(values)} value{'s' * (len(values) != 1)}"
                raise UsageError(f"{path}: line {number} has {counted}, the header {len(header)}. {form.words}")
    except csv.Error as error:
        raise UsageError(f"{path} is no table: {error}. {form.words}") from None


def _found_decimal(frame: Any, path: Path) -> str:
    """The decimal mark of a frame that was read with ``.``. Raises ``UsageError`` if both are possible."""
    import pandas as pd

    comma: tuple[str, str] | None = None
    grouped = True
    for name in frame.columns:
        if pd.api.types.is_numeric_dtype(frame[name]) or pd.api.types.is_bool_dtype(frame[name]):
            continue
        texts = frame[name].dropna().astype(str)
        matching = texts[texts.str.fullmatch(COMMA_NUMBER)]
        # Others may stand for a missing value, such as "?".
        if 2 * len(matching) > len(texts) and (marked := matching[matching.str.contains(",")]).size:
            comma = comma or (str(name), str(marked.iloc[0]))
            grouped = grouped and bool(marked.str.fullmatch(THOUSANDS).all())
    if comma is None:
        return "."
    column, example = comma
    if point := _with_point(frame):
        raise UsageError(
            f"{path}: column {column!r} has numbers such as {example!r}, and column {point!r} some with a point. "
            "Set decimal = ',' or decimal = '.', and write all numbers in one way."
        )
    if grouped:
        raise UsageError(
            f"{path}: column {column!r} has numbers such as {example!r}, whose comma may be a decimal mark or group "
            "digits. Set decimal = ',' if it is a decimal mark; otherwise leave the commas out of the file."
        )
    return ","


def _with_point(frame: Any) -> str:
    """Name of a column that holds a number that is not whole, or an empty text."""
    import numpy as np

    for name in frame.columns:
        if getattr(frame[name].dtype, "kind", "") == "f":
            values = frame[name].to_numpy()
            values = values[np.isfinite(values)]
            if np.any(values != np.floor(values)):
                return str(name)
    return ""


def _parsed(text: str, path: Path, form: TextFormat) -> Any:
    import pandas as pd

    try:
        return pd.read_csv(
            io.StringIO(text, newline=""),
            sep=form.separator,
            decimal=form.decimal or ".",
            index_col=False,
            low_memory=False,  # else one column may get several types
            na_values=list(form.missing_texts) or None,
            **exact_floats(pd.__version__),
        )
    except ValueError as error:  # errors of pandas are ValueErrors
        raise UsageError(f"{path} is no table: {' '.join(error_text(error).split())}") from None


def exact_floats(version: str) -> dict[str, str]:
    """Options with which pandas reads numbers to the last digit, as it does by default from 3.1 on."""
    return {} if tuple(map(int, version.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}


def shown_header(names: Sequence[str]) -> str:
    """The names of columns as a part of a message, at most twelve."""
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
