"""The documentation says who does what: programs, learners and readers are named, and no riddle stands for them."""

import re

import pytest
from pages import PAGES, ROOT, name

UNCLEAR = re.compile(r"\b(whoever|nobody|somebody|everybody|anybody)\b|\bsaid twice\b", re.IGNORECASE)
"""Words for people where a program, a learner or the reader is meant, and phrases for which a definition is clearer."""


@pytest.mark.parametrize("page", [page for page in PAGES if name(page) != "CHANGELOG.md"], ids=name)
def test_a_page_names_what_it_speaks_of(page) -> None:
    lines = page.read_text().splitlines()
    found = [f"{page.relative_to(ROOT)}:{i}: {line}" for i, line in enumerate(lines, 1) if UNCLEAR.search(line)]
    assert found == [], "\n".join(found)
