"""``bfc-bench list``: list what is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bfc_bench.errors import UsageError, suggest

HEADER = ("kind", "name", "from", "what")


def list_(
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="List only this kind, e.g. learner, target or suite.")
    ] = "",
) -> None:
    """List the learners, targets, suites and other parts that are installed.

    `bfc-bench show NAME` describes one of them.
    """
    from bfc_bench.cli.options import console
    from bfc_bench.cli.tables import print_table
    from bfc_bench.plugins import load_plugins

    plugins = load_plugins()
    plugins.import_all()
    kinds = [registry.kind for registry in plugins.registries.values()]
    if kind and kind not in kinds:
        raise UsageError(f"--kind {kind}: there is no such kind.{suggest(kind, kinds)}")
    rows = [
        (registry.kind, name, registry.origin(name), _summary(registry.get(name)))
        for registry in plugins.registries.values()
        if kind in ("", registry.kind)
        for name in registry
    ]
    print_table(console(), HEADER, rows, omit=[("from",)], prose=True)
    for item in plugins.unavailable:
        typer.echo(item)


def _summary(value: object) -> str:
    """The first line of a docstring, after the libraries that a learner lacks here; the description of a suite."""
    from bfc_bench.learner import Learner
    from bfc_bench.toolkit.libraries import missing

    if isinstance(value, Path):
        return _of_suite(value)
    if isinstance(value, type) and issubclass(value, Learner) and (lacking := missing(value.capabilities.required)):
        return f"(not usable here: {lacking}) {_first_line(value)}"
    return _first_line(value)


def _first_line(value: object) -> str:
    described = getattr(value, "measure", value)  # a metric is described by its function
    return (getattr(described, "__doc__", "") or "").strip().split("\n")[0].rstrip(".")


def _of_suite(path: Path) -> str:
    """The first sentence of a suite's description; the path of a file without one."""
    import tomllib

    try:
        description = str(tomllib.loads(path.read_text(encoding="utf-8")).get("description", ""))
    except (OSError, ValueError):
        description = ""
    return description.strip().split(". ")[0].split("\n")[0].rstrip(".") or str(path)
