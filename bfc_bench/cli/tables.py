"""Tables of the terminal that fit its width without cutting a text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

GAP = 2
"""Spaces between two columns."""
SEPARATOR = " \N{MIDDLE DOT} "
"""Between the parts of a block."""
PROSE = 40
"""Least width in which the sentences of a last column are wrapped."""
WIDEST = 60
"""Maximum width to which the texts of a column are padded if the output is no terminal."""


@dataclass(frozen=True)
class _Column:
    """A column's name, the width of its widest text, and its text if all lines have the same."""

    name: str
    width: int
    only: str | None

    @classmethod
    def of(cls, name: str, column: Iterable[str]) -> _Column:
        texts = list(column)
        widest = max(map(width_of, chain([name], texts)))
        return cls(name, widest, texts[0] if len(texts) > 1 and len(set(texts)) == 1 else None)


def print_lines(
    out: Console,
    header: Sequence[str],
    lines: Iterable[Sequence[str]],
    *,
    keys: int = 1,
    omit: Sequence[Collection[str]] = (),
    prose: bool = False,
) -> None:
    """``print_table`` for a table that is given line by line.

    Args:
        out: The terminal, or another output, where the table has its full width.
        header: Names of the columns.
        lines: The texts of each line, as many as columns.
        keys: Number of first columns that say what a line is about.
        omit: Groups of columns that a narrow terminal does not show; the first group is left out first.
        prose: Whether the last column has sentences.
    """
    columns = list(zip(*lines, strict=True)) or [() for _ in header]
    print_table(out, header, lambda: columns, keys=keys, omit=omit, prose=prose)


def print_table(
    out: Console,
    header: Sequence[str],
    columns: Callable[[], Iterable[Iterable[str]]],
    *,
    keys: int = 1,
    omit: Sequence[Collection[str]] = (),
    prose: bool = False,
) -> None:
    """Print a table in which no text is cut.

    If it is wider than the terminal, the columns ``omit`` are left out, one group after the other until it fits. Then a
    line above the table gives the columns with one value. If this is not enough, each line becomes a block of pairs
    "name: value".

    Args:
        out: The terminal, or another output, where the table has its full width.
        header: Names of the columns.
        columns: Returns the texts by column; called several times, so that a long table need not be in memory.
        keys: Number of first columns that say what a line is about.
        omit: Groups of columns that a narrow terminal does not show; the first group is left out first.
        prose: Whether the last column has sentences, which are wrapped.
    """
    room, sentences = (out.width if out.is_terminal else math.inf), header[-1] if prose else None
    measured = [_Column.of(name, column) for name, column in zip(header, columns(), strict=True)]
    shown = measured
    for group in omit:
        if _needed(shown, sentences) > room:
            shown = [column for column in shown if column.name not in group]
    if _needed(shown, sentences) > room:
        same = [c for c in shown if c.only is not None and not (c.name == sentences and c.width > PROSE)]
        shown = [column for column in shown if column not in same] or shown[:1]
        caption = [pair(column.name, column.only) for column in same if column.only and column not in shown]
        for text in joined(caption, room, ", "):
            out.out(text, highlight=False)
    places = [measured.index(column) for column in shown]

    def lines() -> Iterator[tuple[str, ...]]:
        all_columns = list(columns())
        return zip(*(all_columns[place] for place in places), strict=True)

    if _needed(shown, sentences) <= room:
        _print_columns(out, shown, lines(), sentences)
    else:
        named = {header[place] for place in range(keys)}
        for line in lines():
            _print_block(out, [column.name for column in shown], line, named, sentences)


def pair(name: str, text: str) -> str:
    """A value with its name: ``d = 30``."""
    return f"{name} = {text}"


def joined(parts: Sequence[str], room: float, separator: str) -> list[str]:
    """Parts in lines of at most ``room`` columns, broken between parts only.

    Args:
        parts: The texts.
        room: Width of a line.
        separator: Text between two parts, which ends with a space.
    """
    lines: list[str] = []
    for number, part in enumerate(parts, 1):
        ended = part + separator.rstrip() * (number < len(parts))
        if lines and width_of(f"{lines[-1]} {ended}") <= room:
            lines[-1] += f" {ended}"
        else:
            lines.append(ended)
    return lines


def wrapped(text: str, room: float) -> list[str]:
    """Sentences in lines of at most ``room`` columns, broken between words only; a longer word has its own line."""
    if math.isinf(room):
        return text.splitlines() or [""]
    return [
        line
        for paragraph in text.splitlines()
        for line in textwrap.wrap(paragraph, max(int(room), 1), break_long_words=False, break_on_hyphens=False)
    ] or [""]


def print_prose(out: Console, text: str) -> None:
    """Print sentences, which a terminal breaks between words.

    Args:
        out: The terminal, or another output, where the text stays on its line.
        text: The sentences, without markup.
    """
    for line in wrapped(text, out.width if out.is_terminal else math.inf):
        out.out(line, highlight=False)


def width_of(text: str) -> int:
    """Width of a text in columns of the terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _needed(columns: Sequence[_Column], sentences: str | None) -> int:
    """Width of a table with these columns, of which one may have ``sentences``."""
    widths = [min(column.width, PROSE) if column.name == sentences else column.width for column in columns]
    return sum(widths) + GAP * (len(widths) - 1)


def _print_columns(
    out: Console, columns: Sequence[_Column], lines: Iterable[Sequence[str]], sentences: str | None
) -> None:
    *widths, last = [column.width for column in columns]
    widths = widths if out.is_terminal else [min(width, WIDEST) for width in widths]
    start = sum(widths) + GAP * len(widths)
    room = out.width - start if columns[-1].name == sentences and out.is_terminal else math.inf

    def texts(line: Sequence[str]) -> Iterator[str]:
        *first, end = line
        begun = "".join(
            text + " " * (max(width - width_of(text), 0) + GAP) for text, width in zip(first, widths, strict=True)
        )
        ends = wrapped(end, room) if last > room else [end]
        yield (begun + ends[0]).rstrip()
        yield from (" " * start + rest for rest in ends[1:])

    out.out("\n".join(texts([column.name for column in columns])), style="bold", highlight=False)
    # Written at once: the console takes a millisecond a line.
    out.file.writelines(text + "\n" for line in lines for text in texts(line))


def _print_block(
    out: Console, names: Sequence[str], line: Sequence[str], keys: Collection[str], sentences: str | None
) -> None:
    values = {name: text for name, text in zip(names, line, strict=True) if text}
    title = [pair(name, text) if _is_number(text) else text for name, text in values.items() if name in keys]
    pairs = [f"{name}: {text}" for name, text in values.items() if name not in keys and name != sentences]
    prose = wrapped(values[sentences], out.width - GAP) if sentences in values else []
    if len(prose) == 1 and width_of(prose[0]) <= PROSE:
        pairs, prose = [*pairs, *prose], []
    if not prose and len(at_once := joined([*title, *pairs], out.width, SEPARATOR)) == 1:
        out.out(at_once[0], highlight=False)
        return
    for text in joined(title, out.width, SEPARATOR):
        out.out(text, style="bold", highlight=False)
    for text in (*joined(pairs, out.width - GAP, SEPARATOR), *prose):
        out.out(" " * GAP + text, highlight=False)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
