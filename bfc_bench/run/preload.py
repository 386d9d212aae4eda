"""Libraries that a learner imports where it uses them, loaded before its clock starts and its memory counts.

What its methods and the functions beside it import is read from the source, for its base classes too. What is imported
there imports in turn inside functions is not followed, nor are names that are computed: that is the cell's time.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import resolve_name

from bfc_bench.learner import Learner

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def import_libraries(learner: type[Learner]) -> None:
    """Import them, once per process; one that cannot be imported is left to the fit, which may not need it."""
    bases = learner.__mro__[: learner.__mro__.index(Learner)]
    for base in bases:
        for library, part in dict.fromkeys(_imports(base)):
            with suppress(Exception):
                module = import_module(library)
                if part and not hasattr(module, part):
                    import_module(f"{library}.{part}")


def _imports(base: type) -> Iterator[tuple[str, str]]:
    """What its methods, and the functions of its module, import: (module, name), the name empty for a whole module."""
    module = sys.modules[base.__module__]
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):  # it has no source here
        return
    own = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == base.__name__]
    functions = [
        node for node in (*tree.body, *(part for node in own for part in node.body)) if isinstance(node, FUNCTIONS)
    ]
    for node in (node for function in functions for node in ast.walk(function)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            library = resolve_name("." * node.level + (node.module or ""), module.__package__)
            yield from ((library, alias.name) for alias in node.names)
