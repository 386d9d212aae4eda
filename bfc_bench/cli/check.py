"""``bfc-bench check``: run the conformance checks on anything that a plugin can provide."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from bfc_bench.cli.options import ExecutorOptionsOption, executor_options
from bfc_bench.errors import UsageError


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("check")(check)


def check(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME_OR_MODULE",
            help="Name in `bfc-bench list`; module:Class or module:name; or a suite file.",
        ),
    ],
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="Only this kind, as `bfc-bench list` calls it. Needed for module:name of a plot or a verb, "
            "and for the module of a listener.",
        ),
    ] = "",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set an option of the part; not for learners. Repeatable."),
    ] = None,
    executor_option: ExecutorOptionsOption = None,
) -> None:
    """Check that a learner, an executor, a part of a suite, a metric, a plot, a verb or a listener keeps its contract.

    Prints how many checks passed, were skipped and failed. Exit code 1 if one failed.
    """
    from bfc_bench.suite.changes import apply
    from bfc_bench.testing import check_part
    from bfc_bench.testing.parts import find_parts
    from bfc_bench.testing.subprocess_check import check_in_subprocess

    options: dict[str, Any] = {}
    for change in set_ or ():
        apply(options, change)
    passed, parts = True, find_parts(name, options, kind)
    if options and not parts:
        raise UsageError("check: --set is for parts of a suite; learners are checked with their smoke options.")
    tested = map(partial(check_part, strict=False), parts)
    for report in tested if parts else check_in_subprocess(name, executor_options(executor_option)):
        typer.echo(f"{report.name}\n{report}")
        passed = passed and report.ok
    raise typer.Exit(0 if passed else 1)
