"""``bfc-bench show``: describe a learner, a target or another part by name, with its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bfc_bench.cli.options import console

if TYPE_CHECKING:
    from rich.console import Console

    from bfc_bench.cli.reference import ReferenceEntry


def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name in `bfc-bench list`, or module:Class.")],
) -> None:
    """Describe a learner, a target or another part that suites name, with its options."""
    from bfc_bench.cli.reference import find
    from bfc_bench.plugins.manager import load_plugins

    out = console(100)
    for entry in find(load_plugins(), name):
        _print(entry, out)


def _print(entry: ReferenceEntry, out: Console) -> None:
    from rich.padding import Padding
    from rich.table import Column, Table
    from rich.text import Text

    out.print(Text.assemble((entry.name, "bold"), f"  {entry.kind} of {entry.origin}"))
    if entry.text:
        out.print()
        out.print(Padding(Text(_unwrapped(entry.text)), (0, 0, 0, 2)))
    if entry.facts:
        facts = Table.grid(*(Column(overflow="fold") for _ in range(2)), padding=(0, 2))
        for name, fact in entry.facts.items():
            facts.add_row(Text(name, style="bold"), Text(fact.replace("``", "`")))
        if entry.missing:
            facts.add_row(Text("not usable here", style="bold"), Text(entry.missing))
        out.print()
        out.print(Padding(facts, (0, 0, 0, 2)))
    if entry.options:
        columns = (Column(name, overflow="fold") for name in ("option", "values", "default", "what it is"))
        options = Table(*columns, box=None, header_style="bold", pad_edge=False)
        for option in entry.options:
            options.add_row(*map(Text, (option.name, option.values, option.default, option.text.replace("``", "`"))))
        out.print()
        out.print(Padding(options, (0, 0, 0, 2)))
    out.print()


def _unwrapped(text: str) -> str:
    """A docstring with each paragraph on one line, which the terminal wraps; lists and indented text stay."""
    paragraphs = []
    for paragraph in text.replace("``", "`").split("\n\n"):
        lines = paragraph.split("\n")
        fixed = any(line.startswith((" ", "- ", "* ")) for line in lines[1:])
        paragraphs.append(paragraph if fixed else " ".join(lines))
    return "\n\n".join(paragraphs)
