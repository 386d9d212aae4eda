"""``bfc-bench results``: print or export one row per cell, or N*, exponents, curves or verdicts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from bfc_bench.cli.options import STORE, LabelOption, StoreOption, SuiteArgument, TaskOption, console
from bfc_bench.cli.records import Format, What, encoded, for_readers, latex, print_records, readable, selected_records
from bfc_bench.cli.tables import MEASURED, print_table
from bfc_bench.errors import UsageError, suggest

if TYPE_CHECKING:
    from bfc_bench.store.row import Row
    from bfc_bench.stored_suite import StoredSuite

TABLE = ("task", "label", "d", "n", "replicate", "status", "nmse", "error_rate", "fit_cpu_seconds", "reason")
"""Columns of the table, besides axes; those of errors and reasons only if some row has a value."""
IF_ANY = ("nmse", "error_rate", "reason")
SHOWN = 100
"""Rows of a table that a terminal shows by default; a pipe gets all."""
MORE = "--first 0 shows all; --task, --learner and --status select; --format csv is for programs."


def results(
    suite: SuiteArgument,
    what: Annotated[
        What, typer.Option("--what", help="One line per cell; or N*, exponents, learning curves or verdicts.")
    ] = "cells",
    format: Annotated[
        Format, typer.Option("--format", help="Output format; parquet needs --output or a pipe.")
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
) -> None:
    """Print or export the results of a suite: its rows, one per cell, or what is computed from them.

    `--all`, `--status`, `--columns` and `--first` are for cells. CSV has no `stages` unless `--columns` names them.
    """
    from bfc_bench.store.export import axis_columns
    from bfc_bench.store.row import COLUMNS
    from bfc_bench.stored_suite import open_store

    named = [name.strip() for name in columns.split(",")] if columns else []
    _check_output(format, output, first)
    of_cells = {"--all": every, "--status": status, "--columns": named, "--first": first is not None}
    if what != "cells" and (wrong := [option for option, value in of_cells.items() if value]):
        raise UsageError(f"{wrong[0]} is for --what cells. Got --what {what}.")
    if what == "claims" and (task or learner):
        raise UsageError(f"{'--task' if task else '--learner'} does not select claims: `bfc-bench claims SUITE CLAIM`.")
    with open_store(store) as suites:
        stored, asked_for = suites[suite], {"task": task, "label": learner, "status": status}
        axes = axis_columns(stored.axes(every=every))
        if unknown := [name for name in named if name not in axes and name.partition(".")[0] not in COLUMNS]:
            raise UsageError(f"--columns: there is no column {unknown[0]!r}.{suggest(unknown[0], (*COLUMNS, *axes))}")
        filters = _checked_filters(asked_for, lambda name: stored.distinct(name, every=every))
        if what == "cells":
            _export_cells(stored, filters, named, axes, first, format, output, every=every)
        elif format == "table":
            print_records(stored, what, filters)
        elif format == "latex":
            _write(output, [latex(stored, what, *for_readers(stored, what, filters))])
        else:
            _write(output, [encoded(selected_records(stored, what, filters), format)])


def _export_cells(
    stored: StoredSuite, kept: Mapping[str, Sequence[str]], named: list[str], axes: dict[str, list[Any]],
    first: int | None, format: Format, output: Path | None, *, every: bool,
) -> None:  # fmt: skip
    """Print or write the rows with the values in ``kept``, with the columns ``named``, or all.

    Rows are read once for each thing that must be known of all of them, since a million need not fit into memory.
    """
    from bfc_bench.store.export import csv_parts, json_parts, parquet_bytes
    from bfc_bench.store.row import COLUMNS

    @contextmanager
    def chosen() -> Iterator[Iterator[Row]]:
        with closing(stored.each(every=every)) as each:  # before the store closes, also if a pipe breaks
            yield (row for row in each if all(getattr(row, name) in values for name, values in kept.items()))

    if named or format not in ("table", "latex"):
        flat = format not in ("json", "parquet")
        every_column = [name for name in (*COLUMNS, *axes) if name != "stages" or not flat]
        with chosen() as rows:
            named, nested = _with_nested(named or every_column, rows, flat=flat)
        if format == "parquet" and nested:
            with chosen() as rows:
                cells = [row.cells(nested) for row in rows]
            axes |= {name: [c[k] for c in cells if c[k] is not None] for k, name in enumerate(nested)}
    with chosen() as rows:
        match format:
            case "table":
                _print_table(rows, named, list(axes), first)
            case "latex":
                _write(output, [latex(stored, "cells", *_table(list(rows), named, list(axes)))])
            case "csv":
                _write(output, csv_parts(rows, named))
            case "json":
                _write(output, json_parts(rows, named))
            case "parquet":
                _write(output, [parquet_bytes(rows, named, axes)])


def _check_output(format: str, output: Path | None, first: int | None) -> None:
    """Raise ``UsageError`` if an option does not go with the format."""
    if first is not None and format != "table":
        raise UsageError(f"--first is for --format table. Got --format {format}.")
    if format == "table" and output is not None:
        raise UsageError("--output is for --format csv, latex, json or parquet.")
    if format == "parquet" and output is None and sys.stdout.isatty():
        raise UsageError("--format parquet is binary: give --output FILE or redirect.")


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
    header, lines = _table(begun, named, axes)
    later = () if most else (list(map(readable, row.cells(header))) for row in rows)
    print_table(console(), header, chain(lines, later), omit=[("fit_cpu_seconds",)])
    if most and next(rows, None) is not None:
        typer.echo(f"bfc-bench: rows shown: {most}; there are more. {MORE}", err=True)


def _table(rows: Sequence[Row], named: Sequence[str], axes: Sequence[str]) -> tuple[list[str], Iterator[list[str]]]:
    """Head and lines of a table of rows: the columns that are named, else those that have values."""
    header = [*TABLE[:2], *axes, *TABLE[2:]]
    unused = [name for name in IF_ANY if all(getattr(row, name) in (None, "") for row in rows)]
    header = list(named) or [name for name in header if name not in unused]
    return header, (list(map(readable, row.cells(header))) for row in rows)


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
        choices = get_args(Status) if name == "status" else known_of(name)
        if unknown := [value for value in values if value not in choices]:
            option = "learner" if name == "label" else name
            raise UsageError(f"--{option}: no row has {unknown[0]!r}.{suggest(unknown[0], choices)}")
    return filters
