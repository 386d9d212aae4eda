"""What ``bfc-bench results --what`` prints or writes besides cells: N*, exponents, curves and verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from bfc_bench.cli.options import console
from bfc_bench.utils.plain_json import finite

if TYPE_CHECKING:
    from bfc_bench.stored_suite import StoredSuite

Record: TypeAlias = Mapping[str, Any]
What: TypeAlias = Literal["cells", "n-star", "exponents", "curves", "claims"]
Format: TypeAlias = Literal["table", "csv", "latex", "json", "parquet"]
LAYOUTS: Mapping[str, tuple[Sequence[str], str, Sequence[str]]] = {
    "exponents": (("task", "label", "level"), "exponent", ("d_first", "d_last")),
    "curves": (("task", "d", "label", "n", "metric"), "mean", ("replicates", "failed")),
    "claims": (("verdict", "id"), "estimate", ("region", "but")),
}
"""Columns of a table for readers: those before the number with its interval, the number, and those after, if any line
has a value there."""
HEADS = {"label": "learner", "id": "claim", "region": "claimed"} | {
    name: f"{name} [95 %]" for name in ("exponent", "mean", "estimate")
}
"""Heads of columns for readers."""
CAPTIONS: Mapping[str, str] = {
    "cells": "The rows of {}",
    "n-star": "Training points N* that an error takes in {}, geometric means over replicates with 95 \\% intervals",
    "exponents": "Exponents of N* in {}",
    "curves": "Mean errors by n in {}",
    "claims": "Verdicts on the claims of {}",
}
"""Captions of LaTeX's tables, for the name of a suite with its version."""
SYMBOLS = str.maketrans({"≤": r"$\leq$", "≥": r"$\geq$", ">": "$>$", "<": "$<$", "∞": r"$\infty$", "\N{EN DASH}": "--"})
"""Signs that LaTeX prints wrongly or not at all."""


def selected_records(stored: StoredSuite, what: str, kept: Mapping[str, Sequence[str]]) -> list[Record]:
    """Flat records of one kind, of the tasks and labels in ``kept``."""
    if what == "n-star":
        found: Iterable[Any] = stored.thresholds()
    elif what == "curves":
        found = (point for curve in stored.curves() for point in curve.points)
    else:
        found = stored.exponents() if what == "exponents" else stored.claims()
    records = (record.as_dict() for record in found)
    return [record for record in records if all(record[name] in values for name, values in kept.items())]


def for_readers(
    stored: StoredSuite, what: str, kept: Mapping[str, Sequence[str]]
) -> tuple[Sequence[str], list[list[str]]]:
    """Head and lines of a table in which a number has its interval beside it."""
    from bfc_bench.cli.summary import learners_table
    from bfc_bench.report.tables import summary_table, with_interval

    if what == "n-star":
        rows = stored.columns().where(task=kept.get("task"), label=kept.get("label"))
        return learners_table(summary_table(stored.curves(rows=rows), stored.levels), "task", "d")
    records = selected_records(stored, what, kept)
    before, number, after = LAYOUTS[what]
    names = [*before, number, *(name for name in after if any(record[name] not in ("", None) for record in records))]

    def cell(record: Record, name: str) -> str:
        return with_interval(record[name], record["lo"], record["hi"]) if name == number else readable(record[name])

    return [HEADS.get(name, name) for name in names], [[cell(record, name) for name in names] for record in records]


def print_records(stored: StoredSuite, what: str, kept: Mapping[str, Sequence[str]]) -> None:
    """Print a table; N* as after a run, a table for each task and d."""
    from bfc_bench.cli.summary import print_summary
    from bfc_bench.cli.tables import print_table

    if what == "n-star":
        print_summary(stored, console(), kept)
        return
    header, lines = for_readers(stored, what, kept)
    if lines:
        print_table(console(), header, lines)
    else:
        print(f"{stored.name} has no {what}.")


def encoded(records: Sequence[Record], format: Format) -> bytes:
    """Records as CSV, JSON or parquet."""
    import pandas as pd

    if format == "json":
        return (json.dumps([finite(record) for record in records], indent=1, ensure_ascii=False) + "\n").encode()
    frame = pd.DataFrame(records)
    if format == "parquet":
        return bytes(frame.to_parquet(index=False))
    return str(frame.to_csv(index=False)).encode()


def latex(stored: StoredSuite, what: str, header: Sequence[str], lines: Iterable[Sequence[str]]) -> bytes:
    """A table of LaTeX with a caption, for the package booktabs."""
    import pandas as pd

    caption = CAPTIONS[what].format(f"{stored.name}, version {stored.version}").replace("_", r"\_")
    text = pd.DataFrame(list(lines), columns=list(header)).to_latex(index=False, escape=True, caption=f"{caption}.")
    return str(text).translate(SYMBOLS).encode()


def readable(value: Any) -> str:
    """A value in a table: numbers with three digits, a text's first line."""
    from bfc_bench.store.export import as_text

    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(as_text(value)).partition("\n")[0]
