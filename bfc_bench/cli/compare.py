"""``bfc-bench compare``: compare two learners of a suite, replicate by replicate, or N* of all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from bfc_bench.cli.options import STORE, DimsOption, FormatOption, StoreOption, TaskOption, console
from bfc_bench.cli.records import encoded
from bfc_bench.cli.tables import print_table, print_text
from bfc_bench.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from bfc_bench.analysis.compare import Comparison, ThresholdComparison

C = TypeVar("C", "Comparison", "ThresholdComparison")
MEAN = "geometric mean over replicates that both ran. N* beyond the tested sizes enters as a bound."
RULE = "A difference is called if Holm p is at most .05: the p of a paired t-test, adjusted for all tests of a task."


def compare(
    labels: Annotated[
        list[str] | None,
        typer.Argument(metavar="LABEL", help="Two learners, or LABEL/STAGE; more or none for a table of N* factors."),
    ] = None,
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
        typer.Option("--level", metavar="E", help="Compare N*(E), the samples to reach error E. Repeatable."),
    ] = None,
    format: FormatOption = "table",
    store: StoreOption = STORE,
) -> None:
    """Compare two learners by paired tests over replicates: their errors at every n, or their N*.

    More than two labels, or none for all of the suite, give a table of the factors between their N* for each d, at
    `--level` or the levels of the suite.
    """
    from bfc_bench.stored_suite import open_store

    names = labels or []
    if len(names) == 1:
        raise UsageError(f"compare takes two labels, or more or none for a table of N* factors. Got {names[0]!r}.")
    with open_store(store) as suites:
        stored = suites.only() if suite is None else suites[suite]
        if level or len(names) != 2:
            thresholds = stored.compare_thresholds(*names, levels=level, metric=metric, tasks=task or (), dims=d or ())
            show = _print_thresholds if len(names) == 2 else _print_factors
            _print_json(thresholds) if format == "json" else show(thresholds)
            return
        comparisons = stored.compare(names[0], names[1], metric, tasks=task or (), dims=d or ())
    _print_json(comparisons) if format == "json" else _print_errors(comparisons)


def _print_json(comparisons: Sequence[Comparison | ThresholdComparison]) -> None:
    print(encoded([comparison.as_dict() for comparison in comparisons], "json").decode(), end="")


def _print_factors(comparisons: Sequence[ThresholdComparison]) -> None:
    """Print for each task, d and level how many times the points of the learners above it each learner needs."""
    from bfc_bench.report.tables import metric_name, sample_size

    out, place = console(), attrgetter("task", "metric", "d", "level")
    for (task, metric, d, level), group in groupby(sorted(comparisons, key=place), place):
        found = {frozenset((c.a, c.b)): c for c in group}
        n_stars = {of.label: of for c in found.values() for of in (c.of_a, c.of_b)}
        ranked = sorted(n_stars, key=lambda name: n_stars[name].rank)
        reached = [name for name in ranked[:-1] if n_stars[name].right < len(n_stars[name].replicates)]
        lines = []
        for above, name in enumerate(ranked):
            factors = [_factor(found[frozenset((name, other))], name) for other in reached[:above]]
            sizes = " ".join(sample_size(n_stars[name])).strip()
            lines.append([name, sizes, *factors, *[""] * (len(reached) - len(factors))])
        print_text(out, f"{task}, {metric_name(metric)} ≤ {level:g} at d = {d}")
        print_table(out, ["learner", "N*", *(f"/ {name}" for name in reached)], lines)
    print_text(out, f"N* of the line over that of the column: {MEAN} * marks a difference. {RULE}")


def _factor(c: ThresholdComparison, name: str) -> str:
    """N* of one of two learners over that of the other, with its interval, and a star if they differ."""
    from bfc_bench.analysis.compare import NO_DIFFERENCE
    from bfc_bench.report.tables import with_interval

    ratio = (c.ratio, c.lo, c.hi) if c.a == name else (1 / c.ratio, 1 / c.hi, 1 / c.lo if c.lo else math.inf)
    return with_interval(*ratio) + "*" * (c.verdict != NO_DIFFERENCE)


def _print_thresholds(comparisons: Sequence[ThresholdComparison]) -> None:
    from bfc_bench.report.tables import number, sample_size, with_interval

    a, b, out = comparisons[0].a, comparisons[0].b, console()
    header = ["d", "level", f"N* of {a}", f"N* of {b}", f"{a} / {b} [95 %]", "R", "Holm p", "verdict"]

    def line(c: ThresholdComparison) -> list[str]:
        sizes = [" ".join(sample_size(of)).strip() for of in (c.of_a, c.of_b)]
        ratio = with_interval(c.ratio, c.lo, c.hi)
        return [str(c.d), f"{c.level:g}", *sizes, ratio, str(c.replicates), number(c.holm_p), c.verdict]

    _print_by_task(out, comparisons, header, line)
    _print_remarks(out, {f"{c.task}, d = {c.d}, N*({c.level:g})": c.note for c in comparisons})
    print_text(out, f"{a} / {b}, below 1 if the first needs fewer samples: {MEAN} {RULE}")


def _print_errors(comparisons: Sequence[Comparison]) -> None:
    from bfc_bench.analysis.curves import scale_of
    from bfc_bench.report.tables import number, with_interval

    differences = scale_of(comparisons[0].metric) == "linear"
    a, b, out = comparisons[0].a, comparisons[0].b, console()
    both = f"{a} {'-' if differences else '/'} {b}"
    header = ["d", "n", f"{both} [95 %]", "pairs", "Holm p", "verdict"]

    def line(c: Comparison) -> list[str]:
        pairs = str(c.pairs) + (f" (+{c.unpaired} unpaired)" if c.unpaired else "")
        value = with_interval(c.difference if differences else c.ratio, c.lo, c.hi)
        return [str(c.d), str(c.n), value, pairs, number(c.holm_p), c.verdict]

    _print_by_task(out, comparisons, header, line)
    _print_remarks(out, {f"{c.task}, d = {c.d}, n = {c.n}": c.refused for c in comparisons})
    mean = "mean difference" if differences else "geometric mean of the ratio (error rates on data: ratio of means)"
    sign = 0 if differences else 1
    print_text(out, f"{both}: {mean} over replicates that both ran; below {sign} if the first is lower. {RULE}")


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
