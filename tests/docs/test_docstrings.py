"""Every public function of three parameters or more says what each of them is."""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from bfc_bench.executors.base import Pool

ROOT = Path(__file__).parents[2]
MODULES = {
    ".".join((package, *path.relative_to(ROOT / folder).with_suffix("").parts)).removesuffix(".__init__"): path
    for package, folder in (("bfc_bench", "bfc_bench"), ("bfc_plugins", "plugins"))
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not {"example", "template"} & set(path.parts)
}
VERBS = "bfc_bench.cli"
"""The parameters of verbs have ``help=`` texts, and the docstring is the text of ``--help``."""


def undescribed(module: str, path: Path) -> Iterator[str]:
    """``CLASS.METHOD: names`` of functions whose docstring lacks parameters."""
    for node in ast.parse(path.read_text()).body:
        owners = [(node, "")]
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            owners = [(inner, node.name) for inner in node.body]
        for function, owner in owners:
            if (
                not isinstance(function, ast.FunctionDef)
                or function.name.startswith("_")
                or inherits(module, owner, function.name)
            ):
                continue
            arguments = function.args
            every = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
            names = [name for name in every if name not in ("self", "cls")]
            text = (ast.get_docstring(function) or "").partition("Args:")[2]
            if len(names) >= 3 and (
                lacking := [name for name in names if not re.search(rf"^\s+\**{name}\b.*:", text, re.M)]
            ):
                yield f"{owner}.{function.name}: {', '.join(lacking)}"


def inherits(module: str, owner: str, name: str) -> bool:
    """Whether a base class of this project documents the method."""
    if not owner:
        return False
    cls = getattr(import_module(module), owner)
    bases = [*inspect.getmro(cls)[1:], *([Pool] if owner.endswith("Pool") else [])]  # a protocol
    return any(name in vars(base) and base.__module__.startswith("bfc_") for base in bases)


@pytest.mark.parametrize("module", [name for name in MODULES if not name.startswith(VERBS)])
def test_each_parameter_is_described(module: str) -> None:
    assert list(undescribed(module, MODULES[module])) == []
