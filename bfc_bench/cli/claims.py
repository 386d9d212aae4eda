"""``bfc-bench claims``: print a verdict for each claim of a suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bfc_bench.cli.options import STORE, FormatOption, StoreOption, SuiteArgument, console, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from bfc_bench.analysis.claims import Verdict
    from bfc_bench.analysis.claims.verdict import Word

HEADER = ("verdict", "claim", "estimate [95 %]", "claimed", "R", "p", "Holm p", "worst")
OMITTED = (("worst",), ("Holm p",), ("p",))
"""Columns that a narrow terminal does not show."""
WORDS: tuple[Word, ...] = ("supported", "contradicted", "undecided")


def claims(
    suite: SuiteArgument,
    format: FormatOption = "table",
    family: Annotated[
        bool, typer.Option("--family", help="Decide a claim only if its p, adjusted for all claims (Holm), allows it.")
    ] = False,
    details: Annotated[
        bool, typer.Option("--details", help="Also print each claim in words, its source and remarks.")
    ] = False,
    store: StoreOption = STORE,
) -> None:
    """Judge the claims of a suite: supported, contradicted or undecided.

    The exit code is 0 for every verdict.
    """
    from bfc_bench.stored_suite import open_store

    with open_store(store) as suites:
        verdicts = suites[suite].claims(family)
    if format == "json":
        print_json([verdict.as_dict() for verdict in verdicts])
    elif verdicts:
        _print(verdicts, family, details, console())
    else:
        typer.echo(f"{suite} declares no claim; see docs/claim-kinds.md.")


def _print(verdicts: Sequence[Verdict], family: bool, details: bool, out: Console) -> None:
    """Print a line for each verdict, their details if wanted, and what they add up to."""
    from bfc_bench.analysis.claims import expected_errors
    from bfc_bench.cli.tables import print_table, print_text

    print_table(out, HEADER, map(_line, verdicts), omit=OMITTED)
    for verdict in verdicts if details else ():
        print_text(out, f"\n{verdict.id}: {verdict.words}" + (f" ({verdict.source})" if verdict.source else ""))
        for text in filter(None, (verdict.statement, verdict.aside, verdict.look and verdict.when, verdict.note)):
            print_text(out, f"  {text}")
    counts = Counter(verdict.verdict for verdict in verdicts)
    checks = sum(verdict.sanity for verdict in verdicts)
    remark = f" {checks} of them are sanity checks, which say nothing about the theory." if checks else ""
    summary = ", ".join(f"{counts[word]} {word}" for word in WORDS)
    advice = "" if details else " --details says each in words."
    print_text(out, f"{len(verdicts)} claims: {summary}.{remark}{advice}")
    print_text(out, expected_errors(verdicts, family))


def _line(verdict: Verdict) -> Sequence[str]:
    from bfc_bench.report.tables import number, with_interval

    return (
        f"{verdict.sign} {verdict.verdict}{', but' if verdict.but else ''}",
        verdict.id,
        with_interval(verdict.estimate, verdict.lo, verdict.hi),
        verdict.region,
        str(verdict.replicates),
        number(verdict.p),
        number(verdict.holm_p),
        number(verdict.worst),
    )
