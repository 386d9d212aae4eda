"""Data sets in tables: CSV and parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from bfc_bench.errors import UsageError, error_text, suggest
from bfc_bench.tasks.base import DataSet, DataSetContents, LabelledPoints
from bfc_bench.tasks.data.classes import are_classes, class_numbers, names
from bfc_bench.tasks.data.columns import ColumnOptions, Part, encode, labels, table_columns
from bfc_bench.tasks.data.text_table import TextFormat, line_of, read_text

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
SUFFIXES = (*TEXT_SUFFIXES, ".parquet")


class Table(ColumnOptions, DataSet):
    """A table with named columns: CSV with a header, or parquet.

    A target of text, booleans or categories is a class. The other columns hold numbers or dates, and text and missing
    values where ``categorical`` and ``missing`` say what becomes of them.
    """

    kind: ClassVar[str] = "table"
    reading: ClassVar[frozenset[str]] = frozenset({"decimal", "encoding", "missing_texts"})
    path: str
    """The file, which ends in .csv, .tsv, .txt or .parquet."""
    test_path: str = ""
    """A table of the same columns to test on."""
    target: str
    """The column to be predicted."""
    columns: Annotated[list[str], Field(min_length=1)] | None = None
    """The columns to learn from; None: all but the target and the one of ``split``."""
    classes: bool | None = None
    """Whether the target is a class; None: if it is not a number."""
    separator: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    """Separator of a text file; None: a tab in .tsv, otherwise the one of comma, semicolon, tab and bar that splits all
    lines alike."""
    decimal: Literal[".", ","] | None = None
    """Decimal mark of a text file; None: the one that its numbers have."""
    encoding: str = "utf-8"
    """Encoding of a text file, such as ``latin-1``."""
    missing_texts: list[str] = []
    """Texts that stand for a missing value, such as ``?``, besides those that pandas knows."""

    def load(self) -> DataSetContents:
        """The contents of the files."""
        parts = [self.read_part(path) for path in (self.path, self.test_path) if path]
        aside = {self.target} | ({self.split.column} if self.split else set())
        columns = self.columns or [name for name in map(str, parts[0].frame.columns) if name not in aside]
        self._check(parts, columns)
        encoded = encode(parts, columns, self)
        ys = [labels(part.frame[self.target], self.target, part.locate, self.classes, part.decimal) for part in parts]
        (y, order), *tested = ys
        target = f"{self.path}: column {self.target!r}"
        known: list[Any] = []
        classes = are_classes(y, self.classes, target) if len(y) else False
        if classes:
            y, known = class_numbers(y, target, order)
        points, test = LabelledPoints(encoded.parts[0].x, y), None
        if tested:
            (y, _), target = tested[0], f"{self.test_path}: column {self.target!r}"
            if len(y) and are_classes(y, self.classes, target) != classes:
                raise UsageError(f"{target}: classes in one of the two files and numbers in the other.")
            test = LabelledPoints(encoded.parts[1].x, class_numbers(y, target, known)[0] if classes else y)
        key = encoded.parts[0].split
        return DataSetContents(
            points,
            test,
            names(known),
            columns=tuple(columns),
            table=table_columns(encoded.columns, self.categorical, self.missing),
            groups=key if self.split and self.split.group else None,
            times=key if self.split and self.split.time else None,
        )

    def read_part(self, path: str) -> Part:
        """The columns of one of the files, before anything is checked."""
        missing = tuple(self.missing_texts)
        frame, form = _read(Path(path), TextFormat(self.separator, self.decimal, self.encoding, missing))
        remark = form.words if Path(path).suffix in TEXT_SUFFIXES else ""
        return Part(frame, RowLocator(path, form).of, path, form.decimal or ".", remark)

    def _check(self, parts: list[Part], columns: list[str]) -> None:
        for part in parts:
            known = list(map(str, part.frame.columns))
            for name in (self.target, *columns):
                if name not in known:
                    hint = suggest(name, known) + (f" {part.remark}" if len(known) == 1 else "")
                    raise UsageError(f"{part.where}: there is no column {name!r}.{hint}")
        if self.target in columns:
            raise UsageError(f"{self.path}: columns must not have the target, {self.target!r}, among them.")
        if self.split and self.test_path:
            raise UsageError(f"{self.path}: split and test_path both say what is tested on; leave out one of the two.")
        if self.split and self.split.column == self.target:
            raise UsageError(f"{self.path}: split must name another column than the target, {self.target!r}.")


class RowLocator:
    """Locates rows of a table for error messages."""

    def __init__(self, path: str, form: TextFormat) -> None:
        self.path, self.form = path, form

    def of(self, row: int, column: str) -> str:
        """File, line (in a text file) or row, and column."""
        path = Path(self.path)
        if path.suffix not in TEXT_SUFFIXES:
            return f"{self.path}: row {row}, column {column!r}"
        return f"{self.path}: line {line_of(path, self.form, row)}, column {column!r}"


def _read(path: Path, form: TextFormat) -> tuple[Any, TextFormat]:
    """The table in a file, a pandas frame, and the format of a text file. Raises ``UsageError`` that names the file."""
    import pandas as pd

    if path.suffix not in SUFFIXES:
        raise UsageError(f"{path}: a table must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.")
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file.")
    try:
        return (pd.read_parquet(path), form) if path.suffix == ".parquet" else read_text(path, form)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, ImportError) as error:  # errors of pyarrow are ValueErrors
        raise UsageError(f"{path} is no table: {' '.join(error_text(error).split())}") from None
