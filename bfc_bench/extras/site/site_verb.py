"""``bfc-bench site``: write a static web site about several suites and stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bfc_bench.cli.options import STORE

if TYPE_CHECKING:
    from bfc_bench.stored_suite import OpenStore, StoredSuite


def site(
    directory: Annotated[Path, typer.Argument(metavar="DIR", file_okay=False, help="Folder to write the site to.")],
    suites: Annotated[
        list[str] | None,
        typer.Argument(metavar="SUITE...", help="Suites by name, NAME@VERSION or path; by default all."),
    ] = None,
    store: Annotated[
        list[Path] | None,
        typer.Option("--store", metavar="DIR", envvar="BFC_BENCH_STORE", help="Folder of a store. Repeatable."),
    ] = None,
) -> None:
    """Write a static web site about the suites of one or more stores.

    An existing index is replaced; reports that are up to date are kept.
    """
    from bfc_bench.extras.site.page import write_index
    from bfc_bench.stored_suite import open_store
    from bfc_bench.utils.files import inside

    with ExitStack() as opened:
        stores = {name: opened.enter_context(open_store(path)) for name, path in _named(store or [STORE]).items()}
        shown = _shown(stores, suites or ())
        for address, suite in shown.items():
            folder = inside(directory, address)
            if not suite.is_shown_in(folder):
                typer.echo(str(suite.report(folder)))
        typer.echo(f"Site: {write_index(directory, shown)}")


def _named(stores: Sequence[Path]) -> Mapping[str, Path]:
    """Stores by the names of their folders, with as many parents as needed to be unique; duplicates are dropped."""
    paths = {path: path.parts[1:] for path in (path.resolve() for path in stores)}  # no root
    depth = 1
    while len({parts[-depth:] for parts in paths.values()}) < len(paths):
        depth += 1
    return {"-".join(parts[-depth:]): path for path, parts in paths.items()}


def _shown(stores: Mapping[str, OpenStore], suites: Sequence[str]) -> dict[str, StoredSuite]:
    """The requested suites, or all, by ``STORE/NAME@VERSION``, or ``NAME@VERSION`` if there is one store.

    Raises ``UnknownSuite`` if a requested suite is in none of the stores.
    """
    shown: dict[str, StoredSuite] = {}
    for requested in suites or sorted({name for opened in stores.values() for name in opened}):
        having = [store for store, opened in stores.items() if requested in opened]
        for store in having or stores:  # one that does not have it says so
            suite = stores[store][requested]
            name = f"{suite.name}@{suite.version}"
            shown[f"{store}/{name}" if len(stores) > 1 else name] = suite
    return shown
