"""``bfc-bench check``: the conformance kit, for learner authors."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from bfc_bench.errors import UsageError, suggest

if TYPE_CHECKING:
    from bfc_bench.learner import Learner


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("check")(check)


def check(
    name: Annotated[str, typer.Argument(metavar="NAME_OR_MODULE", help="A learner's name, or module:Class.")] = "",
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Measure how often the intervals of reports and claims cover instead.")
    ] = False,
) -> None:
    """Run every check of the learner contract and print how many passed, were skipped and failed."""
    if statistics == bool(name):
        raise UsageError("check: a learner's name or --statistics is required, and only one.")
    if statistics:
        from bfc_bench.analysis.selftest import report as measured

        for line in measured():
            typer.echo(line)
        return
    from bfc_bench.testing import check_learner

    fine = True
    for learner in _learners(name):
        report = check_learner(learner, strict=False)
        typer.echo(f"{report.learner}\n{report}")
        fine = fine and report.ok
    raise typer.Exit(0 if fine else 1)


def _learners(name: str) -> list[type[Learner]]:
    """A registered learner, the class in ``module:Class``, or every learner that a module defines."""
    from bfc_bench.learner import Learner
    from bfc_bench.plugins import load_plugins

    plugins = load_plugins()
    module, _, attribute = name.partition(":")
    if name in plugins.learners or module in plugins.learners:
        return [plugins.learner(name)]
    sys.path.insert(0, "")  # a console script does not look into the current folder
    try:
        found = vars(import_module(module))
    except ImportError as error:
        known = suggest(name, plugins.learners)
        raise UsageError(
            f"check: {name!r} is neither a learner's name nor a module that imports ({error}).{known}"
        ) from None
    classes = {k: v for k, v in found.items() if isinstance(v, type) and issubclass(v, Learner) and v is not Learner}
    if attribute:
        if attribute not in classes:
            raise UsageError(f"check: module {module!r} has no learner {attribute!r}.{suggest(attribute, classes)}")
        return [classes[attribute]]
    own = [cls for cls in classes.values() if cls.__module__.partition(".")[0] == module.partition(".")[0]]
    if not own:
        raise UsageError(f"check: module {module!r} defines no learner; none was checked.")
    return own
