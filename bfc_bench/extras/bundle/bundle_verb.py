"""``bfc-bench bundle``: write the results of suites as one file that others can check and cite."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bfc_bench.cli.options import STORE, StoreOption


def bundle(
    to: Annotated[Path, typer.Option("--to", metavar="FILE.zip", help="Zip file to write.")],
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

    It holds all rows, runs and looks, and the claims with their verdicts. It does not hold tracebacks, artifacts and
    folders of this machine in command lines.
    """
    from bfc_bench.errors import UsageError
    from bfc_bench.extras.bundle.write import bundle
    from bfc_bench.stored_suite import open_store

    if to.suffix != ".zip" or to.is_dir() or not to.parent.is_dir():
        raise UsageError(f"--to must name a zip file in a folder that exists. Got {to}.")
    with open_store(store) as opened:
        done = bundle(opened, suites or (), to, title=title, authors=author or (), licence=license)
    for (name, version), folder in sorted(done.folders.items()):
        typer.echo(f"{name}@{version}: the results name folders of a machine, such as {folder}.")
    of_suites = "1 suite" if done.suites == 1 else f"{done.suites} suites"
    size = to.stat().st_size / 1e6
    typer.echo(f"{to}: {done.rows} rows of {of_suites}, {size:.3g} MB. SHA-256 of its manifest: {done.digest}.")
