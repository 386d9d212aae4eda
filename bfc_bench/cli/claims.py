"""``bfc-bench claims``: print a verdict for each claim of a suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bfc_bench.cli.options import STORE, StoreOption, SuiteArgument, console, print_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from bfc_bench.analysis.claims import Verdict
    from bfc_bench.analysis.claims.verdict import Word

COLOURS: dict[Word, str] = {"supported": "green", "contradicted": "red", "undecided": "dim"}


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("claims")(claims)


def claims(
    suite: SuiteArgument,
    format: Annotated[str, typer.Option("--format", metavar="table|json", help="Output format.")] = "table",
    family: Annotated[
        bool, typer.Option("--family", help="Decide a claim only if its p, adjusted for all claims (Holm), allows it.")
    ] = False,
    store: StoreOption = STORE,
) -> None:
    """Judge the claims of a suite: supported, contradicted or undecided.

    The exit code is 0 for every verdict.
    """
    from bfc_bench.errors import UsageError
    from bfc_bench.stored_suite import open_store

    if format not in ("table", "json"):
        raise UsageError(f"--format must be table or json. Got {format!r}.")
    with open_store(store) as suites:
        verdicts = suites[suite].claims(family)
    if format == "json":
        print_json([verdict.as_dict() for verdict in verdicts])
    elif verdicts:
        _print(verdicts, family)
    else:
        typer.echo(f"{suite} declares no claim; see docs/claim-kinds.md.")


def _print(verdicts: list[Verdict], family: bool) -> None:
    """Print a table of the verdicts, or a block for each if the terminal is too narrow; then what they add up to."""
    from bfc_bench.analysis.claims import expected_errors
    from bfc_bench.cli.tables import GAP, PROSE, width_of

    out, cells = console(), [_cells(verdict) for verdict in verdicts]
    widths = {
        name: GAP + max(width_of(line) for of in cells for line in (name, *of[name].plain.splitlines()))
        for name in cells[0]
    }
    widths["statement"] = min(widths["statement"], GAP + PROSE)
    if sum(widths.values()) > out.width:
        del widths["worst"]
    if sum(widths.values()) <= out.width:
        _print_table(cells, list(widths), out)
    else:
        for of in cells:
            _print_block(of, out)
    counts = Counter(verdict.verdict for verdict in verdicts)
    summary = ", ".join(f"{counts[word]} {word}" for word in COLOURS)
    checks = sum(verdict.sanity for verdict in verdicts)
    remark = f" {checks} of them are sanity checks, which say nothing about the theory." if checks else ""
    out.print(f"{len(verdicts)} claims: {summary}.{remark}", highlight=False, soft_wrap=not out.is_terminal)
    out.print(expected_errors(verdicts, family), highlight=False, soft_wrap=not out.is_terminal)


def _cells(verdict: Verdict) -> dict[str, Text]:
    """What is shown of a verdict, by column."""
    from rich.text import Text

    from bfc_bench.report.tables import number, with_interval

    statement = Text(verdict.statement)
    if verdict.aside:
        statement.append(f"\n{verdict.aside[0].upper()}{verdict.aside[1:]}.", style="bold")
    if verdict.look:
        statement.append(f"\n{verdict.when}")
    if verdict.note:
        statement.append(f"\n{verdict.note}", style="dim")
    name = Text(verdict.id)
    if verdict.source:
        name.append(f"\n{verdict.source}", style="dim")
    word = f"{verdict.sign} {verdict.verdict}" + (",\nbut" if verdict.but else "")
    return {
        "verdict": Text(word, style=COLOURS[verdict.verdict]),
        "claim": name,
        "statement": statement,
        "estimate [95 %]": Text(with_interval(verdict.estimate, verdict.lo, verdict.hi)),
        "worst": Text(number(verdict.worst)),
        "claimed": Text(verdict.region),
        "R": Text(str(verdict.replicates)),
        "p": Text(number(verdict.p)),
        "Holm p": Text(number(verdict.holm_p)),
    }


def _print_table(cells: Sequence[Mapping[str, Text]], names: Sequence[str], out: Console) -> None:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 1, 0), header_style="bold")
    for name in names:
        table.add_column(name.replace("[", r"\["), no_wrap=name != "statement")
    for of in cells:
        table.add_row(*(of[name] for name in names))
    out.print(table)


def _print_block(cells: Mapping[str, Text], out: Console) -> None:
    """Print verdict, id and source; then the statement; then the numbers with their names."""
    from rich.padding import Padding
    from rich.text import Text

    from bfc_bench.cli.tables import GAP, SEPARATOR, joined

    verdict, (name, *source) = cells["verdict"].split("\n"), cells["claim"].split("\n")
    title = Text("  ").join([*verdict, name])
    for part in source:
        beside = title.cell_len + GAP + part.cell_len <= out.width
        title = Text(" " * GAP if beside else "\n" + " " * GAP).join([title, part])
    out.print(title, soft_wrap=not out.is_terminal)
    out.print(Padding(cells["statement"], (0, 0, 0, GAP), expand=False))
    numbers = [f"{name} {cells[name].plain}" for name in ("claimed", "R", "p", "Holm p") if cells[name].plain]
    for line in joined([cells["estimate [95 %]"].plain, *numbers], out.width - GAP, SEPARATOR):
        out.out(" " * GAP + line, highlight=False)
    out.line()
