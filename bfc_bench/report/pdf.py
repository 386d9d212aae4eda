"""Writes a report as PDF: pages of text with the verdicts, then one figure per page, with embedded fonts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

from bfc_bench.analysis.claims.verdict import Verdict
from bfc_bench.report.citation import citation
from bfc_bench.report.style import INK, TITLE, lay_out
from bfc_bench.report.tables import with_interval

WIDTH, HEIGHT = 8.27, 11.69
"""Inches: pages of text are A4."""
MARGIN, LINE = 0.8, 0.19
COLUMNS = 92
"""Characters per line."""


class PdfReport:
    """Collects figures and writes them as a PDF, one per page."""

    def __init__(self) -> None:
        self._figures: list[Figure] = []

    def add(self, figure: Figure) -> None:
        """Add a page with the figure."""
        self._figures.append(figure)

    def bytes(self, title: str, description: str, facts: Sequence[str], verdicts: Sequence[Verdict]) -> bytes:
        """The PDF file: pages of text, then the figures in their order.

        Args:
            title: Title on each page of text.
            description: Text of the first page.
            facts: Lines below the description.
            verdicts: Verdicts on the claims.
        """
        stream = BytesIO()
        metadata: dict[str, Any] = {"Title": title, "CreationDate": None, "ModDate": None}
        with mpl.rc_context({"pdf.fonttype": 42}), PdfPages(stream, metadata=metadata) as pages:
            for page in _pages(title, [*_wrapped(description), "", *facts, *_claim_lines(verdicts)]):
                pages.savefig(page)
            for figure in self._figures:
                lay_out(figure)
                pages.savefig(figure, bbox_inches="tight", pad_inches=0.2)
            for page in _pages("How to cite", citation().splitlines()):
                pages.savefig(page)
        return stream.getvalue()


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, COLUMNS, subsequent_indent=indent)


def _claim_lines(verdicts: Sequence[Verdict]) -> list[str]:
    lines = ["", "Claims"] if verdicts else []
    for verdict in verdicts:
        estimate = with_interval(verdict.estimate, verdict.lo, verdict.hi)
        remarks = "; ".join(filter(None, (verdict.aside, verdict.note)))
        lines += ["", *_wrapped(f"{verdict.id} ({verdict.source}): {verdict.words}. {verdict.statement}", "  ")]
        lines += _wrapped(f"  estimate {estimate}, claimed {verdict.region}, R = {verdict.replicates}", "  ")
        lines += _wrapped(f"  {remarks}", "  ") if remarks else []
    return lines


def _pages(title: str, lines: Sequence[str]) -> Iterable[Figure]:
    """Pages of text with the title at the top of each."""
    lines_per_page = int((HEIGHT - 2 * MARGIN) / LINE) - 2
    for start in range(0, max(1, len(lines)), lines_per_page):
        page = Figure(figsize=(WIDTH, HEIGHT))
        top = HEIGHT - MARGIN
        page.text(MARGIN / WIDTH, top / HEIGHT, title, fontsize=TITLE + 3, fontweight="bold", color=INK)
        for i, line in enumerate(lines[start : start + lines_per_page]):
            page.text(MARGIN / WIDTH, (top - (i + 2) * LINE) / HEIGHT, line, fontsize=9, color=INK, parse_math=False)
        yield page
