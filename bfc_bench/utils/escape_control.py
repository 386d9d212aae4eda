"""Texts that others have made, on their way to a terminal, a page or MLflow."""

from __future__ import annotations

import re
from typing import Any

TEXT = 10_000
"""Characters that are kept of a reason, and of each text in a learner's ``info``: the first and the last ones."""
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""Control characters but for tab and new line, those that turn or hide what follows, and halves of surrogate pairs."""


def visible(text: str, limit: int = TEXT) -> str:
    """``text`` with what is unseen, or acts on a terminal, as its escape sequence, and without the middle if long."""
    if len(text) > limit:
        text = f"{text[: limit // 2]}\n[... {len(text) - limit} characters ...]\n{text[-(limit // 2) :]}"
    if text.isprintable():  # most are, and this is the quicker question
        return text
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def all_visible(value: Any) -> Any:
    """Plain data with every text in it visible, keys included, and none cut."""
    if isinstance(value, str):
        return value if value.isprintable() else visible(value, len(value))
    if isinstance(value, dict):
        return {
            name if name.isprintable() else visible(name, len(name)): inner
            if isinstance(inner, float)
            else all_visible(inner)
            for name, inner in value.items()
        }
    return [all_visible(inner) for inner in value] if isinstance(value, list) else value
