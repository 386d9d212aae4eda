"""What a report says of itself in a few lines of markdown: MLflow shows it as the description of a run."""

from __future__ import annotations

from collections.abc import Sequence

from bfc_bench.analysis.claims import expected_errors
from bfc_bench.analysis.claims.verdict import Verdict
from bfc_bench.report.tables import with_interval

LENGTH = 4000
"""Characters that the table of claims may take; MLflow refuses tags beyond 8,000."""


def note(text: str, verdicts: Sequence[Verdict]) -> str:
    """The text with the claims as a markdown table below it, as far as there is room for it."""
    if not verdicts:
        return text
    lines = ["| claim | verdict | estimate [95 %] | claimed | source |", "|---|---|---|---|---|"]
    for v in verdicts:
        cells = (v.id, f"{v.sign} {v.verdict}", with_interval(v.estimate, v.lo, v.hi), v.region, v.source)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    while len("\n".join(lines)) > LENGTH:
        lines.pop()
    left_out = len(verdicts) + 2 - len(lines)
    more = f"\n\n{left_out} more in `tables/claims.json`." if left_out else ""
    return f"{text}\n\n" + "\n".join(lines) + f"{more}\n\n{expected_errors(verdicts)}"
