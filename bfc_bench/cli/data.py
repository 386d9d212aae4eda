"""``bfc-bench data``: which data sets there are, what they hold, and fetching those that can be."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from bfc_bench.cli.options import DataOption
from bfc_bench.errors import UsageError

if TYPE_CHECKING:
    from bfc_bench.plugins import Plugins
    from bfc_bench.tasks.base import DataSet, DataSetContents

NameArgument: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="Kind of a data set, as suites name it.")]
NAMES = 12
"""Classes and columns that are named; of more the number is."""


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    verb = typer.Typer(help="Data sets: which there are, what they hold, and fetching those that can be.")
    verb.callback(no_args_is_help=True)(lambda: None)
    for name, command in (("list", list_), ("get", get), ("show", show)):
        verb.command(name)(command)
    app.add_typer(verb, name="data")


def list_(data: DataOption = None) -> None:
    """List the kinds of data sets, what each needs, and whether it is there."""
    from bfc_bench.plugins import load_plugins

    plugins = load_plugins()
    rows = [(name, plugins.data.origin(name), _state(plugins.data.get(name), name)) for name in plugins.data]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, origin, state in rows:
        typer.echo(f"{name:{widths[0]}}  {origin:{widths[1]}}  {state}")


def get(name: NameArgument) -> None:
    """Fetch a public data set into the cache, with its checksum. Nothing else downloads."""
    from bfc_bench.plugins import load_plugins

    typer.echo(_data_set(load_plugins(), name, []).get())


def show(
    name: NameArgument,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="An option of the data set, e.g. pool=2. Repeatable."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where examples of images go; NAME.png by default.")
    ] = None,
    data: DataOption = None,
) -> None:
    """Print counts, shape, classes and columns of a data set, and write examples of images as a PNG."""
    from bfc_bench.plugins import load_plugins
    from bfc_bench.tasks.load_data import read

    found = read(_data_set(load_plugins(), name, set_ or []), f"data {name!r}")
    for line in _facts(found):
        typer.echo(line)
    if found.shape:
        from bfc_bench.report.examples import sheet
        from bfc_bench.utils.files import write_file

        out = out or Path(f"{re.sub(r'[^A-Za-z0-9._-]', '-', name)}.png")
        write_file(out, sheet(found))
        typer.echo(f"examples: {out.resolve()}")


def _data_set(plugins: Plugins, name: str, changes: list[str]) -> DataSet:
    """The data set with the options that ``--set`` gives."""
    from bfc_bench.suite.changes import apply
    from bfc_bench.tasks.build import build_data

    table = {"kind": name}
    for change in changes:
        apply(table, change)
    return build_data(table, plugins.data, "data")


def _state(kind: type[DataSet], name: str) -> str:
    """Whether it is there, or what it needs."""
    if required := [option for option, field in kind.model_fields.items() if field.is_required()]:
        return f"reads what you name: {', '.join(required)}"
    try:
        missing = kind.parse({}, name).missing()
    except UsageError:  # one that stands for others
        return f"{name}:NAME, of many"
    return f"not here; `bfc-bench data get {name}`" if missing else "here"


def _facts(found: DataSetContents) -> list[str]:
    """What a data set holds, a line each."""
    import numpy as np

    points, test = found.points, found.test
    lines = [f"points: {len(points):,}" + (f" to train on, {len(test):,} to test on" if test else ", no test part")]
    shape = " x ".join(map(str, found.shape))
    lines.append(
        f"inputs: {points.x.shape[1]:,}" + (f", images of {shape} (channels x height x width)" if shape else "")
    )
    low, high = float(points.x.min()) / found.divisor, float(points.x.max()) / found.divisor
    lines.append(f"values: {low:.6g} to {high:.6g}")
    if found.columns:
        lines.append(f"columns: {_some(found.columns)}")
    if found.classes:
        counts = np.bincount(points.y.astype(int), minlength=len(found.classes))
        each = [f"{name} ({count:,})" for name, count in zip(found.classes, counts.tolist(), strict=True)]
        lines.append(f"classes: {len(each)}: {_some(each)}")
    else:
        y = np.asarray(points.y, float)
        lines.append(f"target: {y.min():.6g} to {y.max():.6g}, mean {y.mean():.6g}, deviation {y.std():.6g}")
    return lines


def _some(names: list[str] | tuple[str, ...]) -> str:
    rest = len(names) - NAMES
    return ", ".join(names[:NAMES]) + (f" and {rest} more" if rest > 0 else "")
