"""Options and label kinds of scikit-learn's estimators, cached on disk because importing scikit-learn takes seconds.

Planning a suite or showing its results needs only the options of the classes, and whether the given ones are valid.
Nothing is cached of estimators of other packages.
"""

import re
from ast import literal_eval
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bfc_plugins import sklearn_objects

from bfc_bench.errors import BenchError
from bfc_bench.learner import LabelKind
from bfc_bench.utils.files import cache_folder, make_folder, write_file

FORMAT = 1
"""Version of the files' format: a question and its answer as a Python literal."""
AT_MOST = 1000
"""Number of answers kept. A search over more options imports scikit-learn anyway."""
ELSEWHERE = re.compile(r"['\"](?!sklearn:)[\w.]+:\w+['\"]")
"""What a question about a class of another package contains."""


def class_facts(path: str) -> tuple[dict[str, Any], frozenset[LabelKind]]:
    """Defaults by option (``...`` for a required one) and possible label kinds of the class at a path.

    Raises ``UsageError`` for an unknown path.
    """

    def ask() -> tuple[list[tuple[str, tuple[Any, ...]]], list[LabelKind]]:
        maker, labels = sklearn_objects.load(path)
        options = sklearn_objects.parameters(maker).items()
        return [(name, () if default is ... else (default,)) for name, default in options], sorted(labels)

    options, labels = _cached(("class", path), ask)
    return {name: default[0] if default else ... for name, default in options}, frozenset(labels)


def kinds(path: str, options: Mapping[str, Any]) -> frozenset[LabelKind]:
    """The label kinds that an estimator with these options fits. Raises scikit-learn's error for invalid options."""

    def ask() -> list[LabelKind]:
        estimator = sklearn_objects.make(path, options)
        sklearn_objects.check(estimator)
        return sorted(sklearn_objects.kinds_of(estimator))

    return frozenset(_cached(("options", path, dict(sorted(options.items()))), ask))


def _cached(question: tuple[Any, ...], ask: Callable[[], Any]) -> Any:
    """The answer to a question about scikit-learn; a question or answer that is not plain data is not cached."""
    text = _literal(question)
    if text is None or ELSEWHERE.search(text):
        return ask()
    name = f"{sha256(text.encode()).hexdigest()[:32]}.txt"
    with suppress(BenchError, OSError, ValueError, SyntaxError, TypeError):  # the file is missing or damaged
        asked, answer = literal_eval((_folder() / name).read_text(encoding="utf-8"))
        if asked == question:
            return answer
    answer = ask()
    if (content := _literal((question, answer))) is not None:
        with suppress(BenchError, OSError):  # without a usable folder, nothing is cached
            make_folder(_folder())
            if len(list(_folder().iterdir())) < AT_MOST:
                write_file(_folder() / name, content.encode())
    return answer


@lru_cache(maxsize=1)
def _folder() -> Path:
    """Where answers are kept. Raises ``BenchError`` if the user has no home folder."""
    return cache_folder() / f"scikit-learn-{version('scikit-learn')}-{FORMAT}"


def _literal(value: Any) -> str | None:
    """The value as a Python literal, or None if a literal cannot express it."""
    text = repr(value)
    try:
        return text if literal_eval(text) == value else None
    except (ValueError, SyntaxError):
        return None
