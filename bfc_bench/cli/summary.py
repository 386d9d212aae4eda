"""The table of N* and errors that runs and ``results --what n-star`` print: a line per learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from bfc_bench.report.tables import Record
    from bfc_bench.stored_suite import StoredSuite

COUNTS = ("failed", "skipped")


def print_summary(
    stored: StoredSuite, console: Console, kept: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> None:
    """Print the answer of each task, a table for each task and d by N*, and where rows come from.

    ``kept`` has the tasks and labels to show, by ``task`` and ``label``; all by default.
    """
    from bfc_bench.cli.tables import print_table, print_text
    from bfc_bench.report.answers import answers_in_words
    from bfc_bench.report.tables import summary_table
    from bfc_bench.store.row_origin import origin_remarks

    rows = stored.columns().where(task=kept.get("task"), label=kept.get("label"))
    for answer in answers_in_words(rows, stored.levels):
        print_text(console, answer)
    learners = summary_table(stored.curves(rows=rows), stored.levels)
    for (task, d), group in groupby(learners, lambda record: (record["task"], record["d"])):
        print_text(console, f"\n{task}, d = {d}")
        print_table(console, *learners_table(list(group)), omit=(COUNTS, ("censored",)))
    for remark in origin_remarks(rows):
        print_text(console, remark)


def learners_table(learners: Sequence[Record], *places: str) -> tuple[list[str], list[list[str]]]:
    """Head and lines of a table of N* and errors, from records of ``summary_table``.

    It begins with the columns ``places``. Sizes and counts have a column only where they say something.
    """
    from bfc_bench.report.tables import metric_name

    levels = [name for name in next(iter(learners), ()) if name.startswith("N*")]
    sizes = {learner["n"] for learner in learners} - {None}
    if_any = [name for name in ("censored", *COUNTS) if any(learner[name] for learner in learners)]
    names = [*places, "label", *levels, "error", *["n"] * (len(sizes) > 1), *if_any]
    errors = " or ".join(sorted({metric_name(learner["metric"]) for learner in learners}))
    at_n = f" at n = {min(sizes)}" if len(sizes) == 1 else ""
    heads = {"label": "learner", "error": f"{errors}{at_n} [95 %]"}
    lines = [["" if learner[name] is None else str(learner[name]) for name in names] for learner in learners]
    return [heads.get(name, name) for name in names], lines
