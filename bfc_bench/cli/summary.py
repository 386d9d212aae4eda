"""The table of N* and errors that runs and ``results --what n-star`` print: a line per learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from bfc_bench.report.tables import Record
    from bfc_bench.stored_suite import StoredSuite

COUNTS = ("failed", "skipped")


def print_summary(
    stored: StoredSuite, console: Console, kept: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> None:
    """Print the answer of each task, a table for each task and d by N*, and where rows come from.

    ``kept`` has the tasks and labels to show, by ``task`` and ``label``; all by default.
    """
    from bfc_bench.cli.tables import print_table, print_text
    from bfc_bench.report.answers import answers_in_words
    from bfc_bench.report.tables import metric_name, summary_table
    from bfc_bench.store.row_origin import origin_remarks

    rows = stored.columns().where(task=kept.get("task"), label=kept.get("label"))
    for answer in answers_in_words(rows, stored.levels):
        print_text(console, answer)
    for (task, d), group in groupby(summary_table(rows, stored.levels), lambda record: (record["task"], record["d"])):
        records = list(group)
        names = summary_columns(records)
        at_n = [f", n = {n}" for n in sizes_of(records) if "n" not in names]
        print_text(console, f"\n{task}, d = {d}{''.join(at_n)}")
        header = {"label": "learner", "error": f"{metric_name(records[0]['metric'])} [95 %]"}
        lines = [["" if record[name] is None else str(record[name]) for name in names] for record in records]
        print_table(console, [header.get(name, name) for name in names], lines, omit=(COUNTS, ("censored",)))
    for remark in origin_remarks(rows):
        print_text(console, remark)


def summary_columns(records: list[Record]) -> list[str]:
    """The columns of a table of learners: sizes and counts only where they say something."""
    levels = [name for name in (records[0] if records else ()) if name.startswith("N*")]
    if_any = [name for name in ("censored", *COUNTS) if any(record[name] for record in records)]
    return ["label", *levels, "error", *["n"] * (len(sizes_of(records)) > 1), *if_any]


def sizes_of(records: list[Record]) -> set[int]:
    """The n of the errors."""
    return {record["n"] for record in records} - {None}
