"""Lays out tables of the report: records become a header and lines of cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bfc_bench.report.tables import Record, number

T = TypeVar("T")


@dataclass(frozen=True)
class TableCell:
    """One cell of a table: a value, its interval below it, and remarks."""

    text: str
    detail: str = ""
    remarks: tuple[str, ...] = ()
    kind: str = ""
    """CSS class: ``label`` and ``status`` get a mark, ``text`` is aligned to the left and wraps."""
    address: str = ""
    """Target of a link; empty for none."""
    anchor: str = ""
    """Id of the cell in its page, for links to it; empty for none."""


@dataclass(frozen=True)
class ReportTable:
    """One table of the report."""

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
    """A table with one line per value of the attributes ``lines`` and one column per value of ``column``."""
    records = list(records)
    columns = list(dict.fromkeys(getattr(record, column) for record in records))
    if all(isinstance(value, int) for value in columns):
        columns.sort()
    rank = {label: index for index, label in enumerate(order)}
    keys = dict.fromkeys(tuple(getattr(record, name) for name in lines) for record in records)
    at = list(lines).index("label")
    ordered = sorted(keys, key=lambda key: rank.get(key[at], len(rank)))
    cells = {
        (tuple(getattr(record, name) for name in lines), getattr(record, column)): cell(record) for record in records
    }
    body = [
        [*map(plain_cell, lines, key), *(cells.get((key, value), TableCell("")) for value in columns)]
        for key in ordered
    ]
    return ReportTable(caption, [*lines.values(), *map(head, columns)], body, note)


def listing(caption: str, records: Iterable[Record], columns: Mapping[str, str], note: str = "") -> ReportTable:
    """A table with one line per record."""
    body = [[plain_cell(name, record.get(name)) for name in columns] for record in records]
    return ReportTable(caption, list(columns.values()), body, note)


def plain_cell(name: str, value: Any) -> TableCell:
    """The cell of a field: floats with two digits, everything else unchanged."""
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
    """A remark with the value of the worst replicate, which a mean hides; empty for nan."""
    return () if math.isnan(value) else (f"worst {number(value)}",)


def estimate(mean: float, lo: float, hi: float, *remarks: str, digits: int = 2) -> TableCell:
    """A cell with a mean and its interval."""
    interval = "" if math.isnan(lo) else f"[{number(lo, digits)}, {number(hi, digits)}]"
    return TableCell(number(mean, digits), interval, remarks)
