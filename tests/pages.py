"""Reads the code blocks of the documentation, with the mark in the line above each block.

    <!-- not run: REASON -->         the block cannot be run
    <!-- run as: COMMAND; COMMAND --> run instead: a smaller suite, an installation without network
    <!-- run by: tests/FILE.py -->   another test runs it
    <!-- file: PATH -->              it is the contents of this file

On a page with ``<!-- python: one script -->`` the Python blocks form one script.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
ONE_SCRIPT = "<!-- python: one script -->"
COMMANDS = ("bfc-bench", "python", "python3", "pip", "git", "tox", "source", "ray", "sbatch", "srun", "ssh", "export")
"""First words of blocks without a language that contain commands."""
VERBATIM = ("text", "yaml", "json")
"""Languages of blocks that cannot be run."""
MARKS = ("not run", "run as", "run by", "file")


@dataclass(frozen=True)
class Block:
    """A code block."""

    page: Path
    line: int
    language: str
    """``console``, ``python``, ``toml``, one of ``VERBATIM``, or ``{...}``, a directive of the site."""
    text: str
    mark: str = ""
    said: str = ""
    """Text of the mark."""

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def commands(self):
        """The commands of a console block: its lines after ``$``, or all lines if there is no ``$``."""
        lines = self.text.replace("\\\n", "").splitlines()
        typed = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return typed or [line for line in lines if line.strip()]


def name(page):
    """The path of a page, as marks and tests write it."""
    return page.relative_to(ROOT).as_posix()


def blocks(page):
    """The blocks of a page: fenced ones, and paragraphs outside of lists that are indented by four spaces."""
    lines = page.read_text(encoding="utf-8").splitlines()
    number, in_list = 0, False
    while number < len(lines):
        line, start = lines[number], number
        fence = re.match(r"( *)(`{3,})(\S*)", line)
        if fence:
            indent, ticks, language = fence.groups()
            number += 1
            while number < len(lines) and lines[number].strip() != ticks:
                number += 1
            content = [inner.removeprefix(indent) for inner in lines[start + 1 : number]]
            yield _block(page, start, language, content, lines)
        elif line.startswith("    ") and not in_list and (start == 0 or not lines[start - 1].strip()):
            while number + 1 < len(lines) and (lines[number + 1].startswith("    ") or _goes_on(lines, number + 1)):
                number += 1
            content = [inner[4:] for inner in lines[start : number + 1]]
            first = content[0].removeprefix("$ ").split()[0]
            yield _block(page, start, "console" if first in COMMANDS else "text", content, lines)
        elif line.strip():
            in_list = bool(re.match(r" *([-*]|\d+\.) ", line)) or (in_list and line.startswith(" "))
        number += 1


def _goes_on(lines, number):
    """Whether an empty line lies inside an indented block."""
    return not lines[number].strip() and number + 1 < len(lines) and lines[number + 1].startswith("    ")


def _block(page, start, language, content, lines):
    before = lines[start - 1 - (start > 0 and not lines[start - 1].strip())].strip() if start else ""
    mark = re.fullmatch(rf"<!-- ({'|'.join(MARKS)}): (.+) -->", before)
    return Block(page, start + 1, language, "\n".join(content) + "\n", *(mark.groups() if mark else ()))
