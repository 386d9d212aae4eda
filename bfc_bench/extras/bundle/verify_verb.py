"""``bfc-bench verify``: check the verdicts and some of the rows of a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bfc_bench.cli.options import DataOption


def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE.zip", help="Bundle that `bundle` wrote.")],
    cells: Annotated[
        int, typer.Option("--cells", metavar="K", min=0, help="Number of cells to draw and run again.")
    ] = 3,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", min=0, help="Draw only cells whose fit took at most this long.")
    ] = 10.0,
    draw: Annotated[
        str, typer.Option("--draw", metavar="TEXT", help="Draw other cells, which the sender could not know.")
    ] = "",
    executor: Annotated[
        str, typer.Option("--executor", metavar="NAME", help="Executor that runs the cells.")
    ] = "processes",
    into: Annotated[
        Path | None, typer.Option("--into", metavar="DIR", help="Store to merge the rows into if nothing differs.")
    ] = None,
    data: DataOption = None,
) -> None:
    """Compute every verdict of a bundle again from its rows, and run some of its cells again.

    The cells are drawn by the digest of the bundle. The exit code is 1 if anything differs.
    """
    from bfc_bench.extras.bundle.verify import verify
    from bfc_bench.plugins import load_plugins

    done = verify(
        file, load_plugins(), cells=cells, seconds=seconds, draw=draw, executor=executor, into=into, tell=typer.echo
    )
    again = ", ".join(f"{count} cells {shown}" for shown, count in sorted(done.cells.items()))
    typer.echo(
        f"{done.verdicts} verdicts agree; {again or 'no cell was run again'}; {len(done.differences)} differences."
    )
    raise typer.Exit(done.exit_code)
