"""``bfc-bench results``: print or export one row per cell."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from bfc_bench.cli.options import STORE, StoreOption, SuiteArgument, TaskOption, console

if TYPE_CHECKING:
    from bfc_bench.store.row import Row
    from bfc_bench.store.rows import Rows
    from bfc_bench.stored_suite import StoredSuite

NUMBERS = {
    "nmse": "NMSE",
    "nmse_trimmed": "trimmed",
    "error_rate": "error rate",
    "train_nmse": "train",
    "fit_cpu_seconds": "CPU s",
}
"""Columns of numbers that are printed, with their titles; error rates only if there are any."""
READ = (*NUMBERS, "release", "device", "learner_version", "chosen.data", "axes")
"""Columns to read, besides those that identify a cell: the printed ones, those of N* and the origin of a row."""
SHOWN = 100
"""Rows of a table that a terminal shows by default; a pipe gets all."""
MORE = "--first 0 shows all; --task, --label and --status select; --format csv is for programs."
OMITTED = (("trimmed",), ("train",), ("CPU s",))
"""Columns that a narrow terminal does not show."""


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("results")(results)


def results(
    suite: SuiteArgument,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="table|csv|json|parquet|lcdb|croissant",
            help="Output format; parquet needs --output or a pipe, croissant a folder.",
        ),
    ] = "table",
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE|DIR", help="Write to this file; for croissant, folder.")
    ] = None,
    store: StoreOption = STORE,
    every: Annotated[
        bool, typer.Option("--all", help="Include rows of older definitions of the tasks and learners.")
    ] = False,
    task: TaskOption = None,
    label: Annotated[
        list[str] | None, typer.Option("--label", metavar="NAME", help="Restrict to this label. Repeatable.")
    ] = None,
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
    license: Annotated[
        str, typer.Option("--license", metavar="SPDX", help="In croissant, the licence that you give the rows.")
    ] = "CC-BY-4.0",
) -> None:
    """Print the rows of a suite, one per cell.

    In CSV, texts that a spreadsheet would take for formulas begin with an apostrophe. The format croissant writes two
    files into a folder: rows.parquet, and croissant.json, which describes its columns.
    """
    from bfc_bench.errors import UsageError, suggest
    from bfc_bench.store.export import axis_columns, csv_parts, json_parts, parquet_bytes
    from bfc_bench.store.lcdb import lcdb_parts
    from bfc_bench.store.row import AXES, COLUMNS
    from bfc_bench.stored_suite import open_store

    if first is None:
        first = SHOWN if sys.stdout.isatty() else 0
    named = [name.strip() for name in columns.split(",")] if columns else []
    if unknown := [name for name in named if name.partition(".")[0] not in (*COLUMNS, AXES[:-1])]:
        raise UsageError(f"--columns: there is no column {unknown[0]!r}.{suggest(unknown[0], COLUMNS)}")
    axes: dict[str, list[Any]] = {}
    writers: dict[str, Callable[[Iterable[Row]], Iterable[bytes | memoryview]]] = {
        "csv": lambda rows: csv_parts(rows, named, raw=raw),
        "json": lambda rows: json_parts(rows, named),
        "parquet": lambda rows: [parquet_bytes(rows, named, axes)],
        "croissant": lambda rows: [parquet_bytes(rows, named, axes)],
        "lcdb": lambda rows: lcdb_parts(rows, stored.definition["test_size"]),
    }
    if format not in ("table", *writers):
        raise UsageError(f"--format must be table, csv, json, parquet, lcdb or croissant. Got {format!r}.")
    _check_output(format, output, license, raw=raw)
    with open_store(store) as suites:
        stored, wanted = suites[suite], {"task": task, "label": label, "status": status}
        if format == "table" and output is None and not columns:
            all_rows = stored.columns(every=every, only=READ)
            filters = _checked_filters(wanted, all_rows)
            rows = all_rows.where(task=filters.get("task"), label=filters.get("label"), status=filters.get("status"))
            _print_table(rows, first)
            if not every and not status:  # cells of one status alone give no curves
                _print_ill_behaved(stored, rows)
            return
        axes |= axis_columns(stored.axes(every=every))
        if unknown := [name for name in named if name.startswith(AXES) and name not in axes]:
            raise UsageError(f"--columns: the rows have no axis {unknown[0]!r}.{suggest(unknown[0], axes)}")
        kept = _checked_filters(wanted, stored.columns(every=every, only=("status",))) if any(wanted.values()) else {}

        def chosen_of(rows: Iterable[Row]) -> Iterator[Row]:
            return (row for row in rows if all(getattr(row, name) in values for name, values in kept.items()))

        with closing(stored.each(every=every)) as each:
            named, nested = _with_nested(named or [*COLUMNS, *axes], chosen_of(each), flat=format in ("csv", "table"))
        if format in ("parquet", "croissant") and nested:
            with closing(stored.each(every=every)) as each:
                lines = [[row.value(name) for name in nested] for row in chosen_of(each)]
            axes |= {name: [line[k] for line in lines if line[k] is not None] for k, name in enumerate(nested)}
        with closing(stored.each(every=every)) as each:  # before the store closes, also if a pipe breaks
            chosen = chosen_of(each)
            if format == "table" and output is None:
                _print_chosen(named, chosen, first)
                return
            parts = writers.get(format, writers["csv"])(chosen)
            if format == "croissant":
                _write_croissant(output, stored, parts, license)
            else:
                _write(output, parts)


def _check_output(format: str, output: Path | None, licence: str, *, raw: bool) -> None:
    """Raise ``UsageError`` if the format cannot be written there, or ``raw`` or the licence does not go with it."""
    from bfc_bench.bundle.metadata import LICENCE, check_licence
    from bfc_bench.errors import UsageError

    if raw and format != "csv":
        raise UsageError(f"--raw is for --format csv. Got --format {format}.")
    if format == "parquet" and output is None and sys.stdout.isatty():
        raise UsageError("--format parquet is binary: give --output FILE or redirect.")
    if licence != LICENCE and format != "croissant":
        raise UsageError(f"--license is for --format croissant. Got --format {format}.")
    check_licence(licence)
    if format == "croissant":
        if output is None or (output.exists() and not output.is_dir()) or not output.parent.is_dir():
            given = "" if output is None else f" Got {output}."
            raise UsageError(
                f"--format croissant writes two files: --output must name a folder, in one that exists.{given}"
            )
    elif output is not None and (output.is_dir() or not output.parent.is_dir()):
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


def _write_croissant(
    folder: Path | None, stored: StoredSuite, parts: Iterable[bytes | memoryview], licence: str
) -> None:
    """Write rows.parquet, and croissant.json, which describes it."""
    import pyarrow as pa
    from pyarrow import parquet

    from bfc_bench.bundle.archive import ROWS
    from bfc_bench.bundle.croissant import FILE, croissant
    from bfc_bench.bundle.metadata import ANONYMOUS, About
    from bfc_bench.utils.files import make_folder, write_file
    from bfc_bench.utils.plain_json import readable_json

    assert folder is not None
    rows = b"".join(parts)
    count = parquet.read_metadata(pa.BufferReader(rows)).num_rows
    last = max([session["finished_at"] or session["started_at"] for session in stored.sessions], default=0.0)
    about = About(
        title=f"Results of {stored.name}@{stored.version} of bfc-bench",
        authors=ANONYMOUS,
        licence=licence,
        finished_at=last,
        description=f"{count} rows of bfc-bench on sample complexity.",
    )
    make_folder(folder)
    write_file(folder / ROWS, rows)
    write_file(folder / FILE, readable_json(croissant(about, {ROWS: rows})))


def _with_nested(named: Sequence[str], rows: Iterable[Row], *, flat: bool) -> tuple[list[str], list[str]]:
    """The columns to write, and those of them that are nested values, such as ``metrics.largest_error``.

    Args:
        named: The columns that are wanted.
        rows: The rows to write.
        flat: Whether a column with nested values is replaced by them.

    Raises:
        UsageError: No row has a nested value.
    """
    from bfc_bench.errors import UsageError, suggest
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


def _checked_filters(wanted: Mapping[str, Sequence[str] | None], rows: Rows) -> dict[str, Sequence[str]]:
    """The wanted values by column. Raises ``UsageError`` for an unknown status or a value that no row has."""
    from bfc_bench.errors import UsageError, suggest
    from bfc_bench.store.row import Status

    filters = {name: values for name, values in wanted.items() if values}
    for name, values in filters.items():
        known = get_args(Status) if name == "status" else sorted(set(rows.column(name)))
        if unknown := [value for value in values if value not in known]:
            raise UsageError(f"--{name}: no row has {unknown[0]!r}.{suggest(unknown[0], known)}")
    return filters


def _print_chosen(named: Sequence[str], rows: Iterator[Row], first: int) -> None:
    """Print these columns of the ``first`` rows, of all if it is 0."""
    from bfc_bench.cli.tables import print_lines
    from bfc_bench.store.export import as_text

    values = ([row.value(name) for name in named] for row in islice(rows, first or None))
    texts = [["" if value is None else str(as_text(value)) for value in line] for line in values]
    print_lines(console(), named, texts, keys=len(named))
    if next(rows, None) is not None:
        typer.echo(f"bfc-bench: {first} rows are shown, and there are more. {MORE}", err=True)


def _print_table(rows: Rows, first: int) -> None:
    """Print the ``first`` rows, all if it is 0, and what is to be said of the origin of all."""
    from bfc_bench.cli.tables import print_prose, print_table
    from bfc_bench.store.row_origin import origin_remarks

    out = console()
    header, columns = _columns(rows[: first or None])
    print_table(out, header, columns, keys=header.index("status"), omit=OMITTED, prose=True)
    if first and len(rows) > first:
        typer.echo(f"bfc-bench: {first} of {len(rows):,} rows are shown. {MORE}", err=True)
    for remark in origin_remarks(rows):
        print_prose(out, remark)


def _columns(rows: Rows) -> tuple[list[str], Callable[[], Iterable[Iterable[str]]]]:
    """The header, and a function that yields the columns; it is called twice, so that no table is kept in memory."""
    from bfc_bench.store.row import Origin
    from bfc_bench.store.row_origin import ORIGIN
    from bfc_bench.suite.axes import value_key

    def texts() -> Iterator[Iterable[str]]:
        yield from (rows.column(name) for name in ("task", "label"))
        yield from (rows.mapped_column("axes", partial(at_axis, axis)) for axis in axes)
        yield from (map(str, numbers.tolist()) for numbers in (rows.d, rows.n, rows.replicate))
        yield rows.column("status")
        yield from (numbers(rows.number(name).tolist()) for name in shown)
        if several:
            yield map(origin, *map(rows.column, ORIGIN))
        yield rows.mapped_column("reason", lambda reason: reason.split("\n")[0])

    def numbers(values: Sequence[float]) -> Iterator[str]:
        return ("" if math.isnan(value) else f"{value:.3g}" for value in values)

    def at_axis(axis: str, values: Mapping[str, Any] | None) -> str:
        return value_key(values[axis]) if values and axis in values else ""

    def origin(*made: Any) -> str:
        return str(Origin(*made))

    axes = rows.axes
    made = {(label, *made) for status, label, *made in rows.groups("status", "label", *ORIGIN) if status != "skipped"}
    several = len(made) > len({label for label, *_ in made}) or len({(release, at) for _, release, at, _ in made}) > 1
    shown = {
        k: title
        for k, title in NUMBERS.items()
        if k != "error_rate" or any(not math.isnan(v) for v in rows.number(k).tolist())
    }
    header = ["task", "label", *axes, "d", "n", "rep", "status", *shown.values()]
    return [*header, *["made by"] * several, "reason"], texts


def _print_ill_behaved(stored: StoredSuite, rows: Rows) -> None:
    from bfc_bench.cli.tables import print_prose
    from bfc_bench.report.tables import ill_behaved_remark, sample_size

    for reached in stored.thresholds(rows=rows):
        if remark := ill_behaved_remark(reached.threshold):
            size = sample_size(reached.threshold)[0]
            text = f"{reached.task}, d = {reached.d}, {reached.label}: N*({reached.level:g}) = {size}, {remark}"
            print_prose(console(), text)
