"""What a report was made from, read from its page without loading what draws it."""

from __future__ import annotations

import re
from pathlib import Path


def key_of(directory: Path) -> str:
    """The key that ``write_report`` was given for the page in ``directory``; an empty text where none can be read."""
    try:
        with (directory / "report.html").open(encoding="utf-8", errors="replace") as page:
            found = re.search(r'<meta name="bfc-key" content="(\w+)">', page.read(2000))
    except OSError:
        return ""
    return found[1] if found else ""
