"""``bfc-bench compare``: two learners of a suite, replicate against replicate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bfc_bench.cli.options import STORE, StoreOption, TaskOption, print_json

if TYPE_CHECKING:
    from bfc_bench.store.row import Row
    from bfc_bench.store.store import Store

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
    from bfc_bench.api import read_results
    from bfc_bench.errors import UsageError
    from bfc_bench.store.store import Store

    if format not in ("table", "json"):
        raise UsageError(f"--format must be table or json. Got {format!r}.")
    if a == b:
        raise UsageError(f"compare: A and B must differ. Got {a!r} twice.")
    rows = read_results(suite or _only_suite(Store(store)), store=store)
    _check(rows, "--task", "task", task or ())
    _check(rows, "--d", "d", d or ())
    _check(rows, "compare", "label", [name.partition("/")[0] for name in (a, b)])
    rows = [row for row in rows if (not task or row.task in task) and (not d or row.d in d)]
    records = [record for group in _by_task(rows) for record in comparisons(group, a, b, metric)]
    if not records:
        raise UsageError(f"compare: {a!r} and {b!r} have no {metric} at the same task, d and n.")
    if format == "json":
        print_json(records)
    else:
        _print_table(records, a, b)


def comparisons(rows: Sequence[Row], a: str, b: str, metric: str) -> list[Record]:
    """One record per (d, n) of one task; ``error_rate`` where only that was measured."""
    from dataclasses import asdict

    from bfc_bench.analysis.claims.measures import label_curves
    from bfc_bench.analysis.compare import compare as paired
    from bfc_bench.report.tables import metric_of

    task = rows[0].task
    used = metric_of(rows, metric) if metric == "nmse" else metric
    of_a, of_b = ({curve.d: curve for curve in label_curves(rows, name, task, used)} for name in (a, b))
    return [
        {"task": task, "d": d, "metric": used, "a": a, "b": b, **asdict(comparison)}
        for d in sorted(of_a.keys() & of_b.keys())
        for comparison in paired(of_a[d], of_b[d])
    ]


def _only_suite(store: Store) -> str:
    from bfc_bench.errors import UsageError

    names = sorted({name for name, _ in store.suites()})
    if len(names) != 1:
        held = f"holds {', '.join(names)}" if names else "holds no suite"
        raise UsageError(f"compare: --suite is required, since the store in {store.directory} {held}.")
    return names[0]


def _check(rows: Sequence[Row], where: str, field: str, wanted: Sequence[Any]) -> None:
    """Raises ``UsageError`` for a value that no row has in ``field``."""
    from bfc_bench.errors import UsageError, suggest

    known = {str(getattr(row, field)) for row in rows}
    for value in map(str, wanted):
        if value not in known:
            raise UsageError(f"{where}: the results have no {field} {value!r}.{suggest(value, known)}")


def _by_task(rows: Sequence[Row]) -> list[list[Row]]:
    from bfc_bench.report.tables import by_task

    return list(by_task(rows).values())


def _print_table(records: Sequence[Record], a: str, b: str) -> None:
    from rich.console import Console
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
    console = Console()
    if not console.is_terminal:
        console.width = 200
    console.print(table)
    console.print(
        "Geometric mean of the ratio over replicates that both ran, below 1 where the first is lower. Verdicts use the "
        "uncorrected p of a paired t-test; Holm p is adjusted for all n of one task and d.",
        highlight=False,
        soft_wrap=True,
    )
