"""``bfc-bench claims``: print a verdict for each claim of a suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bfc_bench.cli.options import STORE, StoreOption, SuiteArgument, console
from bfc_bench.errors import UsageError, suggest
from bfc_bench.utils.counted import counted

if TYPE_CHECKING:
    from rich.console import Console

    from bfc_bench.analysis.claims import Verdict


def claims(
    suite: SuiteArgument,
    claim: Annotated[
        list[str] | None,
        typer.Argument(metavar="[CLAIM]...", help="Say these in words, with their source, numbers and remarks."),
    ] = None,
    family: Annotated[
        bool, typer.Option("--family", help="Decide a claim only if its p, adjusted for all claims (Holm), allows it.")
    ] = False,
    store: StoreOption = STORE,
) -> None:
    """Judge the claims of a suite: supported, contradicted or undecided.

    The exit code is 0 for every verdict. `bfc-bench results SUITE --what claims` exports them.
    """
    from bfc_bench.analysis.claims import expected_errors
    from bfc_bench.cli.tables import print_table, print_text
    from bfc_bench.stored_suite import open_store

    with open_store(store) as suites:
        verdicts = suites[suite].claims(family)
    ids, out = [verdict.id for verdict in verdicts], console()
    if unknown := [name for name in claim or () if name not in ids]:
        raise UsageError(f"claims: {suite} has no claim {unknown[0]!r}.{suggest(unknown[0], ids)}")
    if not verdicts:
        typer.echo(f"{suite} declares no claim; see docs/claim-kinds.md.")
        return
    chosen = [verdict for verdict in verdicts if not claim or verdict.id in claim]
    print_table(out, ("verdict", "claim", "estimate [95 %]", "claimed"), map(_line, chosen))
    if claim:
        _print_details(chosen, out)
    else:
        print_text(out, f"{_summary(verdicts)} `claims {suite} CLAIM` says one in words.")
        print_text(out, expected_errors(verdicts, family))


def _line(verdict: Verdict) -> Sequence[str]:
    from bfc_bench.report.tables import with_interval

    word = f"{verdict.sign} {verdict.verdict}{', but' if verdict.but else ''}"
    return word, verdict.id, with_interval(verdict.estimate, verdict.lo, verdict.hi), verdict.region


def _print_details(verdicts: Iterable[Verdict], out: Console) -> None:
    """Print what each claim says, the numbers that decide it, and remarks."""
    from bfc_bench.cli.tables import print_text
    from bfc_bench.report.tables import number

    for verdict in verdicts:
        numbers = {"p": verdict.p, "Holm p": verdict.holm_p, "worst replicate": verdict.worst}
        counts = [f"{counted(verdict.replicates, 'replicate')}", *(f"{k} {number(v)}" for k, v in numbers.items())]
        print_text(out, f"\n{verdict.id}: {verdict.words}" + (f" ({verdict.source})" if verdict.source else ""))
        for text in filter(None, (verdict.statement, ", ".join(counts), verdict.note)):
            print_text(out, f"  {text}")


def _summary(verdicts: Sequence[Verdict]) -> str:
    """How many claims have each verdict."""
    from bfc_bench.analysis.claims.verdict import SIGNS

    counts, checks = Counter[str](verdict.verdict for verdict in verdicts), sum(verdict.sanity for verdict in verdicts)
    remark = f" Sanity checks, which say nothing about the theory: {checks}." if checks else ""
    return f"{counted(len(verdicts), 'claim')}: {', '.join(f'{counts[word]} {word}' for word in SIGNS)}.{remark}"
