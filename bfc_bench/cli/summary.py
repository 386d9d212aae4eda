"""The table of errors and thresholds that runs and reports print at their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from bfc_bench.stored_suite import StoredSuite


def print_summary(stored: StoredSuite, console: Console) -> None:
    """Print the error at the largest n and N* of each level by task, d and label, and remarks on the origin of rows."""
    from bfc_bench.cli.tables import print_lines, print_prose
    from bfc_bench.report.tables import summary_table
    from bfc_bench.store.row_origin import origin_remarks

    rows, levels = stored.columns(), stored.levels
    records = summary_table(rows, levels)
    if records:
        metrics = {record["metric"] for record in records}
        title = "error rate" if metrics == {"error_rate"} else "NMSE"
        shown = {"task": "task", "d": "d", "label": "learner", "n": "n", "error": f"{title} at n [95 %]"}
        shown |= {"worst": "worst"}
        shown |= {f"N*({level:g})": f"N*({level:g})" for level in levels}
        shown |= {status: status for status in ("ok", "failed", "skipped")}
        lines = []
        for record in records:
            cells = ["" if record[key] is None else str(record[key]) for key in shown]
            if record["metric"] != "nmse" and len(metrics) > 1:
                cells[4] += f" ({record['metric']})"
            lines.append(cells)
        all_ok = not any(record["failed"] or record["skipped"] for record in records)
        omit = [*([("ok", "failed", "skipped")] if all_ok else []), ("worst",)]
        print_lines(console, list(shown.values()), lines, keys=3, omit=omit)
    for remark in origin_remarks(rows):
        print_prose(console, remark)
