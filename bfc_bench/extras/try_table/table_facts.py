"""Looks at a table: how it is written, which columns can be learned from, and how many rows there are to train on."""

import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bfc_bench.errors import UsageError
from bfc_bench.tasks.data.columns import COMMA_NUMBER, ColumnOptions, Part, values_of
from bfc_bench.tasks.data.table import Table
from bfc_bench.tasks.data_task import DataTask
from bfc_bench.tasks.labels.pointwise import Clean

SEPARATORS = (",", ";", "\t", "|")
"""Separators that are recognised."""
MOST_TEXTS = 100
"""A column of more different texts is left out, since it is a name or free text."""
GAP_TEXTS = frozenset({"?", "-", "--", ".", "unknown", "unbekannt", "missing", "k.A.", "n.a.", "n. a.", "keine Angabe"})
"""Texts that stand for a missing value if all other values of a column are numbers."""
LEAST_ROWS = 8
"""The smallest number of rows with a target."""
DENSE = 2
"""Whole numbers that all differ in a range of at most this many times their number are ids."""
YEARS = (1500, 2200)
ID_NAME = re.compile(r"(?i:(^|[^a-z])(ids?|uuid|guid|key|nr|no|number|index)([^a-z]|$))|[a-z]I[Dd]([^a-z]|$)")
"""Names of columns of ids, such as ``id``, ``patient_id``, ``customerID`` and ``Order No.``."""
SLASH_DATE = re.compile(r"\d{1,2}/\d{1,2}/\d{4}")
SLASH_FORMATS = {"%m/%d/%Y": "month/day/year", "%d/%m/%Y": "day/month/year"}
TEST_POINTS = 20_000
"""Number of test points that a suite asks for by default."""


@dataclass
class TableFacts:
    """What was found in a table."""

    data: dict[str, Any]
    """The table ``data`` of the suite's task, with the name of the file alone as ``path``."""
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
    """Standard deviation of a target of numbers."""
    columns: dict[str, str]
    """What each column holds, in words."""
    remarks: list[str]
    """What the reader should know or decide."""

    @property
    def target(self) -> str:
        """The column that is predicted."""
        return str(self.data["target"])


def facts_of_table(
    path: Path,
    target: str,
    *,
    group: str | None = None,
    time: str | None = None,
    drop: Collection[str] = (),
    given: Mapping[str, Any] = {},
) -> TableFacts:
    """What a table holds, and the options with which it can be a task; the columns in ``drop`` are left out."""
    if group and time:
        raise UsageError("--group and --time exclude each other; give one of the two.")
    split = {"split": {"group": group} if group else {"time": time}} if group or time else {}
    options: dict[str, Any] = {"target": target, **split, **given}
    remarks: list[str] = []
    needed = list(filter(None, (target, group, time)))
    part, offered = _read_well(path, options, needed, drop, remarks)
    for name in dict.fromkeys([*offered, *([time] if time else [])]):
        if name not in options.get("dates", {}) and len(forms := _slash_formats(part, name)) == 1:
            options["dates"] = {**options.get("dates", {}), name: forms[0]}
            remarks.append(f"dates of column {name!r} are read as {SLASH_FORMATS[forms[0]]}.")
    words = {name: _words(part, name, options) for name in offered if name not in (target, group, time)}
    remarks += [f"column {name!r} is left out: {why}." for name, (what, why) in words.items() if not what]
    meanings = {name: what for name, (what, _) in words.items() if what}
    if not meanings:
        why = "".join(f" {name!r}: {why}." for name, (_, why) in list(words.items())[:3])
        raise UsageError(f"{path}: there is no column to learn from beside {target!r}.{why}")
    if drop or len(meanings) < len(words):
        options["columns"] = list(meanings)
    if any("text" in what for what in meanings.values()):
        options.setdefault("categorical", "keep")
    if any("missing" in what for what in meanings.values()):
        options.setdefault("missing", "keep")
    if split:
        meanings[str(group or time)] = "groups" if group else "time"
    return _facts(path, options, len(part.frame), meanings, remarks)


def _read_well(
    path: Path, options: dict[str, Any], needed: Sequence[str], drop: Collection[str], remarks: list[str]
) -> tuple[Part, list[str]]:
    """The table, read with options and remarks that this adds, and the columns that may be learned from."""
    if path.suffix != ".parquet":
        options.setdefault("separator", _separator(path, options.get("encoding", "utf-8")))
    part = _read(path, options)
    part.require(*needed, *drop, *options.get("columns", []))
    if both := [name for name in needed if name in drop]:
        raise UsageError(f"--drop {both[0]}: another option needs this column.")
    if "decimal" not in options and (example := _comma_number(part)):
        options["decimal"] = ","
        remarks.append(f"numbers such as {example!r} are read with a decimal comma.")
        part = _read(path, options)
    offered = [str(name) for name in options.get("columns") or part.frame.columns if str(name) not in drop]
    target = options["target"]
    if gaps := sorted({text for name in {*offered, target} for text in _gap_texts(part, name)}):
        options["missing_texts"] = [*options.get("missing_texts", []), *gaps]
        part = _read(path, options)
    if unlabelled := int(part.frame[target].isna().sum()):
        options["missing_target"] = "drop"
        part = _read(path, options)
        remarks.append(f"rows without a value of {target!r} are left out: {unlabelled:,}.")
    if len(part.frame) < LEAST_ROWS:
        raise UsageError(f"{path}: {len(part.frame)} rows with a target are too few; try needs {LEAST_ROWS} or more.")
    return part, offered


def _are_ids(name: str, values: Any) -> bool:
    """Whether values name rows: whole numbers that all differ, and fill their range or stand in a column called an id.

    Quantities and times may all differ too, but then they spread over a range many times as large as their number:
    numbers drawn from a range of twice their number repeat. Only years may be dense, one row for each.
    """
    if values.dtype.kind not in "iu" or not values.is_unique:
        return False
    first, last = int(values.min()), int(values.max())
    dense = last - first < DENSE * len(values) and not (YEARS[0] <= first and last <= YEARS[1])
    return dense or ID_NAME.search(name) is not None


def _facts(path: Path, options: dict[str, Any], rows: int, columns: dict[str, str], remarks: list[str]) -> TableFacts:
    """The facts, for which the whole table is read with its options."""
    task = DataTask("try", _table(path, {**options, "standardize": True}), labels=Clean())
    classes = task.contents.classes
    data = {"kind": "table", "path": path.name, **options, "standardize": True}
    if classes and "split" not in options:
        data["stratify"] = True
    pool, tested = task.pool(TEST_POINTS), task.test_points(TEST_POINTS)
    deviation = float(np.asarray(task.contents.points.y, float).std())
    return TableFacts(data, rows, pool, tested, task.dimension, classes, deviation, columns, remarks)


def _table(path: Path, options: Mapping[str, Any]) -> Table:
    return Table.parse({"path": str(path.resolve()), **options}, str(path))


def _read(path: Path, options: Mapping[str, Any]) -> Part:
    return _table(path, options).read_part(str(path))


def _separator(path: Path, encoding: str) -> str:
    """The one of ``SEPARATORS`` that the first line has most often outside quotes."""
    line = ""
    with suppress(OSError, LookupError, UnicodeError), path.open(encoding=encoding, errors="replace") as file:
        line = file.readline()
    return max(SEPARATORS, key=re.sub('"[^"]*"', "", line).count)


def _comma_number(part: Part) -> str:
    """A number with a comma from a column most of whose texts are numbers with one; empty if there is none."""
    for name in part.frame.columns:
        texts = [text for text in part.frame[name] if isinstance(text, str)]
        numbers = list(filter(COMMA_NUMBER.fullmatch, texts))
        if 2 * len(numbers) > len(texts) and (with_comma := [text for text in numbers if "," in text]):
            return with_comma[0]  # other texts may stand for a missing value
    return ""


def _gap_texts(part: Part, name: str) -> set[str]:
    """Texts of a column of numbers that stand for missing values."""
    values = part.frame[name]
    _, wrong = part.numbers(name)
    texts = set(map(str, values.iloc[wrong]))
    return texts if texts <= GAP_TEXTS and len(wrong) < values.notna().sum() else set()


def _slash_formats(part: Part, name: str) -> list[str]:
    """Which of ``SLASH_FORMATS`` fit all values of a column; empty if they are no such dates."""
    import pandas as pd

    values = part.frame[name].dropna()
    if not len(values) or not all(isinstance(value, str) and SLASH_DATE.fullmatch(value.strip()) for value in values):
        return []
    texts = values.str.strip()
    return [form for form in SLASH_FORMATS if pd.to_datetime(texts, format=form, errors="coerce").notna().all()]


def _words(part: Part, name: str, options: Mapping[str, Any]) -> tuple[str, str]:
    """What a column holds, or else why it is left out."""
    values = part.frame[name].dropna()
    if values.dtype == object and not all(isinstance(value, Hashable) for value in values):
        return "", "it holds lists or structures"
    distinct, gaps = values.nunique(), len(part.frame) - len(values)
    if distinct < 2:
        return "", "it has one value only" if distinct else "it has no value"
    if "columns" not in options and (name.startswith("Unnamed: ") or (not gaps and _are_ids(name, values))):
        return "", "it looks like row numbers or ids; --set columns=[...] takes it nevertheless"
    given_options = {key: options[key] for key in ("categories", "dates") if key in options}
    read = values_of(part, name, ColumnOptions(categorical="keep", missing="keep", **given_options))
    is_text = read.dtype.kind != "f"
    if is_text and len(_slash_formats(part, name)) > 1:
        return "", f'its dates may be month/day or day/month: say it by --set \'dates={{"{name}"="%m/%d/%Y"}}\''
    if is_text and (distinct > MOST_TEXTS or 2 * distinct > len(values)):
        return "", f"its {distinct:,} different texts look like ids, names or free text"
    is_number = not len(part.numbers(name)[1])
    what = f"text, {distinct} categories" if is_text else "numbers" if is_number else "dates"
    return what + (f", {gaps:,} missing" if gaps else ""), ""
