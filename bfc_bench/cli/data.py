"""``bfc-bench data``: list, download and describe data sets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from bfc_bench.cli.options import DataOption, console

if TYPE_CHECKING:
    from bfc_bench.plugins.manager import Plugins
    from bfc_bench.tasks.base import DataSet, DataSetContents

NameArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of a data set in `bfc-bench data list`.")
]
NAMES = 12
"""The largest number of classes or columns that are printed by name."""


data = typer.Typer(help="List, download and describe data sets.", no_args_is_help=True)


@data.command("list")
def list_(data: DataOption = None) -> None:
    """List the data sets, what each needs and whether it is on this machine."""
    from bfc_bench.cli.tables import print_table
    from bfc_bench.plugins.manager import load_plugins

    plugins = load_plugins()
    rows = [(name, plugins.data.origin(name), _state(plugins.data.get(name), name)) for name in plugins.data]
    print_table(console(), ("name", "from", "state"), rows, prose=True)


@data.command()
def get(name: NameArgument) -> None:
    """Download a public data set into the cache and verify its checksum.

    No other command downloads data.
    """
    from bfc_bench.plugins.manager import load_plugins

    typer.echo(_data_set(load_plugins(), name, []).get())


@data.command()
def show(
    name: NameArgument,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set an option of the data set, e.g. pool=2. Repeatable."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="File for examples of images; NAME.png by default.")
    ] = None,
    data: DataOption = None,
) -> None:
    """Print the size, shape, classes and columns of a data set.

    For images, also write examples to a PNG file.
    """
    from bfc_bench.plugins.manager import load_plugins
    from bfc_bench.tasks.load_data import read

    contents = read(_data_set(load_plugins(), name, set_ or []), f"data {name!r}")
    for line in _described(contents):
        typer.echo(line)
    if contents.shape:
        from bfc_bench.report.examples import example_images
        from bfc_bench.utils.files import write_file

        file = output or Path(f"{re.sub(r'[^A-Za-z0-9._-]', '-', name)}.png")
        write_file(file, example_images(name, contents))
        typer.echo(f"examples: {file.resolve()}")


def _data_set(plugins: Plugins, name: str, changes: list[str]) -> DataSet:
    """The data set with the options that ``--set`` gives."""
    from bfc_bench.run.build_task import build_part
    from bfc_bench.suite.changes import changed

    return build_part(changed({"kind": name}, changes), plugins.data, "data")


def _state(kind: type[DataSet], name: str) -> str:
    """Whether the data set is on this machine, or what it needs."""
    if required := [option for option, field in kind.model_fields.items() if field.is_required()]:
        return f"options needed: {', '.join(required)}"
    missing = kind.parse({}, name).missing_files()
    return f"not here; `bfc-bench data get {name}`" if missing else "here"


def _described(contents: DataSetContents) -> list[str]:
    """Lines that describe a data set."""
    import numpy as np

    points, test = contents.points, contents.test
    lines = [f"points: {len(points):,}" + (f" to train on, {len(test):,} to test on" if test else ", no test part")]
    shape = " x ".join(map(str, contents.shape))
    lines.append(
        f"inputs: {points.x.shape[1]:,}" + (f", images of {shape} (channels x height x width)" if shape else "")
    )
    if contents.table:
        gaps = np.isnan(points.x).sum(axis=0).tolist()
        for column, missing in zip(contents.table.columns, gaps, strict=True):
            held = f"{len(column.levels)} categories: {_some(column.levels)}" if column.levels else "numbers"
            lines.append(f"column {column.name}: {held}" + (f"; {missing:,} missing" if missing else ""))
    else:
        low, high = float(points.x.min()) / contents.divisor, float(points.x.max()) / contents.divisor
        lines.append(f"values: {low:.6g} to {high:.6g}")
    if contents.groups is not None:
        lines.append(f"groups: {len(np.unique(contents.groups)):,}")
    if contents.columns and not contents.table:
        lines.append(f"columns: {_some(contents.columns)}")
    if contents.classes:
        counts = np.bincount(points.y.astype(int), minlength=len(contents.classes))
        each = [f"{name} ({count:,})" for name, count in zip(contents.classes, counts.tolist(), strict=True)]
        lines.append(f"classes: {len(each)}: {_some(each)}")
    else:
        y = np.asarray(points.y, float)
        lines.append(f"target: {y.min():.6g} to {y.max():.6g}, mean {y.mean():.6g}, deviation {y.std():.6g}")
    return lines


def _some(names: list[str] | tuple[str, ...]) -> str:
    rest = len(names) - NAMES
    return ", ".join(names[:NAMES]) + (f" and {rest} more" if rest > 0 else "")
