"""``bfc-bench site``: one static site of several suites and stores."""

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
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write: what a web server is to show.")],
    suites: Annotated[
        list[str] | None,
        typer.Argument(metavar="SUITE...", help="Suites by name, NAME@VERSION or path; all that the stores hold."),
    ] = None,
    store: Annotated[
        list[Path] | None,
        typer.Option("--store", metavar="DIR", envvar="BFC_BENCH_STORE", help="Directory of results. Repeatable."),
    ] = None,
) -> None:
    """Write one static site of the suites in one or more stores: an index, claims, learners, machines, and reports.

    What is there already is replaced page by page; reports that show what the stores hold stay as they are.
    """
    from bfc_bench.errors import UsageError
    from bfc_bench.report.site import write_site
    from bfc_bench.stored_suite import open_store

    if directory.exists() and not directory.is_dir():
        raise UsageError(f"DIR must name a folder to write. {directory} is a file.")
    with ExitStack() as opened:
        stores = {name: opened.enter_context(open_store(path)) for name, path in _named(store or [STORE]).items()}
        found = {(name, f"{suite.name}@{suite.version}"): suite for name, suite in _found(stores, suites or ())}
        several = {key for key, count in Counter(key for _, key in found).items() if count > 1}
        entries = [
            _entry(directory, name if len(stores) > 1 else "", f"{name}/{key}" if key in several else key, suite)
            for (name, key), suite in found.items()
        ]
    typer.echo(f"Site: {write_site(directory, entries)}")


def _named(stores: Sequence[Path]) -> Mapping[str, Path]:
    """Stores by their folders' names, with as many parents as tell them apart; one named twice is there once."""
    paths = list(dict.fromkeys(path.resolve() for path in stores))
    depth = 1
    while len({path.parts[-depth:] for path in paths}) < len(paths):
        depth += 1
    return {"-".join(path.parts[-depth:]): path for path in paths}


def _found(stores: Mapping[str, OpenStore], suites: Sequence[str]) -> Iterator[tuple[str, StoredSuite]]:
    """By the name of their store the suites that are asked for, or all.

    Raises ``StoreError`` where one that is asked for is in none of the stores, and where they hold none at all.
    """
    from bfc_bench.errors import StoreError

    for asked in suites:
        missing: list[str] = []
        for name, held in stores.items():
            try:
                yield name, held[asked]
            except StoreError as error:
                missing.append(str(error))
        if len(missing) == len(stores):
            raise StoreError("\n".join(missing))
    if not suites:
        if not any(stores.values()):
            folders = ", ".join(str(held.store.directory) for held in stores.values())
            raise StoreError(f"There is no run of a suite in {folders}; `bfc-bench run SUITE --store DIR` makes one.")
        yield from ((name, suite) for name, held in stores.items() for suite in held.values())


def _entry(directory: Path, store: str, address: str, suite: StoredSuite) -> SiteEntry:
    """What the site says of a suite, whose report is written where it is not there yet."""
    from bfc_bench.report.site import SiteEntry

    if not suite.is_shown_in(directory / address):
        typer.echo(str(suite.report(directory / address)))
    made: Counter[tuple[str, str, str]] = Counter()

    def take(values: Mapping[str, Any]) -> None:
        made[values.get("provenance") or "", values.get("device") or "", values.get("release") or ""] += 1

    rows = suite.store.columns_and_each(suite.name, suite.version, take)
    return SiteEntry.of(store, address, suite.definition, rows, suite.claims(), suite.sessions, made)
