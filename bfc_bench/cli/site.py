"""``bfc-bench site``: write a static web site about several suites and stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bfc_bench.cli.options import STORE

if TYPE_CHECKING:
    from bfc_bench.report.site import SiteEntry
    from bfc_bench.stored_suite import OpenStore, StoredSuite


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("site")(site)


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

    Existing pages are replaced; reports that are up to date are kept.
    """
    from bfc_bench.errors import UsageError
    from bfc_bench.report.site import write_site
    from bfc_bench.stored_suite import open_store

    if directory.exists() and not directory.is_dir():
        raise UsageError(f"DIR must be a folder. {directory} is a file.")
    with ExitStack() as opened:
        stores = {name: opened.enter_context(open_store(path)) for name, path in _named(store or [STORE]).items()}
        chosen = {(name, f"{suite.name}@{suite.version}"): suite for name, suite in _chosen(stores, suites or ())}
        repeated = {key for key, count in Counter(key for _, key in chosen).items() if count > 1}
        entries = [
            _entry(directory, name if len(stores) > 1 else "", f"{name}/{key}" if key in repeated else key, suite)
            for (name, key), suite in chosen.items()
        ]
    typer.echo(f"Site: {write_site(directory, entries)}")


def _named(stores: Sequence[Path]) -> Mapping[str, Path]:
    """Stores by the names of their folders, with as many parents as needed to be unique; duplicates are dropped."""
    paths = list(dict.fromkeys(path.resolve() for path in stores))
    depth = 1
    while len({path.parts[-depth:] for path in paths}) < len(paths):
        depth += 1
    return {"-".join(path.parts[-depth:]): path for path in paths}


def _chosen(stores: Mapping[str, OpenStore], suites: Sequence[str]) -> Iterator[tuple[str, StoredSuite]]:
    """The requested suites, or all, each with the name of its store.

    Raises ``StoreError`` if a requested suite is in none of the stores, or if they hold no suite.
    """
    from bfc_bench.errors import StoreError

    for requested in suites:
        missing: list[str] = []
        for name, opened in stores.items():
            try:
                yield name, opened[requested]
            except StoreError as error:
                missing.append(str(error))
        if len(missing) == len(stores):
            raise StoreError("\n".join(missing))
    if not suites:
        if not any(stores.values()):
            folders = ", ".join(str(opened.store.directory) for opened in stores.values())
            raise StoreError(f"No suite has been run into {folders}. Run one: bfc-bench run SUITE --store DIR.")
        yield from ((name, suite) for name, opened in stores.items() for suite in opened.values())


def _entry(directory: Path, store: str, address: str, suite: StoredSuite) -> SiteEntry:
    """The entry of a suite on the site; writes its report if that is missing or out of date."""
    from bfc_bench.report.site import SiteEntry

    if not suite.is_shown_in(directory / address):
        typer.echo(str(suite.report(directory / address)))
    counts: Counter[tuple[str, str, str]] = Counter()

    def count(values: Mapping[str, Any]) -> None:
        counts[values.get("provenance") or "", values.get("device") or "", values.get("release") or ""] += 1

    rows = suite.store.columns_with_callback(suite.name, suite.version, count)
    return SiteEntry.of(store, address, suite.definition, rows, suite.claims(), suite.sessions, counts)
