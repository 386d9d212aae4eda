"""``bfc-bench report``: one self-contained HTML file, and its figures as SVG, PNG or PDF."""

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
        Path | None, typer.Option("--output", metavar="DIR", help="Folder to write; in the store by default.")
    ] = None,
    figures: Annotated[
        str, typer.Option("--figures", metavar="LIST", help="Files of each figure: of png, svg and pdf; or none.")
    ] = "png,svg",
    form: Annotated[
        Literal["html", "pdf"], typer.Option("--format", help="With pdf there is a report.pdf, too, for papers.")
    ] = "html",
) -> None:
    """Write the report of a suite from the rows in the store."""
    from bfc_bench.cli.summary import print_summary
    from bfc_bench.stored_suite import open_store

    if output is not None and output.exists() and not output.is_dir():
        raise UsageError(f"--output must name a folder to write. {output} is a file.")
    suffixes = [] if figures == "none" else [suffix.strip() for suffix in figures.split(",")]
    if unknown := set(suffixes) - {"png", "svg", "pdf"}:
        raise UsageError(f"--figures takes png, svg and pdf, with commas between them, or none. Got {min(unknown)!r}.")
    with open_store(store) as held:
        stored = held[suite]
        page = stored.report(output, figures=suffixes, pdf=form == "pdf")
        print_summary(stored, console(160))
    typer.echo(f"Report: {page.with_suffix('.pdf') if form == 'pdf' else page}")
