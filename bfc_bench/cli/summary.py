"""The tables of errors and thresholds that runs and reports print at their end."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from bfc_bench.stored_suite import StoredSuite


def print_summary(stored: StoredSuite, console: Console) -> None:
    """Print a table for each task and d, with the errors at the largest n and N*, and remarks on the origin of rows."""
    from bfc_bench.cli.tables import print_table, print_text
    from bfc_bench.report.tables import summary_table
    from bfc_bench.store.row_origin import origin_remarks

    rows, levels = stored.columns(), stored.levels
    for (task, d), group in groupby(summary_table(rows, levels), lambda record: (record["task"], record["d"])):
        records = list(group)
        title = "error rate" if records[0]["metric"] == "error_rate" else "NMSE"
        shown = {"label": "learner", "error": f"{title} [95 %]"}
        shown |= {f"N*({level:g})": f"N*({level:g})" for level in levels}
        shown |= {"n": "n", "ok": "ok", "failed": "failed", "skipped": "skipped"}
        all_ok = not any(record["failed"] or record["skipped"] for record in records)
        unneeded = {"ok", "failed", "skipped"} if all_ok else set()
        if len({record["n"] for record in records}) == 1:
            unneeded.add("n")
        names = [name for name in shown if name not in unneeded]
        print_text(console, f"\n{task}, d = {d}" + (f", n = {records[0]['n']}" if "n" in unneeded else ""))
        lines = [[_text(record[name]) for name in names] for record in records]
        print_table(console, [shown[name] for name in names], lines, omit=[("ok", "failed", "skipped")])
    for remark in origin_remarks(rows):
        print_text(console, remark)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
