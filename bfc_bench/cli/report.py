"""``bfc-bench report``: write one self-contained HTML file, and its figures as SVG, PNG or PDF."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from bfc_bench.cli.options import STORE, StoreOption, SuiteArgument, console
from bfc_bench.errors import UsageError


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("report")(report)


def report(
    suite: SuiteArgument,
    store: StoreOption = STORE,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="Folder to write to; in the store by default.")
    ] = None,
    figures: Annotated[
        str,
        typer.Option("--figures", metavar="LIST", help="Formats of figure files beside the page: svg, png, pdf, json."),
    ] = "none",
    form: Annotated[
        Literal["html", "pdf"], typer.Option("--format", help="With pdf, also write report.pdf for papers.")
    ] = "html",
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--task", metavar="NAME", help="Write about this task alone, with all its figures and tables. Repeatable."
        ),
    ] = None,
) -> None:
    """Write the HTML report of a suite from the rows in the store.

    With more than 50,000 rows, it shows learning curves and N* of each task; `--task` gives the rest of one.
    """
    from bfc_bench.cli.summary import print_summary
    from bfc_bench.stored_suite import open_store

    if output is not None and output.exists() and not output.is_dir():
        raise UsageError(f"--output must be a folder. {output} is a file.")
    suffixes = [] if figures == "none" else [suffix.strip() for suffix in figures.split(",")]
    if unknown := set(suffixes) - {"svg", "png", "pdf", "json"}:
        raise UsageError(f"--figures must be of svg, png, pdf and json, with commas, or none. Got {min(unknown)!r}.")
    with open_store(store) as suites:
        stored = suites[suite]
        page = stored.report(output, figures=suffixes, pdf=form == "pdf", tasks=task or ())
        print_summary(stored, console(160))
    typer.echo(f"Report: {page.with_suffix('.pdf') if form == 'pdf' else page}")
