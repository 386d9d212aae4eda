"""Tables and sentences of the terminal: no text is cut, and nothing is wider than the terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from rich.cells import cell_len

if TYPE_CHECKING:
    from rich.console import Console

GAP = "  "
"""Between two columns."""
NAMES = 2
"""First columns, which say what a line is about and are wrapped last."""
PROSE = 40
"""Least width in which sentences are wrapped."""
MEASURED = 1000
"""Lines whose texts give the widths of columns if the output is no terminal; later lines are written as they come."""
WIDEST = 60
"""Maximum width to which the texts of a column are padded if the output is no terminal."""


def print_table(
    out: Console,
    header: Sequence[str],
    lines: Iterable[Sequence[str]],
    *,
    omit: Sequence[Collection[str]] = (),
    prose: bool = False,
) -> None:
    """Print a table in which no text is cut.

    A terminal that is too narrow leaves out the columns in ``omit``, one group after the other until the table fits,
    and then wraps texts between words. With ``prose``, the last column has sentences, which are wrapped first.
    """
    if out.is_terminal:
        _print_on_terminal(out, header, list(lines), omit, prose)
    else:
        _write_plain(out, header, iter(lines))


def _print_on_terminal(
    out: Console, header: Sequence[str], lines: Sequence[Sequence[str]], omit: Sequence[Collection[str]], prose: bool
) -> None:
    from rich.table import Table
    from rich.text import Text

    widths = [max(map(cell_len, column)) for column in zip(header, *lines, strict=True)]
    widths[-1] = min(widths[-1], PROSE) if prose else widths[-1]
    columns = list(range(len(header)))
    for group in omit:
        if _width(columns, widths) > out.width:
            columns = [place for place in columns if header[place] not in group]
    wraps = _width(columns, widths) > out.width
    table = Table(box=None, pad_edge=False, padding=(0, len(GAP), 0, 0), header_style="bold")
    for place in columns:
        sentences = prose and place == len(header) - 1
        table.add_column(Text(header[place]), no_wrap=not (sentences or (wraps and place >= NAMES)), overflow="fold")
    for line in lines:
        table.add_row(*(Text(line[place]) for place in columns))
    out.print(table)


def _width(places: Sequence[int], widths: Sequence[int]) -> int:
    return sum(widths[place] for place in places) + len(GAP) * (len(places) - 1)


def _write_plain(out: Console, header: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """The whole table with padded columns, for files and pipes."""
    lines = iter(lines)
    first = list(islice(lines, MEASURED))
    widths = [min(max(map(len, column)), WIDEST) for column in zip(header, *first, strict=True)]
    for line in chain([header], first, lines):
        text = GAP.join(text.ljust(width) for text, width in zip(line, widths, strict=True))
        out.file.write(text.rstrip() + "\n")


def print_text(out: Console, text: str) -> None:
    """Print sentences without markup, which a terminal wraps between words and a file has on one line."""
    out.print(text, markup=False, highlight=False, soft_wrap=not out.is_terminal)
