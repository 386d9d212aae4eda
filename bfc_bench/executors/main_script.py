"""Prevents workers from running the session's script again if it has no ``if __name__ == "__main__":``.

A spawned process imports the script that started it, to unpickle what is defined there. Without the guard, each worker
would run the suite again.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def not_imported_again() -> Iterator[None]:
    """Inside, new processes do not import a script that would run its work again."""
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if file is None or getattr(main, "__spec__", None) is not None or not _begins_when_imported(file):
        yield
        return
    del main.__file__  # a new process would import it
    try:
        yield
    finally:
        main.__file__ = file


def _begins_when_imported(file: str) -> bool:
    """Whether the top level of the script has called what runs now, outside of ``if __name__ == "__main__":``."""
    line = _line_of_the_script(sys._getframe(), file)
    if line is None:
        return False
    try:
        with open(file, "rb") as source:
            statements = ast.parse(source.read()).body
    except (OSError, SyntaxError, ValueError):
        return False
    return not any(
        isinstance(statement, ast.If)
        and any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(statement.test))
        and statement.lineno <= line <= (statement.end_lineno or line)
        for statement in statements
    )


def _line_of_the_script(frame: FrameType | None, file: str) -> int | None:
    """The line that the top level of the script is executing, or None."""
    while frame is not None:
        is_top = frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__"
        if is_top and frame.f_code.co_filename == file:
            return frame.f_lineno
        frame = frame.f_back
    return None
