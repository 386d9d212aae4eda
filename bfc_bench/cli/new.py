"""``bfc-bench new``: write a plugin package with one part of any kind, or a results repository."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated

import typer

import bfc_bench
from bfc_bench.errors import UsageError
from bfc_bench.verbs import HIDDEN, VERBS


@dataclass(frozen=True)
class Scaffold:
    """A kind of plugin package that can be written."""

    what: str
    """The kind in words."""
    example: str
    """An example of a name."""
    hook: str = ""
    """Its hook; empty if the kind has a template of its package."""
    base: str = ""
    """Its base class."""
    check: str = ""
    """Options that ``bfc-bench check`` needs."""
    checked: str = "$name"
    """What ``bfc-bench check`` is called with."""
    packaged: str = ""
    """A section of pyproject.toml, for packages with files other than Python."""
    layout: dict[str, str] = field(default_factory=dict)
    """Where its template files go; empty for ``LAYOUT``."""


LAYOUT = {
    "pyproject.toml": "pyproject.toml",
    "{kind}/README.md": "README.md",
    "{kind}/first.toml": "first.toml",
    "package.py": "src/$package/__init__.py",
    "{kind}/part.py": "src/$package/$module.py",
    "{kind}/test.py": "tests/test_$module.py",
}
"""Where each template file goes."""
SUITE = {
    "pyproject.toml": "pyproject.toml",
    "{kind}/README.md": "README.md",
    "{kind}/package.py": "src/$package/__init__.py",
    "{kind}/part.toml": "src/$package/$module.toml",
    "{kind}/test.py": "tests/test_$module.py",
}
OWN_HOOKS = {source.replace("package.py", "{kind}/package.py"): target for source, target in LAYOUT.items()}
KINDS = {
    "learner": Scaffold("learner", "nearest-neighbour", "bfc_register_learners", "Learner"),
    "target": Scaffold("target", "wave", "bfc_register_targets", "Target"),
    "inputs": Scaffold("input law", "laplace", "bfc_register_inputs", "Inputs"),
    "law": Scaffold("joint law", "hidden-coin", "bfc_register_laws", "JointLaw"),
    "labels": Scaffold("labelling", "rounded", "bfc_register_labels", "Labels"),
    "data": Scaffold(
        *("data set", "logbook", "bfc_register_data", "DataSet"),
        check=" --set path=FILE",
        layout={**LAYOUT, "{kind}/points.txt": "points.txt"},
    ),
    "claim": Scaffold(
        "kind of claim", "overfits", "bfc_register_claims", "Claim", check=" --set label=LABEL --set task=TASK"
    ),
    "metric": Scaffold("metric", "largest-error", layout=OWN_HOOKS),
    "executor": Scaffold("executor", "futures", "bfc_register_executors", "Executor"),
    "suite": Scaffold(
        *("suite", "first-steps"),
        packaged='[tool.setuptools.package-data]\n$package = ["*.toml"]\n\n',
        layout=SUITE,
    ),
    "plot": Scaffold("plot", "error-against-time", check=" --kind plot", layout=OWN_HOOKS),
    "verb": Scaffold("verb", "best-learners", check=" --kind verb", layout=OWN_HOOKS),
    "listener": Scaffold("listener", "count-failures", check=" --kind listener", checked="$package", layout=OWN_HOOKS),
}
"""By the word after ``bfc-bench new``."""

REPOSITORY = {
    "repository/README.md": "README.md",
    "repository/CONTRIBUTING.md": "CONTRIBUTING.md",
    "repository/LICENSE": "LICENSE",
    "repository/results.toml": "results.toml",
    "repository/requirements.txt": "requirements.txt",
    "repository/gitattributes": ".gitattributes",
    "repository/gitignore": ".gitignore",
    "repository/gitkeep": "results/.gitkeep",
    "repository/check.yml": ".github/workflows/check.yml",
    "repository/site.yml": ".github/workflows/site.yml",
}
"""Where the template files of a results repository go."""
LONGEST = 60
"""Maximum number of characters of a name."""
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
IMPORTED = {
    *(
        "Any",
        "Callable",
        "ClassVar",
        "Future",
        "Iterator",
        "Path",
        "PositiveFloat",
        "PositiveInt",
        "ProcessPoolExecutor",
    ),
    *("Region", "Sequence"),
    *bfc_bench.__all__,
}
"""Names that the templates import, which no generated class may have."""


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    new = typer.Typer(
        help="Write a package to start a plugin from, with tests, or a results repository.", no_args_is_help=True
    )
    for command in KINDS:
        new.command(command)(_verb(command))
    new.command("results-repository")(results_repository)
    new.callback()(lambda: None)
    app.add_typer(new, name="new")


def results_repository(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write to, new or empty.")],
) -> None:
    """Write a git repository in which a community collects results, with the workflows that check them."""
    for path in _write(REPOSITORY, {}, directory):
        typer.echo(str(path))
    typer.echo(f"Next: git init {directory}, and read {directory / 'README.md'}")


def _verb(command: str) -> Callable[[str, Path | None], None]:
    kind = KINDS[command]

    def write(
        name: Annotated[str, typer.Argument(metavar="NAME", help="Name in lower-case words joined by hyphens.")],
        directory: Annotated[
            Path | None,
            typer.Option("--directory", metavar="DIR", help="Folder to write to; ./bfc-bench-NAME by default."),
        ] = None,
    ) -> None:
        folder = directory or Path(f"bfc-bench-{name}")
        for path in write_distribution(command, name, folder):
            typer.echo(str(path))
        checked = Template(kind.checked).substitute(_names(name, kind))
        typer.echo(f"Next: python -m pip install -e {folder} && bfc-bench check {checked}{kind.check}")

    write.__doc__ = f"Write a plugin package with one {kind.what} and its tests."
    return write


def write_distribution(command: str, name: str, directory: Path) -> list[Path]:
    """Write a plugin package and return the paths of its files.

    Args:
        command: The kind of plugin, a key of ``KINDS`` such as ``learner``.
        name: Name in kebab-case.
        directory: Folder to write to, new or empty.

    Raises:
        UsageError: The name is not kebab-case or not usable in Python, or the folder is not empty.
    """
    kind = KINDS[command]
    layout = {source.format(kind=command): target for source, target in (kind.layout or LAYOUT).items()}
    return _write(layout, _names(name, kind), directory)


def _write(layout: Mapping[str, str], names: Mapping[str, str], directory: Path) -> list[Path]:
    """Write template files to a new or empty folder, with ``names`` in place of their placeholders."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(f"{directory}: must be a new or an empty folder. Choose another one or move its files.")
    written = []
    for source, target in layout.items():
        path = directory / Template(target).substitute(names)
        template = files("bfc_bench.cli").joinpath("template", *f"{source}.tmpl".split("/"))
        text = Template(template.read_text(encoding="utf-8")).substitute(names)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{path}: cannot be written: {error.strerror}. Choose another folder.") from None
        written.append(path)
    return written


def _names(name: str, kind: Scaffold) -> dict[str, str]:
    article = "An" if kind.what[0] in "aeiou" else "A"
    if NAME.fullmatch(name) is None or len(name) > LONGEST:
        raise UsageError(
            f"{article} {kind.what}'s name must be lower-case words of letters and digits joined by hyphens, at most "
            f"{LONGEST} characters, for example {kind.example!r}. Got {name[: LONGEST + 1]!r}."
        )
    module = name.replace("-", "_")
    cls = "".join(word.capitalize() for word in name.split("-"))
    is_verb = kind.what == "verb" and name in (*VERBS, *HIDDEN)
    if keyword.iskeyword(module) or keyword.iskeyword(cls) or cls in IMPORTED or is_verb:
        raise UsageError(
            f"{article} {kind.what} cannot be called {name!r}: {cls!r} or {module!r} is already taken. Add a word."
        )
    names = {
        "name": name,
        "module": module,
        "cls": cls,
        "package": f"bfc_bench_{module}",
        "distribution": f"bfc-bench-{name}",
        "what": kind.what,
        "hook": kind.hook,
        "base": kind.base,
    }
    return {**names, "packaged": Template(kind.packaged).substitute(names)}
