"""Finds phrases that readers could not understand at first reading: python docs/phrases.py prints each and exits 1.

A text names programs, learners and readers, and no pronoun for persons stands for them.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
UNCLEAR = re.compile(
    r"\b(whoever|nobody|somebody|everybody|anybody)\b|\bsaid twice\b|\bother way round\b|\bfor nothing\b"
    r"|\b(are|is|was|were) lent\b|\bas it (likes|pleases)\b|\bgoes? on where it (was|stood)\b|\bkeeps? to itself\b",
    re.IGNORECASE,
)
TEXTS = (".md", ".py", ".pyi", ".toml", ".ini", ".html", ".tmpl", ".ipynb", ".yml")
EXCEPT = ("docs/phrases.py", "docs/claims.md", "docs/runs/", "pylock.toml", "tests/")
"""This list; what is generated from stored runs; tests, whose learners and users are made up."""


def unclear(root: Path = ROOT) -> list[str]:
    """``FILE:LINE: TEXT`` of each line with an unclear phrase."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
    names = [name for name in listed.splitlines() if name.endswith(TEXTS) and not name.startswith(EXCEPT)]
    return [
        f"{name}:{number}: {line.strip()}"
        for name in names
        if (root / name).exists()  # it may be deleted and not yet committed
        for number, line in enumerate((root / name).read_text().splitlines(), 1)
        if UNCLEAR.search(line)
    ]


if __name__ == "__main__":
    lines = unclear()
    print(*lines, sep="\n")
    sys.exit(bool(lines))
