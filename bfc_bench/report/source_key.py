"""Reads from a report the key of its sources, without importing what draws figures."""

from __future__ import annotations

import re
from pathlib import Path


def key_of(directory: Path) -> str:
    """The ``key`` that ``write_report`` wrote into the page in ``directory``; empty if it cannot be read."""
    if not (directory / "report.html").is_file():  # reading a pipe would wait for ever
        return ""
    try:
        with (directory / "report.html").open(encoding="utf-8", errors="replace") as page:
            match = re.search(r'<meta name="bfc-key" content="(\w+)">', page.read(2000))
    except OSError:
        return ""
    return match[1] if match else ""
