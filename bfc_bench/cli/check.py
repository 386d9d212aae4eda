"""``bfc-bench check``: the conformance kit, for authors of learners and executors."""

from __future__ import annotations

from typing import Annotated

import typer

from bfc_bench.cli.options import ExecutorOptionsOption, executor_options
from bfc_bench.errors import UsageError


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("check")(check)


def check(
    name: Annotated[
        str, typer.Argument(metavar="NAME_OR_MODULE", help="A learner's or executor's name, or module:Class.")
    ] = "",
    executor_option: ExecutorOptionsOption = None,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Measure how often the intervals of reports and claims cover instead.")
    ] = False,
) -> None:
    """Run every check of a learner's or executor's contract and print how many passed, were skipped and failed."""
    if statistics == bool(name):
        raise UsageError("check: a learner's or executor's name or --statistics is required, and only one.")
    if statistics:
        from bfc_bench.analysis.selftest import report as measured

        for line in measured():
            typer.echo(line)
        return
    from bfc_bench.testing.apart import check_apart

    fine = True
    for report in check_apart(name, executor_options(executor_option)):
        typer.echo(f"{report.name}\n{report}")
        fine = fine and report.ok
    raise typer.Exit(0 if fine else 1)
