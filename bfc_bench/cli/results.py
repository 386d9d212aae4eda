"""``bfc-bench results``: one row per cell."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bfc_bench.cli.options import STORE, StoreOption, SuiteArgument, console

if TYPE_CHECKING:
    from rich.console import Console

    from bfc_bench.store.row import Row
    from bfc_bench.store.rows import Rows
    from bfc_bench.stored_suite import StoredSuite

FITTED_ROWS = 300
"""Up to so many rows a table is fitted to the width of the terminal, which takes a millisecond a row."""
NUMBERS = {
    "nmse": "NMSE",
    "nmse_trimmed": "trimmed",
    "error_rate": "error rate",
    "train_nmse": "train",
    "fit_cpu_seconds": "CPU s",
}
"""What is printed of a row, with its title; error rates where there are some."""
READ = (*NUMBERS, "release", "device", "learner_version", "chosen.data")
"""What is read of a row, beside what tells its cell: what is printed, what N* is of, and what made it."""
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
    from bfc_bench.store.export import csv_parts, json_parts, parquet_bytes
    from bfc_bench.stored_suite import open_store

    writers: dict[str, Callable[[Iterable[Row]], Iterable[bytes | memoryview]]]
    writers = {"csv": csv_parts, "json": json_parts, "parquet": lambda rows: [parquet_bytes(rows)]}
    if format not in ("table", *writers):
        raise UsageError(f"--format must be table, csv, json or parquet. Got {format!r}.")
    if format == "parquet" and output is None and sys.stdout.isatty():
        raise UsageError("--format parquet is binary: give --output FILE or redirect.")
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        wrong = "is a folder" if output.is_dir() else f"lies in {output.parent}, which is no folder"
        raise UsageError(f"--output must name a file to write. {output} {wrong}.")
    with open_store(store) as held:
        if format == "table" and output is None:
            stored = held[suite]
            rows = stored.columns(every=every, only=READ)
            _print_table(rows)
            if not every:
                _print_ill_behaved(stored, rows)
            return
        parts = writers.get(format, csv_parts)(held[suite].each(every=every))
        if output is None:
            sys.stdout.buffer.writelines(parts)
            sys.stdout.buffer.flush()
        else:
            write_file(output, parts)


def _print_table(rows: Rows) -> None:
    from bfc_bench.store.origins import origin_remarks

    out = console()
    header, columns = _columns(rows)
    if len(rows) > FITTED_ROWS:
        _print_columns(header, columns)
    else:
        _print_fitted(header, zip(*columns(), strict=True), out)
    for remark in origin_remarks(rows):
        out.print(remark, markup=False, highlight=False, soft_wrap=True)


def _columns(rows: Rows) -> tuple[list[str], Callable[[], Iterable[Iterable[str]]]]:
    """The head of the table, and what gives its columns anew each time: a million lines need not be held."""
    from bfc_bench.store.origins import ORIGIN
    from bfc_bench.store.row import Origin

    def texts() -> Iterator[Iterable[str]]:
        yield from (rows.column(name) for name in ("task", "label"))
        yield from (map(str, numbers.tolist()) for numbers in (rows.d, rows.n, rows.replicate))
        yield rows.column("status")
        yield from (numbers(rows.number(name).tolist()) for name in shown)
        yield rows.column_of("reason", lambda reason: reason.split("\n")[0])
        if several:
            yield map(origin, *map(rows.column, ORIGIN))

    def numbers(values: Sequence[float]) -> Iterator[str]:
        return ("" if math.isnan(value) else f"{value:.3g}" for value in values)

    def origin(*made: Any) -> str:
        return str(Origin(*made))

    several = len({tuple(made) for status, *made in rows.groups("status", *ORIGIN) if status != "skipped"}) > 1
    shown = {
        k: title
        for k, title in NUMBERS.items()
        if k != "error_rate" or any(not math.isnan(v) for v in rows.number(k).tolist())
    }
    header = ["task", "label", "d", "n", "rep", "status", *shown.values(), "reason"]
    return [*header, *["made by"] * several], texts


def _print_ill_behaved(stored: StoredSuite, rows: Rows) -> None:
    from bfc_bench.report.tables import remark_on, sample_size

    for found in stored.thresholds(rows=rows):
        if remark := remark_on(found.threshold):
            size = sample_size(found.threshold)[0]
            text = f"{found.task}, d = {found.d}, {found.label}: N*({found.level:g}) = {size}, {remark}"
            console().print(text, markup=False, highlight=False, soft_wrap=True)


def _print_fitted(header: Sequence[str], lines: Iterable[Sequence[str]], out: Console) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(*header, box=None, header_style="bold")
    for line in lines:
        table.add_row(*map(escape, line))
    out.print(table)


def _print_columns(header: Sequence[str], columns: Callable[[], Iterable[Iterable[str]]]) -> None:
    widths = [max(map(len, chain([name], column))) for name, column in zip(header, columns(), strict=True)]
    form = "".join(f" {{:{min(width, WIDEST)}}} " for width in widths).format
    lines = chain([header], zip(*columns(), strict=True))
    sys.stdout.writelines(form(*line).rstrip() + "\n" for line in lines)
