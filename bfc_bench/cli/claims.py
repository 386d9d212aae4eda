"""``bfc-bench claims``: print a verdict for each claim of a suite."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from bfc_bench.cli.options import STORE, StoreOption, SuiteArgument, console, print_json

if TYPE_CHECKING:
    from bfc_bench.analysis.claims import Verdict


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
        _print_table(verdicts, family)
    else:
        typer.echo(f"{suite} declares no claim; see docs/claim-kinds.md.")


def _print_table(verdicts: list[Verdict], family: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from bfc_bench.analysis.claims import expected_errors
    from bfc_bench.analysis.claims.verdict import Word
    from bfc_bench.report.tables import number, with_interval

    colours: dict[Word, str] = {"supported": "green", "contradicted": "red", "undecided": "dim"}
    header = ("verdict", "claim", "statement", "estimate [95 %]", "worst", "claimed", "R", "p", "Holm p")
    table = Table(*header, box=None)
    table.header_style, table.padding = "bold", (0, 2, 1, 0)
    for verdict in verdicts:
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
        table.add_row(
            Text(
                f"{verdict.sign} {verdict.verdict}" + (",\nbut" if verdict.but else ""), style=colours[verdict.verdict]
            ),
            name,
            statement,
            Text(with_interval(verdict.estimate, verdict.lo, verdict.hi)),
            Text(number(verdict.worst)),
            Text(verdict.region),
            str(verdict.replicates),
            number(verdict.p),
            number(verdict.holm_p),
        )
    out = console()
    out.print(table)
    counts = Counter(verdict.verdict for verdict in verdicts)
    summary = ", ".join(f"{counts[word]} {word}" for word in colours)
    checks = sum(verdict.sanity for verdict in verdicts)
    remark = f" {checks} of them are sanity checks, which say nothing about the theory." if checks else ""
    out.print(f"{len(verdicts)} claims: {summary}.{remark}", highlight=False)
    out.print(expected_errors(verdicts, family), highlight=False, soft_wrap=True)
