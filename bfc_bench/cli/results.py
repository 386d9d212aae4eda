"""``bfc-bench results``: one row per cell."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bfc_bench.cli.options import STORE, StoreOption, SuiteArgument, console

if TYPE_CHECKING:
    from rich.console import Console

    from bfc_bench.store.row import Row
    from bfc_bench.stored_suite import StoredSuite

FITTED_ROWS = 300
"""Up to so many rows a table is fitted to the width of the terminal, which takes a millisecond a row."""
WIDEST = 60
"""Characters to which the columns of a longer table are filled."""


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("results")(results)


def results(
    suite: SuiteArgument,
    format: Annotated[
        str,
        typer.Option(
            "--format", metavar="table|csv|json|parquet", help="How to print; parquet needs --output or a pipe."
        ),
    ] = "table",
    output: Annotated[Path | None, typer.Option("--output", help="Write to this file.")] = None,
    store: StoreOption = STORE,
    every: Annotated[
        bool, typer.Option("--all", help="Also rows made under older definitions of the suite's tasks and learners.")
    ] = False,
) -> None:
    """Print the rows of a suite."""
    from bfc_bench.errors import UsageError
    from bfc_bench.files import write_file
    from bfc_bench.store.export import csv_bytes, json_bytes, parquet_bytes
    from bfc_bench.stored_suite import open_store

    writers = {"csv": csv_bytes, "json": json_bytes, "parquet": parquet_bytes}
    if format not in ("table", *writers):
        raise UsageError(f"--format must be table, csv, json or parquet. Got {format!r}.")
    with open_store(store) as held:
        rows = held[suite].rows(every=every)
        if format == "table" and output is None:
            _print_table(rows)
            if not every:
                _print_ill_behaved(held[suite])
            return
    if format == "parquet" and output is None and sys.stdout.isatty():
        raise UsageError("--format parquet is binary: give --output FILE or redirect.")
    data = writers.get(format, csv_bytes)(rows)
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write_file(output, data)


def _print_table(rows: Sequence[Row]) -> None:
    from bfc_bench.store.origins import origin_remarks

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.3g}"

    several = len({row.origin for row in rows if row.status != "skipped"}) > 1
    header = ["task", "label", "d", "n", "rep", "status", "NMSE", "trimmed", "train", "CPU s", "reason"]
    header += ["made by"] if several else []
    lines = [
        [
            *map(str, (row.task, row.label, row.d, row.n, row.replicate, row.status)),
            *map(number, (row.nmse, row.nmse_trimmed, row.train_nmse, row.fit_cpu_seconds)),
            row.reason.split("\n")[0],
            *([str(row.origin)] if several else []),
        ]
        for row in rows
    ]
    out = console()
    if len(lines) > FITTED_ROWS:
        _print_columns([header, *lines])
    else:
        _print_fitted(header, lines, out)
    for remark in origin_remarks(rows):
        out.print(remark, markup=False, highlight=False, soft_wrap=True)


def _print_ill_behaved(stored: StoredSuite) -> None:
    from bfc_bench.report.tables import remark_on, sample_size

    for found in stored.thresholds():
        if remark := remark_on(found.threshold):
            size = sample_size(found.threshold)[0]
            text = f"{found.task}, d = {found.d}, {found.label}: N*({found.level:g}) = {size}, {remark}"
            console().print(text, markup=False, highlight=False, soft_wrap=True)


def _print_fitted(header: Sequence[str], lines: Sequence[Sequence[str]], out: Console) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(*header, box=None, header_style="bold")
    for line in lines:
        table.add_row(*map(escape, line))
    out.print(table)


def _print_columns(lines: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    form = "".join(f" {{:{min(width, WIDEST)}}} " for width in widths).format
    for line in lines:
        print(form(*line).rstrip())
