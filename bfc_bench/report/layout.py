"""Tables laid out for reading: records turned into a header and lines of cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bfc_bench.report.tables import Record, number

T = TypeVar("T")


@dataclass(frozen=True)
class TableCell:
    """What stands in one place of a table: a value, its interval below it, and remarks."""

    text: str
    detail: str = ""
    remarks: tuple[str, ...] = ()
    kind: str = ""
    """Class of the cell: ``label`` and ``status`` get their mark, ``text`` is set to the left and wraps."""
    address: str = ""
    """What the text leads to; empty for nothing."""


@dataclass(frozen=True)
class ReportTable:
    """One table of the report, laid out."""

    caption: str
    header: Sequence[str]
    lines: Sequence[Sequence[TableCell]] = field(repr=False)
    note: str = ""


def pivot(
    caption: str,
    records: Iterable[T],
    lines: Mapping[str, str],
    column: str,
    cell: Callable[[T], TableCell],
    *,
    head: Callable[[Any], str] = str,
    order: Sequence[str] = (),
    note: str = "",
) -> ReportTable:
    """One line per distinct value of the attributes ``lines`` (attribute: heading), one column per value of ``column``.

    Lines come in the order of their labels in ``order``, columns ascending; ``cell`` makes a record's cell.
    """
    records = list(records)
    columns = list(dict.fromkeys(getattr(record, column) for record in records))
    if all(isinstance(value, int) for value in columns):
        columns.sort()
    rank = {label: index for index, label in enumerate(order)}
    keys = dict.fromkeys(tuple(getattr(record, name) for name in lines) for record in records)
    at = list(lines).index("label")
    ordered = sorted(keys, key=lambda key: rank.get(key[at], len(rank)))
    found = {
        (tuple(getattr(record, name) for name in lines), getattr(record, column)): cell(record) for record in records
    }
    body = [
        [*map(plain_cell, lines, key), *(found.get((key, value), TableCell("")) for value in columns)]
        for key in ordered
    ]
    return ReportTable(caption, [*lines.values(), *map(head, columns)], body, note)


def listing(caption: str, records: Iterable[Record], columns: Mapping[str, str], note: str = "") -> ReportTable:
    """One line per record, one column per field of ``columns`` (field: heading)."""
    body = [[plain_cell(name, record.get(name)) for name in columns] for record in records]
    return ReportTable(caption, list(columns.values()), body, note)


def plain_cell(name: str, value: Any) -> TableCell:
    """A field as a cell: numbers to two digits, names, texts and cells as they are."""
    if isinstance(value, TableCell):
        return value
    if name in ("label", "status", "verdict"):
        return TableCell(str(value), kind="label" if name == "label" else "status")
    if isinstance(value, bool | str):
        return TableCell(str(value), kind="text")
    if isinstance(value, int):
        return TableCell(f"{value:,}")
    return TableCell(number(value))


def worst(value: float) -> tuple[str, ...]:
    """The remark that names the worst replicate, which a mean hides; none where there is no such value."""
    return () if math.isnan(value) else (f"worst {number(value)}",)


def estimate(mean: float, lo: float, hi: float, *remarks: str, digits: int = 2) -> TableCell:
    """A mean with its interval, where it has one."""
    interval = "" if math.isnan(lo) else f"[{number(lo, digits)}, {number(hi, digits)}]"
    return TableCell(number(mean, digits), interval, remarks)
