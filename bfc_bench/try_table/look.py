"""Looks at a table: which columns can be learned from, what they hold, and how many rows there are to train on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bfc_bench.errors import UsageError, suggest
from bfc_bench.tasks.data.columns import ColumnOptions, Part, encode
from bfc_bench.tasks.data.table import Table
from bfc_bench.tasks.data.text_table import shown_header
from bfc_bench.tasks.data_task import DataTask
from bfc_bench.tasks.labels.clean import Clean

MOST_TEXTS = 100
"""A column of more different texts is left out, since it is a name or free text."""
GAP_TEXTS = frozenset({"?", "-", "--", ".", "unknown", "unbekannt", "missing", "k.A.", "n.a.", "n. a.", "keine Angabe"})
"""Texts that stand for a missing value if all other values of a column are numbers."""
GROUP_WORDS = (
    "id",
    "patient",
    "subject",
    "person",
    "customer",
    "client",
    "user",
    "group",
    "household",
    "family",
    "site",
)
"""Words in the names of columns that often hold groups."""
TEST_POINTS = 20_000
"""Number of test points that a suite asks for by default."""


@dataclass
class TableFacts:
    """What was found in a table."""

    data: dict[str, Any]
    """The table ``data`` of the suite's task, with the name of the file alone as ``path``."""
    path: Path
    rows: int
    pool: int
    """Number of rows to train on."""
    tested: int
    """Number of rows to test on."""
    d: int
    """Number of columns of numbers that learners get."""
    classes: tuple[str, ...]
    """Names of the classes of the target; empty for numbers."""
    deviation: float
    """Standard deviation of a target of numbers; 1 for classes."""
    columns: dict[str, str] = field(default_factory=dict)
    """What each column holds, in words."""
    remarks: list[str] = field(default_factory=list)
    """What the reader should know or decide."""

    @property
    def target(self) -> str:
        """The column that is predicted."""
        return str(self.data["target"])


def look_at(
    path: Path,
    target: str,
    *,
    group: str | None = None,
    time: str | None = None,
    given: Mapping[str, Any] | None = None,
) -> TableFacts:
    """What a table holds, and the options with which it can be a task.

    Args:
        path: A CSV or parquet file.
        target: The column to be predicted.
        group: A column whose equal values are never on both sides of the split.
        time: A column in whose order rows are split.
        given: Options of the kind ``table`` that are not to be guessed, such as ``separator``.

    Raises:
        UsageError: The file cannot be read as a table, a column is unknown, or nothing can be learned.
    """
    if group and time:
        raise UsageError("--group and --time exclude each other; give one of the two.")
    split = {"group": group} if group else {"time": time} if time else None
    options = {"target": target, **({"split": split} if split else {}), **(given or {})}
    table = Table.parse({"path": str(path.resolve()), **options}, str(path))
    part = table.read_part(table.path)
    known = [str(name) for name in part.frame.columns]
    for option, name in (("--target", target), ("--group", group), ("--time", time)):
        if name is not None and name not in known:
            hint = suggest(name, known) or f" Its columns: {shown_header(known)}."
            remark = f" {part.remark}" if len(known) == 1 else ""
            raise UsageError(f"{option} {name}: {path} has no such column.{hint}{remark}")
    offered = [name for name in table.columns or known if name not in (target, group, time)]
    reading = ColumnOptions(categorical="keep", categories=table.categories, dates=table.dates, missing="keep")
    kept, words, remarks, gap_texts = _columns(part, offered, reading)
    if group or time:
        words[str(group or time)] = "groups" if group else "time"
    if not kept:
        raise UsageError(f"{path}: there is no column to learn from beside {target!r}.")
    if len(kept) < len(known) - 1 - bool(split):
        options["columns"] = kept
    if gap_texts:
        options["missing_texts"] = [*table.missing_texts, *gap_texts]
    if any("text" in words[name] for name in kept):
        options.setdefault("categorical", "keep")
    if any("missing" in words[name] for name in kept):
        options.setdefault("missing", "keep")
    if not group and not time:
        remarks += _group_remarks(part, known, target)
    return _facts(path, options, len(part.frame), {name: words[name] for name in known if name in words}, remarks)


def _facts(path: Path, options: dict[str, Any], rows: int, words: dict[str, str], remarks: list[str]) -> TableFacts:
    """The facts, for which the whole table is read with its options."""
    data = {"kind": "table", "path": path.name, **options, "standardize": True}
    table = Table.parse(
        {key: value for key, value in data.items() if key != "kind"} | {"path": str(path.resolve())}, ""
    )
    task = DataTask("try", table, Clean())
    contents = task.contents
    if contents.classes and "split" not in options:
        data["stratify"] = True
    y = np.asarray(contents.points.y, float)
    return TableFacts(
        data,
        path,
        rows,
        task.pool(TEST_POINTS),
        task.test_points(TEST_POINTS),
        task.dimension,
        contents.classes,
        1.0 if contents.classes else float(y.std()),
        words,
        remarks,
    )


def _columns(
    part: Part, columns: list[str], reading: ColumnOptions
) -> tuple[list[str], dict[str, str], list[str], list[str]]:
    """Columns to learn from, what each holds, remarks, and the texts that stand for missing values."""
    kept: list[str] = []
    words: dict[str, str] = {}
    remarks: list[str] = []
    gap_texts: list[str] = []
    for name in columns:
        series = part.frame[name]
        if texts := _gap_texts(series):
            gap_texts += [text for text in texts if text not in gap_texts]
            series = series.where(~series.isin(texts))
            part.frame[name] = series
        filled = series.dropna()
        gaps = len(series) - len(filled)
        distinct = filled.nunique()
        ends = f", {gaps:,} missing" if gaps else ""
        if distinct < 2:
            remarks.append(f"column {name!r} is left out: it has {'no value' if not distinct else 'one value only'}.")
            continue
        if name.startswith("Unnamed: "):
            remarks.append("the column without a name is left out: it looks like row numbers.")
            continue
        column = encode([part], [name], reading).columns[0]
        if column.levels and (distinct > MOST_TEXTS or 2 * distinct > len(filled)):
            remarks.append(
                f"column {name!r} is left out: its {distinct:,} different texts look like names or free text."
            )
            continue
        is_date = not column.levels and not _is_number_like(series)
        words[name] = (f"text, {distinct} categories" if column.levels else "dates" if is_date else "numbers") + ends
        kept.append(name)
    return kept, words, remarks, gap_texts


def _is_number_like(series: Any) -> bool:
    import pandas as pd

    return bool(pd.to_numeric(series.astype(object), errors="coerce").notna().any())


def _gap_texts(series: Any) -> list[str]:
    """Texts of a column of numbers that stand for missing values."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(series) or pd.api.types.is_datetime64_any_dtype(series):
        return []
    values = series.dropna().astype(object)
    texts = sorted({str(text) for text in values if str(text) in GAP_TEXTS})
    rest = values[~values.isin(texts)]
    numeric = pd.to_numeric(rest.map(lambda text: str(text).replace(",", ".")), errors="coerce")
    return texts if texts and len(rest) and bool(numeric.notna().all()) else []


def _group_remarks(part: Part, known: list[str], target: str) -> list[str]:
    """A question for a column whose values repeat and whose name says that it holds groups."""
    for name in known:
        parts = name.lower().replace("-", "_").replace(" ", "_").split("_")
        if name == target or not set(parts) & set(GROUP_WORDS):
            continue
        distinct = part.frame[name].nunique()
        if 2 <= distinct < len(part.frame) and distinct > MOST_TEXTS // 10:
            return [
                f"column {name!r} has {distinct:,} values in {len(part.frame):,} rows. If rows of one value belong "
                f"together, add --group {name!r}; otherwise the error is too small."
            ]
    return []
