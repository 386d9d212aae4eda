"""Writes a complete distribution with one learner, ready to be changed."""

from __future__ import annotations

import keyword
import re
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated

import typer

import bfc_bench
from bfc_bench.errors import UsageError

LAYOUT = {
    "pyproject.toml.tmpl": "pyproject.toml",
    "README.md.tmpl": "README.md",
    "first.toml.tmpl": "first.toml",
    "package.py.tmpl": "src/$package/__init__.py",
    "learner.py.tmpl": "src/$package/$module.py",
    "test.py.tmpl": "tests/test_$module.py",
}
"""Where each file of the template goes."""

LONGEST = 60
"""Characters of a learner's name."""
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
IMPORTED = {"ClassVar", "PositiveInt", *bfc_bench.__all__}
"""Names that the template imports, so that no class of it can have them."""


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    new = typer.Typer(help="Write a complete distribution to start a plugin from.", no_args_is_help=True)
    new.command("learner")(learner)
    new.callback()(lambda: None)
    app.add_typer(new, name="new")


def learner(
    name: Annotated[str, typer.Argument(metavar="NAME", help="For example nearest-neighbour.")],
    directory: Annotated[
        Path | None, typer.Option("--directory", help="Folder to write; ./bfc-bench-NAME by default.")
    ] = None,
) -> None:
    """Write a distribution with one learner, its entry point and a test that calls check_learner."""
    folder = directory or Path(f"bfc-bench-{name}")
    for path in write_learner(name, folder):
        typer.echo(str(path))
    typer.echo(f"Next: python -m pip install -e {folder} && bfc-bench check {name}")


def write_learner(name: str, directory: Path) -> list[Path]:
    """Write a distribution for a learner called ``name`` into ``directory``; gives the files, which must not exist yet.

    Raises ``UsageError`` for a name that is not kebab-case or not usable in Python, and for a folder that is not empty.
    """
    names = _names(name)
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(f"{directory}: must be a new or an empty folder. Choose another one or move what is there.")
    written = []
    for source, target in LAYOUT.items():
        path = directory / Template(target).substitute(names)
        text = files("bfc_bench.cli").joinpath("template", source).read_text(encoding="utf-8")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(Template(text).substitute(names), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{path}: cannot be written: {error.strerror}. Choose a folder by --directory.") from None
        written.append(path)
    return written


def _names(name: str) -> dict[str, str]:
    if NAME.fullmatch(name) is None or len(name) > LONGEST:
        raise UsageError(
            f"A learner's name must be lower-case words of letters and digits joined by hyphens, at most {LONGEST} "
            f"characters, for example 'nearest-neighbour'. Got {name[: LONGEST + 1]!r}."
        )
    module = name.replace("-", "_")
    cls = "".join(word.capitalize() for word in name.split("-"))
    if keyword.iskeyword(module) or keyword.iskeyword(cls) or cls in IMPORTED:
        raise UsageError(
            f"A learner cannot be called {name!r}: {cls!r} or {module!r} means something else. Add a word."
        )
    return {
        "name": name,
        "module": module,
        "cls": cls,
        "package": f"bfc_bench_{module}",
        "distribution": f"bfc-bench-{name}",
    }
