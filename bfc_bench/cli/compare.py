"""``bfc-bench compare``: compare two learners of a suite, replicate by replicate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bfc_bench.cli.options import STORE, StoreOption, TaskOption, console, print_json

if TYPE_CHECKING:
    from bfc_bench.analysis.compare import Comparison
    from bfc_bench.store.row import Row


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("compare")(compare)


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="Label of a learner, or LABEL/STAGE.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Label of the other learner, or LABEL/STAGE.")],
    suite: Annotated[
        str | None,
        typer.Option("--suite", metavar="SUITE", help="Name or path of a suite; needed if the store has several."),
    ] = None,
    task: TaskOption = None,
    d: Annotated[
        list[int] | None, typer.Option("--d", metavar="D", min=1, help="Restrict to this dimension. Repeatable.")
    ] = None,
    metric: Annotated[
        str,
        typer.Option("--metric", metavar="COLUMN", help="Column of the results, or a path such as feature_errors.S2."),
    ] = "nmse",
    format: Annotated[str, typer.Option("--format", metavar="table|json", help="Output format.")] = "table",
    store: StoreOption = STORE,
) -> None:
    """Compare two learners at every n by paired tests over replicates."""
    from bfc_bench.analysis.compare import compare_labels
    from bfc_bench.errors import UsageError
    from bfc_bench.stored_suite import open_store

    if format not in ("table", "json"):
        raise UsageError(f"--format must be table or json. Got {format!r}.")
    if a == b:
        raise UsageError(f"compare: A and B must differ. Got {a!r} twice.")
    with open_store(store) as suites:
        if suite is None and len(suites) != 1:
            contents = f"holds {', '.join(suites)}" if len(suites) else "holds no suite"
            raise UsageError(f"compare: --suite is required, since the store in {store} {contents}.")
        rows = (suites.only() if suite is None else suites[suite]).rows()
    _require_known(rows, "--task", "task", task or ())
    _require_known(rows, "--d", "d", d or ())
    _require_known(rows, "compare", "label", [name.partition("/")[0] for name in (a, b)])
    rows = [row for row in rows if (not task or row.task in task) and (not d or row.d in d)]
    comparisons = compare_labels(rows, a, b, metric)
    if not comparisons:
        raise UsageError(f"compare: {a!r} and {b!r} have no {metric} at the same task, d and n.")
    if format == "json":
        print_json([comparison.as_dict() for comparison in comparisons])
    else:
        _print_table(comparisons)


def _require_known(rows: Sequence[Row], where: str, field: str, wanted: Sequence[Any]) -> None:
    """Raise ``UsageError`` for a value that no row has in ``field``."""
    from bfc_bench.errors import UsageError, suggest

    known = {str(getattr(row, field)) for row in rows}
    for value in map(str, wanted):
        if value not in known:
            raise UsageError(f"{where}: the results have no {field} {value!r}.{suggest(value, known)}")


def _print_table(comparisons: Sequence[Comparison]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from bfc_bench.analysis.curves import scale_of
    from bfc_bench.report.tables import number, with_interval

    differences = scale_of(comparisons[0].metric) == "linear"
    effect = f"{comparisons[0].a} {'-' if differences else '/'} {comparisons[0].b} [95 %]"
    columns = ("task", "d", "n", "metric", effect, "pairs", "p", "Holm p", "verdict")
    table = Table(*map(escape, columns), box=None, header_style="bold")
    for c in comparisons:
        verdict = c.verdict + (f" ({c.refused})" if c.refused else "")
        pairs = str(c.pairs) + (f" (+{c.unpaired} unpaired)" if c.unpaired else "")
        value = with_interval(c.difference if differences else c.ratio, c.lo, c.hi)
        cells = (c.task, c.d, c.n, c.metric, value, pairs, number(c.p), number(c.holm_p), verdict)
        table.add_row(*(escape(str(cell)) for cell in cells))
    out = console()
    out.print(table)
    mean = "Mean of the difference" if differences else "Geometric mean of the ratio"
    out.print(
        f"{mean} over replicates that both ran; below {0 if differences else 1} if the first is lower. Verdicts use "
        "the uncorrected p of a paired t-test; Holm p is adjusted for all n of one task and d.",
        highlight=False,
        soft_wrap=True,
    )
