"""``bfc-bench bundle``: write the results of suites as one file that others can check and cite."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bfc_bench.cli.options import STORE, StoreOption


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("bundle")(bundle)


def bundle(
    to: Annotated[Path, typer.Option("--to", metavar="FILE.zip|DIR", help="Zip file or folder to write.")],
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
    figures: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw the figures of the report.")] = True,
) -> None:
    """Write the results of suites as one file that others can check, merge and cite, or as a folder of such files.

    It holds all rows, runs and looks, the claims with their verdicts, figures and metadata for archives. It does
    not hold tracebacks, artifacts and folders of this machine in command lines.
    """
    from bfc_bench.bundle.archive import SUFFIX
    from bfc_bench.bundle.write import bundle
    from bfc_bench.errors import UsageError
    from bfc_bench.stored_suite import open_store

    if to.suffix == SUFFIX and (to.is_dir() or not to.parent.is_dir()):
        raise UsageError(f"--to must name a zip file in a folder that exists, or a folder. Got {to}.")
    with open_store(store) as opened:
        done = bundle(opened, suites or (), to, title=title, authors=author or (), licence=license, figures=figures)
    for remark in done.remarks:
        typer.echo(f"{remark}.")
    size = sum(file.stat().st_size for file in (to, *to.rglob("*")) if file.is_file()) / 1e6
    of_suites = "1 suite" if done.suites == 1 else f"{done.suites} suites"
    typer.echo(f"{to}: {done.rows} rows of {of_suites}, {size:.3g} MB. SHA-256 of its manifest: {done.digest}.")
