"""Escapes control characters in texts of learners before they reach a terminal, a page or MLflow."""

import re
from collections.abc import Callable
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
    return with_texts(value, lambda text: visible(text, len(text)))


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Plain data with every text and key in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(name): with_texts(inner, change) for name, inner in value.items()}
    return [with_texts(inner, change) for inner in value] if isinstance(value, list) else value
