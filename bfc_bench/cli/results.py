"""``bfc-bench results``: print or export one row per cell."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from bfc_bench.cli.options import STORE, LabelOption, StoreOption, SuiteArgument, TaskOption, console
from bfc_bench.cli.tables import MEASURED, print_table
from bfc_bench.errors import UsageError, suggest

if TYPE_CHECKING:
    from bfc_bench.store.row import Row

TABLE = ("task", "label", "d", "n", "replicate", "status", "nmse", "error_rate", "fit_cpu_seconds", "reason")
"""Columns of the table, besides axes; those of errors and reasons only if some row has a value."""
IF_ANY = ("nmse", "error_rate", "reason")
SHOWN = 100
"""Rows of a table that a terminal shows by default; a pipe gets all."""
MORE = "--first 0 shows all; --task, --learner and --status select; --format csv is for programs."
OMITTED = (("fit_cpu_seconds",),)
"""Columns that a narrow terminal does not show."""


def results(
    suite: SuiteArgument,
    format: Annotated[
        Literal["table", "csv", "json", "parquet"],
        typer.Option("--format", help="Output format; parquet needs --output or a pipe."),
    ] = "table",
    output: Annotated[Path | None, typer.Option("--output", metavar="FILE", help="Write to this file.")] = None,
    store: StoreOption = STORE,
    every: Annotated[
        bool, typer.Option("--all", help="Include rows of older definitions of the tasks and learners.")
    ] = False,
    task: TaskOption = None,
    learner: LabelOption = None,
    status: Annotated[
        list[str] | None,
        typer.Option("--status", metavar="ok|failed|...", help="Restrict to cells with this status. Repeatable."),
    ] = None,
    columns: Annotated[
        str, typer.Option("--columns", metavar="A,B,...", help="Print only these columns, in this order.")
    ] = "",
    first: Annotated[
        int | None,
        typer.Option(
            "--first",
            metavar="N",
            min=0,
            help=f"Rows of a table to print; 0 for all. In a terminal {SHOWN} by default.",
        ),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="In CSV, write texts unchanged, also those that begin like formulas.")
    ] = False,
) -> None:
    """Print the rows of a suite, one per cell.

    In CSV, texts that a spreadsheet would take for formulas begin with an apostrophe.
    """
    from bfc_bench.store.export import axis_columns, csv_parts, json_parts, parquet_bytes
    from bfc_bench.store.row import AXES, COLUMNS
    from bfc_bench.stored_suite import open_store

    named = [name.strip() for name in columns.split(",")] if columns else []
    if unknown := [name for name in named if name.partition(".")[0] not in (*COLUMNS, AXES[:-1])]:
        raise UsageError(f"--columns: there is no column {unknown[0]!r}.{suggest(unknown[0], COLUMNS)}")
    _check_output(format, output, raw=raw)
    with open_store(store) as suites:
        stored, wanted = suites[suite], {"task": task, "label": learner, "status": status}
        axes = axis_columns(stored.axes(every=every))
        if unknown := [name for name in named if name.startswith(AXES) and name not in axes]:
            raise UsageError(f"--columns: the rows have no axis {unknown[0]!r}.{suggest(unknown[0], axes)}")
        kept = _checked_filters(wanted, lambda name: stored.distinct(name, every=every))

        @contextmanager
        def chosen() -> Iterator[Iterator[Row]]:
            with closing(stored.each(every=every)) as each:  # before the store closes, also if a pipe breaks
                yield (row for row in each if all(getattr(row, name) in values for name, values in kept.items()))

        if named or format != "table":
            with chosen() as rows:
                flat = format in ("csv", "table")
                named, nested = _with_nested(named or [*COLUMNS, *axes], rows, flat=flat)
        if format == "parquet" and nested:
            with chosen() as rows:
                values = zip(*(row.cells(nested) for row in rows), strict=True)
                axes |= {name: [v for v in of if v is not None] for name, of in zip(nested, values, strict=False)}
        with chosen() as rows:
            if format == "table":
                _print_table(rows, named, list(axes), first)
            elif format == "csv":
                _write(output, csv_parts(rows, named, raw=raw))
            elif format == "json":
                _write(output, json_parts(rows, named))
            else:
                _write(output, [parquet_bytes(rows, named, axes)])


def _check_output(format: str, output: Path | None, *, raw: bool) -> None:
    """Raise ``UsageError`` if the format cannot be written there, or ``raw`` does not go with it."""
    if raw and format != "csv":
        raise UsageError(f"--raw is for --format csv. Got --format {format}.")
    if format == "table" and output is not None:
        raise UsageError("--output is for --format csv, json or parquet.")
    if format == "parquet" and output is None and sys.stdout.isatty():
        raise UsageError("--format parquet is binary: give --output FILE or redirect.")
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        reason = "is a folder" if output.is_dir() else f"is in {output.parent}, which is not a folder"
        raise UsageError(f"--output must name a file to write. {output} {reason}.")


def _write(output: Path | None, parts: Iterable[bytes | memoryview]) -> None:
    """Write to a file, or to the standard output."""
    from bfc_bench.utils.files import write_file

    if output is None:
        sys.stdout.buffer.writelines(parts)
        sys.stdout.buffer.flush()
    else:
        write_file(output, parts)


def _print_table(rows: Iterator[Row], named: Sequence[str], axes: Sequence[str], first: int | None) -> None:
    """Print columns of the ``first`` rows; of all if it is 0."""
    most = (SHOWN if sys.stdout.isatty() else 0) if first is None else first
    begun = list(islice(rows, most or MEASURED))
    header = [*TABLE[:2], *axes, *TABLE[2:]]
    unused = [name for name in IF_ANY if not any(getattr(row, name) for row in begun)]
    header = list(named) or [name for name in header if name not in unused]
    shown = begun if most else chain(begun, rows)
    print_table(console(), header, (list(map(_text, row.cells(header))) for row in shown), omit=OMITTED)
    if most and next(rows, None) is not None:
        typer.echo(f"bfc-bench: {most} rows are shown, and there are more. {MORE}", err=True)


def _text(value: Any) -> str:
    """A value in the table: numbers with three digits, a text's first line."""
    from bfc_bench.store.export import as_text

    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(as_text(value)).partition("\n")[0]


def _with_nested(named: Sequence[str], rows: Iterable[Row], *, flat: bool) -> tuple[list[str], list[str]]:
    """The columns to write, and those of them that are nested values, such as ``metrics.largest_error``."""
    from bfc_bench.store.export import dotted_columns
    from bfc_bench.store.row import AXES, COLUMNS

    wanted = [name for name in named if "." in name and not name.startswith(AXES)]
    if not flat and not wanted:
        return list(named), []
    parents = {name.partition(".")[0] for name in named}
    inside = dotted_columns(rows, [column for column in COLUMNS if column in parents])
    known = [name for names in inside.values() for name in names]
    if unknown := [name for name in wanted if name not in known]:
        column = unknown[0].partition(".")[0]
        why = suggest(unknown[0], known) if known else f" Their column {column!r} is empty."
        raise UsageError(f"--columns: the rows have no column {unknown[0]!r}.{why}")
    return [nested for name in named for nested in (inside.get(name, [name]) if flat else [name])], wanted


def _checked_filters(wanted: dict[str, list[str] | None], known_of: Callable[[str], list[str]]) -> dict[str, list[str]]:
    """The wanted values by column. Raises ``UsageError`` for an unknown status or a value that no row has."""
    from bfc_bench.store.row import Status

    filters = {name: values for name, values in wanted.items() if values}
    for name, values in filters.items():
        known = get_args(Status) if name == "status" else known_of(name)
        if unknown := [value for value in values if value not in known]:
            option = "learner" if name == "label" else name
            raise UsageError(f"--{option}: no row has {unknown[0]!r}.{suggest(unknown[0], known)}")
    return filters
