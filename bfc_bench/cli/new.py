"""``bfc-bench new``: write a plugin package with a learner, a part of a task or a suite."""

import keyword
import re
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated, Literal

import typer

import bfc_bench
from bfc_bench.errors import UsageError
from bfc_bench.learner import ArrayKind
from bfc_bench.utils.files import make_folder, write_file

EXAMPLES = {"learner": "nearest-neighbour", "target": "wave", "suite": "first-steps"}
"""An example of a name for each kind of package, by the word after ``bfc-bench new``."""
OPTIONS = {
    "numpy": {"option": "neighbours = 10", "tuned": "neighbours = [1, 3, 10]"},
    "torch": {"option": "width = 128", "tuned": "width = [16, 64]"},
    "jax": {"option": "width = 128", "tuned": "width = [16, 64]"},
}
"""Options of the learner for each array library."""
LONGEST = 60
"""Maximum number of characters of a name."""
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
IMPORTED = {*("ClassVar", "Path", "PositiveFloat", "PositiveInt", "Weights"), *bfc_bench.__all__}
"""Names that the templates import, which no generated class may have."""


def new(
    what: Annotated[
        Literal["learner", "target", "suite"], typer.Argument(metavar="learner|target|suite", help="What it has.")
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name in lower-case words joined by hyphens.")],
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="Folder to write to; ./bfc-bench-NAME by default.")
    ] = None,
    arrays: Annotated[ArrayKind, typer.Option("--arrays", help="Library of a learner's arrays.")] = "numpy",
) -> None:
    """Write a package to start a plugin from, with tests.

    Other parts of tasks are packaged as a target is.
    """
    if what != "learner" and arrays != "numpy":
        raise UsageError(f"--arrays is for a learner. Leave it out for a {what}.")
    folder = output or Path(f"bfc-bench-{name}")
    for path in write_distribution(what, name, folder, arrays):
        typer.echo(str(path))
    typer.echo(f"Next: python -m pip install -e {folder} && bfc-bench check {name}")


def write_distribution(command: str, name: str, directory: Path, arrays: ArrayKind = "numpy") -> list[Path]:
    """Write a plugin package to a new or empty folder and return the paths of its files.

    Raises ``UsageError`` if the name is not kebab-case or not usable in Python, or the folder is not empty, and
    ``OutputError`` if a file cannot be written.
    """
    names = {**_names(command, name), **OPTIONS[arrays]}
    names["library"] = "" if arrays == "numpy" else f', "{arrays}"'
    names["packaged"] = f'[tool.setuptools.package-data]\n{names["package"]} = ["*.toml"]\n\n' * (command == "suite")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(f"{directory}: must be a new or an empty folder. Choose another one or move its files.")
    written = []
    for target, source in _layout(command, arrays).items():
        path = directory / Template(target).substitute(names)
        template = files("bfc_bench.cli").joinpath("template", *f"{source}.tmpl".split("/"))
        text = Template(template.read_text(encoding="utf-8")).substitute(names)
        make_folder(path.parent)
        write_file(path, text.encode())
        written.append(path)
    return written


def _layout(command: str, arrays: ArrayKind) -> dict[str, str]:
    """The files of a package, each with its template."""
    layout = {"pyproject.toml": "pyproject.toml", "README.md": f"{command}/README.md"}
    if command == "suite":
        part = {"src/$package/__init__.py": "suite/package.py", "src/$package/$module.toml": "suite/part.toml"}
        return {**layout, **part, "tests/test_$module.py": "suite/test.py"}
    code, test = (f"{arrays}.py", f"test_{arrays}.py") if command == "learner" else ("part.py", "test.py")
    part = {"src/$package/__init__.py": "package.py", "src/$package/$module.py": f"{command}/{code}"}
    return {**layout, "first.toml": f"{command}/first.toml", **part, "tests/test_$module.py": f"{command}/{test}"}


def _names(command: str, name: str) -> dict[str, str]:
    if NAME.fullmatch(name) is None or len(name) > LONGEST:
        raise UsageError(
            f"A {command}'s name must be lower-case words of letters and digits joined by hyphens, at most "
            f"{LONGEST} characters, for example {EXAMPLES[command]!r}. Got {name[: LONGEST + 1]!r}."
        )
    module = name.replace("-", "_")
    cls = "".join(word.capitalize() for word in name.split("-"))
    if keyword.iskeyword(module) or keyword.iskeyword(cls) or cls in IMPORTED:
        raise UsageError(f"A {command} cannot be called {name!r}: {cls!r} or {module!r} is already taken. Add a word.")
    return {
        "name": name,
        "module": module,
        "cls": cls,
        "package": f"bfc_bench_{module}",
        "distribution": f"bfc-bench-{name}",
        "what": command,
    }
