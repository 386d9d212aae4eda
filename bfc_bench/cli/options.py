"""Arguments and options that several verbs share."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args

import typer

from bfc_bench.errors import UsageError
from bfc_bench.store import DEFAULT_STORE, Redo
from bfc_bench.tasks import DATA_VARIABLE

if TYPE_CHECKING:
    from rich.console import Console


def _names_of(kind: str) -> Callable[[str], list[str]]:
    """For shell completion: the names of a kind that begin with a text; the shell completes files itself."""

    def names(incomplete: str) -> list[str]:
        from bfc_bench.plugins.manager import load_plugins

        return [name for name in load_plugins().registries[kind] if name.startswith(incomplete)]

    return names


SuiteArgument: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="SUITE", help="Name of a suite or path of a suite file.", autocompletion=_names_of("suite")),
]
StoreOption: TypeAlias = Annotated[
    Path,
    typer.Option("--store", metavar="DIR", envvar="BFC_BENCH_STORE", help="Folder of the store, or a bundle to read."),
]
SetOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a value of the suite, e.g. replicates=2. Repeatable."),
]
LearnerOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--learner",
        metavar="NAME",
        help="Restrict to this learner or label. Repeatable.",
        autocompletion=_names_of("learner"),
    ),
]
LabelOption: TypeAlias = Annotated[
    list[str] | None, typer.Option("--learner", metavar="LABEL", help="Restrict to this label. Repeatable.")
]
TaskOption: TypeAlias = Annotated[
    list[str] | None, typer.Option("--task", metavar="NAME", help="Restrict to this task. Repeatable.")
]
FormatOption: TypeAlias = Annotated[Literal["table", "json"], typer.Option("--format", help="Output format.")]
DeviceOption: TypeAlias = Annotated[
    str, typer.Option("--device", metavar="auto|cpu|cuda", help="Device that learners use.")
]

ExecutorOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--executor", metavar="NAME", help="Use this executor instead of the suite's, e.g. serial."),
]
ExecutorOptionsOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--executor-option", metavar="KEY=VALUE", help="Set an option of the executor. Repeatable."),
]


def _look_in(folder: Path | None) -> Path | None:
    """Set the data folder for this process and its workers."""
    if folder is not None:
        if not folder.is_dir():
            raise UsageError(f"--data {folder}: there is no such folder.")
        os.environ[DATA_VARIABLE] = str(folder.resolve())
    return folder


DataOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        envvar=DATA_VARIABLE,
        callback=_look_in,
        help="Folder to search first for public data sets.",
    ),
]
JobsOption: TypeAlias = Annotated[
    int | None, typer.Option("--jobs", metavar="N", min=1, help="Number of workers; one per core by default.")
]
LocateOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--locate",
        metavar="FACTOR",
        help="Instead of all sizes, run those that locate N* of each replicate within this factor, such as 1.1.",
    ),
]
UntilDecidedOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--until-decided",
        help="Then add replicates, or sizes where these narrow N* more for a CPU second, until claims are decided.",
    ),
]
UpToOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--up-to",
        metavar="R",
        help="With --until-decided: maximum number of replicates; by default that of the suite's last look, or 20.",
    ),
]


def last_look(until_decided: bool, up_to: int | None, locate: float | None) -> float | None:
    """The largest number of replicates at a look; None without ``--until-decided``. Raises ``UsageError``."""
    if not until_decided:
        if up_to is not None:
            raise UsageError("--up-to needs --until-decided.")
        return None
    if locate is not None:
        raise UsageError("--locate and --until-decided choose the sizes differently; give one, then the other.")
    return math.inf if up_to is None else up_to


DimsOption: TypeAlias = Annotated[
    list[int] | None, typer.Option("--d", metavar="D", min=1, help="Restrict to this dimension. Repeatable.")
]
STORE = Path(DEFAULT_STORE)


RedoOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--redo",
        metavar="CELLS",
        help="Run cells again: failed, killed, stale (made by another release or device) or all. Repeatable.",
    ),
]


def redo_of(redo: Sequence[str] | None) -> set[Redo]:
    """Parse ``--redo``. Raises ``UsageError`` for an unknown word."""
    choices = get_args(Redo)
    if unknown := [word for word in redo or () if word not in choices]:
        raise UsageError(f"--redo must be {', '.join(choices[:-1])} or {choices[-1]}. Got {unknown[0]!r}.")
    return {word for word in choices if word in (redo or ())}


def console(width: int = 200) -> Console:
    """The terminal, or at least ``width`` columns if the output is no terminal."""
    from rich.console import Console

    out = Console()
    if not out.is_terminal:
        out.width = max(out.width, width)
    return out
