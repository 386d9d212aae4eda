"""``bfc-bench check``: the conformance kit, for authors of learners, executors and of what suites are made of."""

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
            help="A learner, executor or part of a suite by name, such as a target; module:Class; a suite's file.",
        ),
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="An option of what is checked; not of learners. Repeatable."),
    ] = None,
    executor_option: ExecutorOptionsOption = None,
) -> None:
    """Test every requirement of a contract and print how many passed, were skipped and failed."""
    from bfc_bench.suite.changes import apply
    from bfc_bench.testing import check_part
    from bfc_bench.testing.parts import find_parts
    from bfc_bench.testing.subprocess_check import check_in_subprocess

    options: dict[str, Any] = {}
    for change in set_ or ():
        apply(options, change)
    fine, parts = True, find_parts(name, options)
    if options and not parts:
        raise UsageError("check: --set is for parts of a suite; learners are checked with their smoke options.")
    tested = map(partial(check_part, strict=False), parts)
    for report in tested if parts else check_in_subprocess(name, executor_options(executor_option)):
        typer.echo(f"{report.name}\n{report}")
        fine = fine and report.ok
    raise typer.Exit(0 if fine else 1)
