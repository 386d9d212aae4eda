"""``bfc-bench results``: one row per cell."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from bfc_bench.cli.options import STORE, StoreOption, SuiteArgument


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
    from bfc_bench.api import read_results
    from bfc_bench.errors import UsageError

    writers = {"csv": _csv, "json": _json, "parquet": parquet_bytes}
    if format not in ("table", *writers):
        raise UsageError(f"--format must be table, csv, json or parquet. Got {format!r}.")
    rows = [row.as_dict() for row in read_results(suite, store=store, every=every)]
    if format == "table" and output is None:
        _print_table(rows)
        return
    if format == "parquet" and output is None and sys.stdout.isatty():
        raise UsageError("--format parquet is binary: give --output FILE or redirect.")
    data = writers.get(format, _csv)(rows)
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        output.write_bytes(data)


def _json(rows: list[dict[str, Any]]) -> bytes:
    return (json.dumps(rows, indent=1) + "\n").encode()


def _flat(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Nested values as JSON texts, for formats of plain columns."""
    return [{k: json.dumps(v) if isinstance(v, dict) else v for k, v in row.items()} for row in rows]


def _csv(rows: list[dict[str, Any]]) -> bytes:
    from bfc_bench.store.row import COLUMNS

    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_flat(rows))
    return text.getvalue().encode()


def parquet_bytes(rows: list[dict[str, Any]]) -> bytes:
    """Rows as a parquet file; nested columns hold JSON texts."""
    import pandas as pd

    from bfc_bench.store.row import COLUMNS

    buffer = io.BytesIO()
    pd.DataFrame(_flat(rows), columns=list(COLUMNS)).to_parquet(buffer, index=False)
    return buffer.getvalue()


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.3g}"

    table = Table(
        "task",
        "label",
        "d",
        "n",
        "rep",
        "status",
        "NMSE",
        "trimmed",
        "train",
        "CPU s",
        "reason",
        box=None,
        header_style="bold",
    )
    for row in rows:
        table.add_row(
            *(str(row[key]) for key in ("task", "label", "d", "n", "replicate", "status")),
            *(number(row[key]) for key in ("nmse", "nmse_trimmed", "train_nmse", "fit_cpu_seconds")),
            escape(row["reason"].split("\n")[0]),
        )
    console = Console()
    if not console.is_terminal:
        console.width = 200
    console.print(table)
