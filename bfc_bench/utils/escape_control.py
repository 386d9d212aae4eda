"""Escapes control characters in texts of learners before they reach a terminal, a page or MLflow."""

from __future__ import annotations

import re
from typing import Any

TEXT = 10_000
"""Length to which a reason, and each text in a learner's ``info``, is shortened, in characters."""
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""Control characters except tab and new line, characters that reorder or hide text, and unpaired surrogates."""


def visible(text: str, limit: int = TEXT) -> str:
    """``text`` with invisible and control characters as escape sequences, and without its middle if it is long."""
    if len(text) > limit:
        text = f"{text[: limit // 2]}\n[... {len(text) - limit} characters ...]\n{text[-(limit // 2) :]}"
    if text.isprintable():  # faster, and true of most texts
        return text
    return UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def all_visible(value: Any) -> Any:
    """Plain data with ``visible`` applied to every text and key, without a limit."""
    if isinstance(value, str):
        return value if value.isprintable() else visible(value, len(value))
    if isinstance(value, dict):
        return {all_visible(name): all_visible(inner) for name, inner in value.items()}
    return [all_visible(inner) for inner in value] if isinstance(value, list) else value
