"""``bfc-bench compare``: two learners of a suite, replicate against replicate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bfc_bench.cli.options import STORE, StoreOption, TaskOption, console, print_json

if TYPE_CHECKING:
    from bfc_bench.store.row import Row

Record = dict[str, Any]


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("compare")(compare)


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="Label of a learner, or LABEL/STAGE.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Label of another, or LABEL/STAGE.")],
    suite: Annotated[
        str | None,
        typer.Option("--suite", metavar="SUITE", help="Name or path; the only suite in the store by default."),
    ] = None,
    task: TaskOption = None,
    d: Annotated[list[int] | None, typer.Option("--d", min=1, help="Only this dimension. Repeatable.")] = None,
    metric: Annotated[
        str, typer.Option("--metric", help="A column of the results, or a path such as feature_errors.S2.")
    ] = "nmse",
    format: Annotated[str, typer.Option("--format", metavar="table|json", help="How to print.")] = "table",
    store: StoreOption = STORE,
) -> None:
    """Compare two learners at every n by paired tests over replicates; no difference is called without evidence."""
    from bfc_bench.analysis.compare import compare_labels
    from bfc_bench.errors import UsageError
    from bfc_bench.stored_suite import open_store

    if format not in ("table", "json"):
        raise UsageError(f"--format must be table or json. Got {format!r}.")
    if a == b:
        raise UsageError(f"compare: A and B must differ. Got {a!r} twice.")
    with open_store(store) as held:
        if suite is None and len(held) != 1:
            holds = f"holds {', '.join(held)}" if len(held) else "holds no suite"
            raise UsageError(f"compare: --suite is required, since the store in {store} {holds}.")
        rows = (held[suite] if suite is not None else held.only()).rows()
    _check(rows, "--task", "task", task or ())
    _check(rows, "--d", "d", d or ())
    _check(rows, "compare", "label", [name.partition("/")[0] for name in (a, b)])
    rows = [row for row in rows if (not task or row.task in task) and (not d or row.d in d)]
    records = [record.as_dict() for record in compare_labels(rows, a, b, metric)]
    if not records:
        raise UsageError(f"compare: {a!r} and {b!r} have no {metric} at the same task, d and n.")
    if format == "json":
        print_json(records)
    else:
        _print_table(records, a, b)


def _check(rows: Sequence[Row], where: str, field: str, wanted: Sequence[Any]) -> None:
    """Raises ``UsageError`` for a value that no row has in ``field``."""
    from bfc_bench.errors import UsageError, suggest

    known = {str(getattr(row, field)) for row in rows}
    for value in map(str, wanted):
        if value not in known:
            raise UsageError(f"{where}: the results have no {field} {value!r}.{suggest(value, known)}")


def _print_table(records: Sequence[Record], a: str, b: str) -> None:
    from rich.markup import escape
    from rich.table import Table

    from bfc_bench.report.tables import number, with_interval

    columns = ("task", "d", "n", "metric", f"{a} / {b} [95 %]", "pairs", "p", "Holm p", "verdict")
    table = Table(*map(escape, columns), box=None, header_style="bold")
    for r in records:
        verdict = r["verdict"] + (f" ({r['refused']})" if r["refused"] else "")
        pairs = str(r["pairs"]) + (f" (+{r['unpaired']} unpaired)" if r["unpaired"] else "")
        ratio = with_interval(r["ratio"], r["lo"], r["hi"])
        cells = (r["task"], r["d"], r["n"], r["metric"], ratio, pairs, number(r["p"]), number(r["holm_p"]), verdict)
        table.add_row(*(escape(str(cell)) for cell in cells))
    out = console()
    out.print(table)
    out.print(
        "Geometric mean of the ratio over replicates that both ran, below 1 where the first is lower. Verdicts use the "
        "uncorrected p of a paired t-test; Holm p is adjusted for all n of one task and d.",
        highlight=False,
        soft_wrap=True,
    )
