"""``bfc-bench report``: one self-contained HTML file, and its figures as SVG and PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    png: Annotated[bool, typer.Option("--png/--no-png", help="Write the figures as PNG, too.")] = True,
) -> None:
    """Write the report of a suite from the rows in the store."""
    from bfc_bench.cli.summary import print_summary
    from bfc_bench.stored_suite import open_store

    if output is not None and output.exists() and not output.is_dir():
        raise UsageError(f"--output must name a folder to write. {output} is a file.")
    with open_store(store) as held:
        stored = held[suite]
        page = stored.report(output, png=png)
        print_summary(stored, console(160))
    typer.echo(f"Report: {page}")
