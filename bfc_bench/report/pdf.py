"""Writes a report as PDF: pages of text with the verdicts, then one figure per page, with embedded fonts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from io import BytesIO

from markupsafe import escape

from bfc_bench.analysis.claims.verdict import Verdict
from bfc_bench.report.citation import citation
from bfc_bench.report.style import INK
from bfc_bench.report.tables import with_interval

WIDTH, HEIGHT = 595, 842
"""Points: pages of text are A4."""
MARGIN, LINE = 58, 13.5
COLUMNS = 96
"""Characters per line."""


class PdfReport:
    """Collects figures and writes them as a PDF, one per page."""

    def __init__(self) -> None:
        self._figures: list[bytes] = []

    def add(self, figure: bytes) -> None:
        """Add a page with the figure, a PDF file of one page."""
        self._figures.append(figure)

    def bytes(self, title: str, description: str, facts: Sequence[str], verdicts: Sequence[Verdict]) -> bytes:
        """The PDF file: pages of text, then the figures in their order.

        Args:
            title: Title on each page of text.
            description: Text of the first page.
            facts: Lines below the description.
            verdicts: Verdicts on the claims.
        """
        from pypdf import PdfReader, PdfWriter

        writer = PdfWriter()
        text = _pages(title, [*_wrapped(description), "", *facts, *_claim_lines(verdicts)])
        for page in [*text, *self._figures, *_pages("How to cite", citation().splitlines())]:
            writer.append(PdfReader(BytesIO(page)), import_outline=False)
        writer.add_metadata({"/Title": title})
        writer.compress_identical_objects()
        stream = BytesIO()
        writer.write(stream)
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


def _pages(title: str, lines: Sequence[str]) -> Iterator[bytes]:
    """Pages of text with the title at the top of each, as PDF files."""
    import vl_convert

    lines_per_page = int((HEIGHT - 2 * MARGIN) / LINE) - 2
    for start in range(0, max(1, len(lines)), lines_per_page):
        texts = [f'<text x="{MARGIN}" y="{MARGIN}" font-size="15" font-weight="bold">{escape(title)}</text>']
        for i, line in enumerate(lines[start : start + lines_per_page]):
            at, y = MARGIN + 9 * (len(line) - len(line.lstrip())) / 2, MARGIN + (i + 2) * LINE
            texts.append(f'<text x="{at:.0f}" y="{y:.1f}" font-size="9.5">{escape(line.strip())}</text>')
        page = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" fill="{INK}" '
        page += f'font-family="sans-serif">{"".join(texts)}</svg>'
        yield bytes(vl_convert.svg_to_pdf(page))
