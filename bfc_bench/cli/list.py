"""``bfc-bench list``: list what is installed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bfc_bench.cli.reference import ReferenceEntry


def list_(
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="List only this kind, e.g. learner, target or suite.")
    ] = "",
) -> None:
    """List the learners, targets, suites and other parts that are installed.

    `bfc-bench show NAME` describes one of them.
    """
    from bfc_bench.cli.options import console
    from bfc_bench.cli.reference import entries
    from bfc_bench.cli.tables import print_table
    from bfc_bench.plugins.manager import load_plugins

    plugins = load_plugins()
    rows = [(entry.kind, entry.name, entry.origin, _summary(entry)) for entry in entries(plugins, kind, options=False)]
    print_table(console(), ("kind", "name", "from", "what"), rows, omit=[("from",)], prose=True)
    for item in plugins.unavailable:
        typer.echo(item)


def _summary(entry: ReferenceEntry) -> str:
    """The first line of a docstring, after what a learner lacks here; a suite's first words, or its tasks."""
    line = entry.text.split("\n")[0]
    if "file" in entry.facts:
        return re.split(r": |\. (?=[A-Z])", line)[0].rstrip(".") or f"on {entry.facts['tasks']}"
    return (f"(not usable here: {entry.missing}) " if entry.missing else "") + line.rstrip(".")
