"""Data sets in tables: CSV and parquet files."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from bfc_bench.errors import UsageError, error_text
from bfc_bench.tasks.base import DataSet, DataSetContents, LabelledPoints, TableColumns
from bfc_bench.tasks.data.columns import ColumnOptions, Part, encode, split_keys, targets
from bfc_bench.tasks.load_data import reading

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")


class Table(ColumnOptions, DataSet):
    """A table with named columns: CSV with a header, or parquet.

    A target of text, booleans or categories is a class. The other columns hold numbers or dates, and text and missing
    values where ``categorical`` and ``missing`` say what becomes of them.
    """

    kind: ClassVar[str] = "table"
    reading: ClassVar[frozenset[str]] = frozenset(
        {"separator", "decimal", "encoding", "missing_texts", "missing_target"}
    )
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
    """Separator of a text file; None: a tab in .tsv, otherwise a comma."""
    decimal: Literal[".", ","] = "."
    """Decimal mark of a text file."""
    encoding: str = "utf-8"
    """Encoding of a text file, such as ``latin-1``."""
    missing_texts: list[str] = []
    """Texts that stand for a missing value, such as ``?``, besides those that pandas knows."""
    missing_target: Literal["drop"] | None = None
    """``drop`` leaves rows without a target out; None refuses them."""

    def load(self) -> DataSetContents:
        """The contents of the files."""
        parts = [self.read_part(path) for path in (self.path, self.test_path) if path]
        aside = {self.target, *(self.split or {}).values()}
        columns = self.columns or [str(name) for name in parts[0].frame.columns if str(name) not in aside]
        if self.target in columns:
            raise UsageError(f"{self.path}: columns must not have the target, {self.target!r}, among them.")
        if self.split and self.test_path:
            raise UsageError(f"{self.path}: split and test_path both say what is tested on; leave out one of the two.")
        if self.test_path and Path(self.test_path).resolve() == Path(self.path).resolve():
            raise UsageError(f"{self.path}: test_path must be another file than path, or be left out.")
        if self.split and self.target in self.split.values():
            raise UsageError(f"{self.path}: split must name another column than the target, {self.target!r}.")
        for part in parts:
            part.require(self.target)
        known, xs = encode(parts, columns, self)
        ys, classes = targets(parts, self.target, self.classes)
        points, *test = map(LabelledPoints, xs, ys)
        encoded = self.categorical or self.categories or self.missing
        return DataSetContents(
            points,
            test[0] if test else None,
            classes,
            columns=tuple(columns),
            table=TableColumns(known, self.categorical == "keep", self.missing or "median") if encoded else None,
            **split_keys(parts[0], self),
        )

    def read_part(self, path: str) -> Part:
        """One of the files, before its columns are checked."""
        file = Path(path)
        if file.suffix not in SUFFIXES:
            raise UsageError(f"{path}: a table must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.")
        try:
            with reading(file):
                return self._with_targets(self._read(file))
        except UnicodeError:
            raise UsageError(
                f"{path} must be text in {self.encoding}. Set encoding, for example to 'latin-1' or 'utf-16'; in "
                "`bfc-bench try` by --set encoding=latin-1."
            ) from None
        except LookupError:
            raise UsageError(f"{path}: encoding must be one that Python knows. Got {self.encoding!r}.") from None
        except (ValueError, ImportError, Warning) as error:  # errors of pandas and of pyarrow are ValueErrors
            text = " ".join(error_text(error).split()).rstrip(".")
            raise UsageError(f"{path} is no table: {text}. {self._remark(file)}".strip()) from None

    def _with_targets(self, part: Part) -> Part:
        """The part without the rows that lack a target, if ``missing_target`` says so."""
        if self.missing_target is None or self.target not in part.frame:
            return part
        kept = part.frame.dropna(subset=[self.target])
        return replace(part, frame=kept, where=f"{part.where}, rows with {self.target!r}")

    def _read(self, path: Path) -> Part:
        import pandas as pd

        if path.suffix == ".parquet":
            return Part(pd.read_parquet(path), str(path))
        form: dict[str, Any] = {"sep": self._separator(path), "encoding": self.encoding}
        names = pd.read_csv(path, header=None, nrows=1, dtype=str, **form).iloc[0].dropna()
        if twice := names[names.duplicated()].tolist():
            raise UsageError(f"{path}: two columns are named {twice[0]!r}. Give each column its own name.")
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # for lines that are longer than the header
            frame = pd.read_csv(
                path,
                decimal=self.decimal,
                index_col=False,
                low_memory=False,  # else one column may get several types
                na_values=self.missing_texts or None,
                **exact_floats(pd.__version__),
                **form,
            )
        return Part(frame, str(path), self.decimal, self._remark(path))

    def _separator(self, path: Path) -> str:
        return self.separator or ("\t" if path.suffix == ".tsv" else ",")

    def _remark(self, path: Path) -> str:
        if path.suffix == ".parquet":
            return ""
        return f"It was read with separator {self._separator(path)!r}; set separator if that is wrong."


def exact_floats(version: str) -> dict[str, str]:
    """Options with which pandas reads numbers to the last digit, as it does by default from 3.1 on."""
    return {} if tuple(map(int, version.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}
