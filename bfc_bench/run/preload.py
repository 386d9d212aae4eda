"""Imports the libraries that a learner imports inside functions, before its clock starts and its memory counts.

The imports are read from the source of its methods and of the functions in its module, also for base classes. Imports
inside functions of other modules, and computed names, are not followed; they count as the cell's time.
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
    """Import the libraries of a learner once per process. Errors are ignored: the fit may not need it."""
    bases = learner.__mro__[: learner.__mro__.index(Learner)]
    for base in bases:
        for library, part in dict.fromkeys(_imports(base)):
            with suppress(Exception):
                module = import_module(library)
                if part and not hasattr(module, part):
                    import_module(f"{library}.{part}")


def _imports(base: type) -> Iterator[tuple[str, str]]:
    """Imports in the methods of a class and the functions of its module: (module, name), or (module, "")."""
    module = sys.modules[base.__module__]
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):  # the source is not available
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
