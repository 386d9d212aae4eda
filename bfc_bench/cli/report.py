"""``bfc-bench report``: one self-contained HTML file, and its figures as PNG and SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bfc_bench.cli.options import STORE, StoreOption, SuiteArgument

if TYPE_CHECKING:
    from rich.console import Console

    from bfc_bench.analysis.claims import Verdict
    from bfc_bench.plugins import Plugins
    from bfc_bench.store.row import Row
    from bfc_bench.store.store import Store

NOTE_LENGTH = 4000
"""Characters of a note that the table of claims may take; MLflow refuses tags beyond 8,000."""


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("report")(report)


def report(
    suite: SuiteArgument,
    store: StoreOption = STORE,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="Folder to write; in the store by default.")
    ] = None,
) -> None:
    """Write the report of a suite from the rows in the store."""
    from rich.console import Console

    from bfc_bench.analysis.claims import judge
    from bfc_bench.api import read_results, suite_claims, suite_key
    from bfc_bench.plugins import load_plugins
    from bfc_bench.store.store import Store

    rows, held, plugins = read_results(suite, store=store), Store(store), load_plugins()
    name, version = suite_key(suite, held, plugins)
    definition = held.sessions(name, version)[-1]["definition"]
    directory = output or report_directory(store, name, version)
    verdicts = judge(suite_claims(suite, held, plugins), rows)
    page = write(definition, rows, verdicts, held, directory, plugins)
    print_summary(rows, definition["levels"], Console())
    typer.echo(f"Report: {page}")


def report_directory(store: Path, suite: str, version: int) -> Path:
    """Where a suite's report lies in a store."""
    return store / "reports" / f"{suite}@{version}"


def write(
    definition: Mapping[str, Any],
    rows: Sequence[Row],
    verdicts: Sequence[Verdict],
    store: Store,
    directory: Path,
    plugins: Plugins,
) -> Path:
    """Write the report page, its figures and ``rows.parquet``; the plugins' plots are part of it."""
    from bfc_bench.cli.results import parquet_bytes
    from bfc_bench.report.html import write_report

    figures = {stem: figure for name in plugins.plots for stem, figure in plugins.plots.get(name)(rows).items()}
    page = write_report(
        directory,
        suite=definition,
        rows=rows,
        sessions=store.sessions(definition["name"], definition["version"]),
        levels=definition["levels"],
        extra_figures=figures,
        verdicts=verdicts,
    )
    (directory / "rows.parquet").write_bytes(parquet_bytes([row.as_dict() for row in rows]))
    return page


def log_to_mlflow(
    store: Store,
    suite: str,
    version: int,
    rows: Sequence[Row],
    verdicts: Sequence[Verdict],
    directory: Path,
    uri: str | None,
) -> None:
    """Log the report of the store's last run of a suite to MLflow, once. Raises ``TrackingError``."""
    from bfc_bench.report.tables import problem_table, summary_table
    from bfc_bench.tracking.client import default_uri
    from bfc_bench.tracking.report_run import log_report

    session = store.sessions(suite, version)[-1]
    log_report(
        default_uri(store.directory, uri),
        suite,
        version,
        directory,
        session=session["id"],
        tables={
            "claims": [verdict.as_dict() for verdict in verdicts],
            "summary": summary_table(rows, session["definition"]["levels"]),
            "failures": problem_table(rows),
        },
        note=_note(f"Report of {suite}@{version}: {len(rows)} cells. Open `report.html` under Artifacts.", verdicts),
        store_dir=store.directory,
        git=session["provenance"].get("git"),
    )


def _note(text: str, verdicts: Sequence[Verdict]) -> str:
    """The text with the claims as a markdown table below it, as far as MLflow has room for it."""
    from bfc_bench.analysis.claims import expected_errors
    from bfc_bench.report.tables import with_interval

    if not verdicts:
        return text
    lines = ["| claim | verdict | estimate [95 %] | claimed | source |", "|---|---|---|---|---|"]
    for v in verdicts:
        cells = (v.id, f"{v.sign} {v.verdict}", with_interval(v.estimate, v.lo, v.hi), v.region, v.source)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    while len("\n".join(lines)) > NOTE_LENGTH:
        lines.pop()
    left_out = len(verdicts) + 2 - len(lines)
    more = f"\n\n{left_out} more in `tables/claims.json`." if left_out else ""
    return f"{text}\n\n" + "\n".join(lines) + f"{more}\n\n{expected_errors(verdicts)}"


def print_summary(rows: Sequence[Row], levels: Sequence[float], console: Console) -> None:
    """A table with the error at the largest n and N* of each level, per task, d and label."""
    from rich.table import Table

    from bfc_bench.report.tables import summary_table

    records = summary_table(rows, levels)
    if not records:
        return
    shown = {"task": "task", "d": "d", "label": "learner", "n": "n", "error": "NMSE at n [95 %]"}
    shown |= {f"N*({level:g})": f"N*({level:g})" for level in levels} | {
        "ok": "ok",
        "failed": "failed",
        "skipped": "skipped",
    }
    table = Table(*shown.values(), box=None, header_style="bold")
    for record in records:
        cells = ["" if record[key] is None else str(record[key]) for key in shown]
        if record["metric"] != "nmse":
            cells[4] += f" ({record['metric']})"
        table.add_row(*cells)
    if not console.is_terminal:
        console.width = max(console.width, 160)
    console.print(table)
