"""Reads from a report the key of its sources, without importing what draws figures."""

import re
from pathlib import Path


def key_of(directory: Path) -> str:
    """The ``key`` that ``write_report`` wrote into the page in ``directory``; empty if it cannot be read."""
    page = directory / "report.html"
    if not page.is_file():  # reading a pipe would wait for ever
        return ""
    with page.open(encoding="utf-8", errors="replace") as text:
        match = re.search(r'<meta name="bfc-key" content="(\w+)">', text.read(2000))
    return match[1] if match else ""
