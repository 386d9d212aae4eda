"""``bfc-bench bundle`` and ``verify``: results as one file that others can check and cite."""

from pathlib import Path
from typing import Annotated

import typer

from bfc_bench.cli.options import STORE, DataOption, StoreOption, console
from bfc_bench.utils.counted import counted


def bundle(
    output: Annotated[Path, typer.Option("--output", metavar="FILE.zip", help="Zip file to write.")],
    suites: Annotated[
        list[str] | None, typer.Argument(metavar="SUITE...", help="Suites by name or NAME@VERSION; by default all.")
    ] = None,
    store: StoreOption = STORE,
    title: Annotated[str, typer.Option("--title", help="Title to cite.")] = "",
    author: Annotated[
        list[str] | None, typer.Option("--author", metavar="NAME", help="Author to cite. Repeatable.")
    ] = None,
    license: Annotated[
        str, typer.Option("--license", metavar="SPDX", help="Licence that you give the results.")
    ] = "CC-BY-4.0",
) -> None:
    """Write the results of suites as one file that others can check, merge and cite.

    It holds all rows and runs, and the claims with their verdicts. It does not hold tracebacks, artifacts and
    folders of this machine in command lines.
    """
    from bfc_bench.cli.display import Progress
    from bfc_bench.errors import UsageError
    from bfc_bench.extras.bundle.write import bundle
    from bfc_bench.stored_suite import open_store

    if output.suffix != ".zip" or output.is_dir() or not output.parent.is_dir():
        raise UsageError(f"--output must name a zip file in a folder that exists. Got {output}.")
    with Progress(console(), lambda: f"writing {output}"), open_store(store) as opened:
        done = bundle(opened, suites or (), output, title=title, authors=author or (), licence=license)
    for (name, version), folder in sorted(done.folders.items()):
        typer.echo(f"{name}@{version}: the results name folders of a machine, such as {folder}.")
    held, size = f"{counted(done.rows, 'row')} of {counted(done.suites, 'suite')}", output.stat().st_size / 1e6
    typer.echo(f"{output}: {held}, {size:.3g} MB. SHA-256 of its manifest: {done.digest}.")


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
    data: DataOption = None,
) -> None:
    """Compute every verdict of a bundle again from its rows, and run some of its cells again.

    The cells are drawn by the digest of the bundle. The exit code is 1 if anything differs or nothing was compared.
    """
    from bfc_bench.cli.display import Progress
    from bfc_bench.extras.bundle.verify import verify

    with Progress(console(), lambda: "computing the verdicts again") as progress:
        done = verify(
            file, cells=cells, seconds=seconds, draw=draw, executor=executor, tell=progress.say, listeners=[progress]
        )
    again = ", ".join(f"{counted(count, 'cell')} {verdict}" for verdict, count in sorted(done.cells.items()))
    agree = f"{counted(done.verdicts, 'verdict')} agree{'s' * (done.verdicts == 1)}"
    typer.echo(f"{agree}; {again or 'no cell was run again'}; {counted(len(done.differences), 'difference')}.")
    raise typer.Exit(done.exit_code)
