"""``bfc-bench check``: the conformance kit, for learner authors."""

from __future__ import annotations

from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("check")(check)


def check(
    name: Annotated[str, typer.Argument(metavar="NAME_OR_MODULE", help="A learner's name, or module:Class.")],
) -> None:
    """Run every check of the learner contract and print how many passed, were skipped and failed."""
    from bfc_bench.testing.apart import check_apart

    fine = True
    for report in check_apart(name):
        typer.echo(f"{report.learner}\n{report}")
        fine = fine and report.ok
    raise typer.Exit(0 if fine else 1)
