"""``bfc-bench check``: run the conformance checks on a learner or on what a suite names."""

from typing import Annotated

import typer


def check(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name in `bfc-bench list`; module:Class; or a suite file.")
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set an option of what is checked. Repeatable."),
    ] = None,
) -> None:
    """Check that a learner, a part of a suite or a metric keeps its contract.

    Prints each check as soon as it is made, and how many passed, were skipped and failed. Exit code 1 if one failed.
    """
    from bfc_bench.cli.display import Progress
    from bfc_bench.cli.options import console
    from bfc_bench.suite.changes import changed
    from bfc_bench.testing.subprocess_check import check_in_subprocess

    passed = True
    with Progress(console(), lambda: f"checking {name}") as progress:
        for report in check_in_subprocess(name, changed({}, set_)):
            progress.say(report.summary)
            passed = passed and report.ok
    raise typer.Exit(0 if passed else 1)
