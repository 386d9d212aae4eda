"""What scikit-learn says of its estimators, remembered on disk: to ask it, it must be imported, which takes seconds.

A suite is planned, looked at and found finished without a fit. All that is wanted of scikit-learn then are the options
of its classes and whether those given are good, which only another version would answer otherwise. In a process that
has imported scikit-learn it is asked, and so are its versions under development.
"""

from __future__ import annotations

import sys
from ast import literal_eval
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bfc_plugins import sklearn_objects

from bfc_bench.errors import BenchError
from bfc_bench.learner import LabelKind
from bfc_bench.utils.files import cache_folder, make_folder, write_file

FORMAT = 1
"""Of the files: a question and its answer, as Python writes them."""
AT_MOST = 1000
"""Answers that are kept: a search over thousands of options fits them all, and has scikit-learn imported."""


def described(path: str) -> tuple[dict[str, Any], frozenset[LabelKind]]:
    """Of the class at ``sklearn.<path>``: defaults by option, ``...`` for none, and the label kinds that it may fit.

    Raises ``UsageError`` with the nearest name.
    """

    def ask() -> tuple[list[tuple[str, tuple[Any, ...]]], list[LabelKind]]:
        maker, labels = sklearn_objects.load(path)
        options = sklearn_objects.parameters(maker)
        return [(name, () if default is ... else (default,)) for name, default in options], sorted(labels)

    options, labels = _remembered(("class", path), ask)
    return {name: default[0] if default else ... for name, default in options}, frozenset(labels)


def kinds(path: str, options: Mapping[str, Any]) -> frozenset[LabelKind]:
    """The label kinds that an estimator with these options fits. Raises what scikit-learn finds wrong with them."""

    def ask() -> list[LabelKind]:
        estimator = sklearn_objects.make(path, options)
        sklearn_objects.check(estimator)
        return sorted(sklearn_objects.kinds_of(estimator))

    return frozenset(_remembered(("options", path, dict(sorted(options.items()))), ask))


def _remembered(question: tuple[Any, ...], ask: Callable[[], Any]) -> Any:
    """The answer to a question about scikit-learn; what is not plain data is asked every time."""
    folder, text = _folder(), _literal(question)
    if folder is None or text is None:
        return ask()
    file = folder / f"{sha256(text.encode()).hexdigest()[:32]}.txt"
    if "sklearn" not in sys.modules:
        with suppress(OSError, ValueError, SyntaxError, TypeError):  # it is not there, or is not what it should be
            asked, answer = literal_eval(file.read_text(encoding="utf-8"))
            if asked == question:
                return answer
    answer = ask()
    if (content := _literal((question, answer))) is not None:
        with suppress(BenchError, OSError):  # a folder that cannot be read or written to: it is asked again
            if not file.exists():
                make_folder(folder)
                if len(list(folder.iterdir())) < AT_MOST:
                    write_file(file, content.encode())
    return answer


@lru_cache(maxsize=1)
def _folder() -> Path | None:
    try:
        found, cache = version("scikit-learn"), cache_folder()
    except (PackageNotFoundError, BenchError):
        return None
    return None if "dev" in found else cache / f"scikit-learn-{found}-{FORMAT}"


def _literal(value: Any) -> str | None:
    """The value as Python writes it, if that is all there is to it."""
    text = repr(value)
    try:
        return text if literal_eval(text) == value else None
    except (ValueError, SyntaxError):
        return None
