"""The description of a report's MLflow run, in a few lines of markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bfc_bench.analysis.claims import expected_errors
from bfc_bench.analysis.claims.verdict import Verdict
from bfc_bench.analysis.thresholds import Reached
from bfc_bench.report.tables import number, with_interval

SHOWN = 5
"""Maximum number of ill-behaved curves that a note names."""
LENGTH = 4000
"""Maximum number of characters of the table of claims; MLflow refuses tags beyond 8,000."""


def ill_behaved_note(thresholds: Iterable[Reached]) -> str:
    """A sentence that names the curves that rise above their level again; empty if none does."""
    names = [f"{r.label} on {r.task}, d = {r.d}, at {r.level:g}" for r in thresholds if r.threshold.ill_behaved]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"\n\nIll-behaved curves, above a level again: {'; '.join(names[:SHOWN])}{more}." if names else ""


def note(text: str, verdicts: Sequence[Verdict]) -> str:
    """The text followed by a markdown table of the claims, shortened to ``LENGTH``."""
    if not verdicts:
        return text
    lines = ["| claim | verdict | estimate [95 %] | worst replicate | claimed | source |", "|---|---|---|---|---|---|"]
    for v in verdicts:
        estimate = with_interval(v.estimate, v.lo, v.hi)
        cells = (v.id, f"{v.sign} {v.words}", estimate, number(v.worst), v.region, v.source)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    while len("\n".join(lines)) > LENGTH:
        lines.pop()
    left_out = len(verdicts) + 2 - len(lines)
    more = f"\n\n{left_out} more in `tables/claims.json`." if left_out else ""
    return f"{text}\n\n" + "\n".join(lines) + f"{more}\n\n{expected_errors(verdicts)}"
