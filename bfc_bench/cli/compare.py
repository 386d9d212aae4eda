"""``bfc-bench compare``: compare two learners of a suite, replicate by replicate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from bfc_bench.cli.options import STORE, DimsOption, FormatOption, StoreOption, TaskOption, console, print_json
from bfc_bench.cli.tables import print_table, print_text

if TYPE_CHECKING:
    from rich.console import Console

    from bfc_bench.analysis.compare import Comparison, ThresholdComparison

C = TypeVar("C", "Comparison", "ThresholdComparison")
NAMES_SHARE = 1 / 3
"""Fraction of the terminal that two labels in the head of a column may take."""
RULE = "A difference is called if Holm p is at most .05: the p of a paired t-test, adjusted for all tests of a task."


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="Label of a learner, or LABEL/STAGE.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Label of the other learner, or LABEL/STAGE.")],
    suite: Annotated[
        str | None,
        typer.Option("--suite", metavar="SUITE", help="Name or path of a suite; needed if the store has several."),
    ] = None,
    task: TaskOption = None,
    d: DimsOption = None,
    metric: Annotated[
        str,
        typer.Option("--metric", metavar="COLUMN", help="Column of the results, or a path such as feature_errors.S2."),
    ] = "nmse",
    level: Annotated[
        list[float] | None,
        typer.Option("--level", metavar="E", help="Compare N*(E), the samples to reach error E, instead. Repeatable."),
    ] = None,
    format: FormatOption = "table",
    store: StoreOption = STORE,
) -> None:
    """Compare two learners by paired tests over replicates: their errors at every n, or their N*."""
    from bfc_bench.stored_suite import open_store

    with open_store(store) as suites:
        stored = suites.only() if suite is None else suites[suite]
        if level:
            thresholds = stored.compare_thresholds(a, b, level, metric, tasks=task or (), dims=d or ())
            print_json([one.as_dict() for one in thresholds]) if format == "json" else _print_thresholds(thresholds)
            return
        comparisons = stored.compare(a, b, metric, tasks=task or (), dims=d or ())
    if format == "json":
        print_json([comparison.as_dict() for comparison in comparisons])
    else:
        _print_errors(comparisons)


def _print_thresholds(comparisons: Sequence[ThresholdComparison]) -> None:
    from bfc_bench.report.tables import number, sample_size, with_interval

    (a, b), out = _names(comparisons[0], console(), columns=2), console()
    header = ["d", "level", f"N* of {a}", f"N* of {b}", f"{a} / {b} [95 %]", "R", "Holm p", "verdict"]

    def line(c: ThresholdComparison) -> list[str]:
        sizes = [" ".join(sample_size(of)).strip() for of in (c.of_a, c.of_b)]
        ratio = with_interval(c.ratio, c.lo, c.hi)
        return [str(c.d), f"{c.level:g}", *sizes, ratio, str(c.replicates), number(c.holm_p), c.verdict]

    _print_by_task(out, comparisons, header, line)
    _print_remarks(out, {f"{c.task}, d = {c.d}, N*({c.level:g})": c.note for c in comparisons})
    print_text(
        out,
        "Geometric mean of the ratio of N* over replicates that both ran; below 1 if the first needs fewer samples. "
        f"{RULE} N* beyond the tested sizes enters as a bound.",
    )


def _print_errors(comparisons: Sequence[Comparison]) -> None:
    from bfc_bench.analysis.curves import scale_of
    from bfc_bench.report.tables import number, with_interval

    differences = scale_of(comparisons[0].metric) == "linear"
    (a, b), out = _names(comparisons[0], console()), console()
    header = ["d", "n", f"{a} {'-' if differences else '/'} {b} [95 %]", "pairs", "Holm p", "verdict"]

    def line(c: Comparison) -> list[str]:
        pairs = str(c.pairs) + (f" (+{c.unpaired} unpaired)" if c.unpaired else "")
        value = with_interval(c.difference if differences else c.ratio, c.lo, c.hi)
        return [str(c.d), str(c.n), value, pairs, number(c.holm_p), c.verdict]

    _print_by_task(out, comparisons, header, line)
    _print_remarks(out, {f"{c.task}, d = {c.d}, n = {c.n}": c.refused for c in comparisons})
    mean = "Mean difference" if differences else "Geometric mean of the ratio (error rates on data: ratio of means)"
    print_text(
        out, f"{mean} over replicates that both ran; below {0 if differences else 1} if the first is lower. {RULE}"
    )


def _print_by_task(out: Console, found: Sequence[C], header: Sequence[str], line: Callable[[C], list[str]]) -> None:
    """Print a table for each task, with its metric in the heading."""
    from bfc_bench.report.tables import metric_name

    for (task, metric), group in groupby(found, lambda c: (c.task, c.metric)):
        print_text(out, f"{task}, {metric_name(metric)}")
        print_table(out, header, map(line, group), omit=[("R", "pairs")])


def _print_remarks(out: Console, remarks: Mapping[str, str]) -> None:
    """Print each remark once, after all that it is about."""
    for remark in dict.fromkeys(filter(None, remarks.values())):
        print_text(out, f"{'; '.join(about for about, text in remarks.items() if text == remark)}: {remark}.")


def _names(of: Comparison | ThresholdComparison, out: Console, columns: int = 1) -> tuple[str, str]:
    """Names of the two learners for heads of that many columns; A and B, after a line with both, if they are long."""
    if columns * (len(of.a) + len(of.b)) <= NAMES_SHARE * out.width:
        return of.a, of.b
    out.print(f"A = {of.a}, B = {of.b}", markup=False, highlight=False, soft_wrap=True)
    return "A", "B"
