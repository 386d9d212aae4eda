"""``bfc-bench site``: write a static web site about several suites and stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bfc_bench.cli.options import STORE

if TYPE_CHECKING:
    from bfc_bench.extras.site.page import SiteEntry
    from bfc_bench.stored_suite import OpenStore, StoredSuite


def site(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write the site to.")],
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
    from bfc_bench.errors import UsageError
    from bfc_bench.extras.site.page import write_site
    from bfc_bench.stored_suite import open_store

    if directory.exists() and not directory.is_dir():
        raise UsageError(f"DIR must be a folder. {directory} is a file.")
    paths = _named(store or [STORE])
    with ExitStack() as opened:
        stores = {name: opened.enter_context(open_store(path)) for name, path in paths.items()}
        chosen = _chosen(stores, suites or ())
        count = Counter(key for _, key in chosen)
        entries = [
            _entry(directory, name if len(paths) > 1 else "", f"{name}/{key}" if count[key] > 1 else key, suite)
            for (name, key), suite in chosen.items()
        ]
    typer.echo(f"Site: {write_site(directory, entries)}")


def _named(stores: Sequence[Path]) -> Mapping[str, Path]:
    """Stores by the names of their folders, with as many parents as needed to be unique; duplicates are dropped."""
    plain = {path: path.with_suffix("") if path.is_file() else path for path in (path.resolve() for path in stores)}
    named = Counter(plain.values())  # a bundle beside its store keeps its suffix
    paths = {path: (name if named[name] == 1 else path).parts[1:] for path, name in plain.items()}  # no root
    depth = 1
    while len({parts[-depth:] for parts in paths.values()}) < len(paths):
        depth += 1
    return {"-".join(parts[-depth:]): path for path, parts in paths.items()}


def _chosen(stores: Mapping[str, OpenStore], suites: Sequence[str]) -> dict[tuple[str, str], StoredSuite]:
    """The requested suites, or all, by name of the store and ``NAME@VERSION``.

    Raises ``StoreError`` if a requested suite is in none of the stores, or if they hold no suite.
    """
    from bfc_bench.errors import StoreError

    chosen: dict[tuple[str, str], StoredSuite] = {}
    for requested in suites:
        having = [name for name, opened in stores.items() if requested in opened]
        for name in having or stores:  # one that does not have it says so
            suite = stores[name][requested]
            chosen[name, f"{suite.name}@{suite.version}"] = suite
    if not suites:
        chosen = {(name, key): suite for name, opened in stores.items() for key, suite in opened.items()}
    if not chosen:
        folders = ", ".join(str(opened.store.directory) for opened in stores.values())
        raise StoreError(f"No suite has been run into {folders}. Run one: bfc-bench run SUITE --store DIR.")
    return chosen


def _entry(directory: Path, store: str, address: str, suite: StoredSuite) -> SiteEntry:
    """The entry of a suite on the site; writes its report if that is missing or out of date."""
    from bfc_bench.extras.site.page import SiteEntry
    from bfc_bench.utils.files import inside

    folder = inside(directory, address)
    entry = SiteEntry(store, address, suite.definition, suite.columns(), suite.claims(), suite.sessions)
    if not suite.is_shown_in(folder):
        suite.report(folder)
        typer.echo(str(directory / address / "report.html"))
    return entry
