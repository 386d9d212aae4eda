"""``bfc-bench report``: write one self-contained HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from bfc_bench.cli.options import STORE, StoreOption, SuiteArgument, TaskOption, console
from bfc_bench.errors import UsageError


def report(
    suite: SuiteArgument,
    store: StoreOption = STORE,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="Folder to write to; in the store by default.")
    ] = None,
    task: TaskOption = None,
) -> None:
    """Write the HTML report of a suite from the rows in the store.

    Print the page from a browser for a PDF. With more than 50,000 rows, it shows learning curves and N* of each task;
    `--task` gives the rest of one.
    """
    from bfc_bench.cli.summary import print_summary
    from bfc_bench.stored_suite import open_store

    if output is None and store.is_file():
        raise UsageError(f"--output must name a folder for the report, as {store} is a bundle.")
    with open_store(store) as suites:
        stored = suites[suite]
        page = stored.report(output, tasks=task or ())
        print_summary(stored, console(160), {"task": task} if task else {})
    typer.echo(f"Report: {page}")
