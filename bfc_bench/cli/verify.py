"""``bfc-bench verify``: check the verdicts and some of the rows of a bundle, or of a results repository."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bfc_bench.cli.options import DataOption


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("verify")(verify)


def verify(
    file: Annotated[
        Path, typer.Argument(metavar="FILE.zip|DIR", help="Bundle that `bundle` wrote, or a results repository.")
    ],
    cells: Annotated[
        int | None,
        typer.Option("--cells", metavar="K", min=0, help="Number of cells to draw and run again; by default 3."),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", metavar="S", min=0, help="Draw only cells whose fit took at most this long; by default 10."
        ),
    ] = None,
    draw: Annotated[
        str, typer.Option("--draw", metavar="TEXT", help="Draw other cells, which the sender could not know.")
    ] = "",
    executor: Annotated[
        str, typer.Option("--executor", metavar="NAME", help="Executor that runs the cells.")
    ] = "processes",
    since: Annotated[
        str,
        typer.Option("--since", metavar="COMMIT", help="Check the entries of a repository that changed since then."),
    ] = "",
    data: DataOption = None,
) -> None:
    """Compute every verdict of a bundle again from its rows, and run some of its cells again.

    The cells are drawn by the digest of the bundle. Cells with an implausibly small error are run too. The exit code is
    1 if anything differs.

    Of a results repository (`new results-repository`), every entry is checked, by the rules in its results.toml, and
    marked: reproduced, consistent or unchecked. The marks go to its checks.json.
    """
    from bfc_bench.bundle.repository import is_repository
    from bfc_bench.bundle.verify import CELLS, SECONDS, verify
    from bfc_bench.errors import UsageError
    from bfc_bench.plugins import load_plugins

    if is_repository(file):
        if cells is not None or seconds is not None:
            raise UsageError(f"--cells and --seconds are for bundles; {file} has them in its results.toml.")
        raise typer.Exit(_check(file, since, draw, executor))
    if since:
        raise UsageError(f"--since is for results repositories, which hold a results.toml. {file} is none.")
    cells, seconds = CELLS if cells is None else cells, SECONDS if seconds is None else seconds
    done = verify(file, load_plugins(), cells=cells, seconds=seconds, draw=draw, executor=executor, tell=typer.echo)
    again = (
        f"{done.reproduced} cells reproduced, {done.consistent} consistent, {done.alike} alike"
        if cells
        else "no cell was run again"
    )
    typer.echo(f"{done.verdicts} verdicts agree; {again}; {len(done.differences)} differences.")
    raise typer.Exit(done.exit_code)


def _check(repository: Path, since: str, draw: str, executor: str) -> int:
    """Check a results repository; returns the exit code."""
    from collections import Counter

    from bfc_bench.bundle.check import check
    from bfc_bench.bundle.verify import MARKS
    from bfc_bench.plugins import load_plugins

    found = check(repository, load_plugins(), since=since, draw=draw, executor=executor, tell=typer.echo)
    marks, refused = Counter(one.mark for one in found), [one for one in found if one.problems]
    counted = ", ".join(f"{marks[mark]} {mark}" for mark in MARKS if marks[mark])
    typer.echo(f"{len(found)} entries: {counted or 'nothing to check'}; {len(refused)} cannot be accepted.")
    return int(bool(refused))
