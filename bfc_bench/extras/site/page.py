"""Writes the index of a static site: a table of the suites of one or more stores, with links to their reports."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from bfc_bench.analysis.claims.verdict import SIGNS
from bfc_bench.report.tables import MISSING, STATUSES, ReportTable, TableCell
from bfc_bench.report.template import date, template
from bfc_bench.report.vega import page_script
from bfc_bench.store.row_origin import machine
from bfc_bench.stored_suite import StoredSuite
from bfc_bench.utils.files import inside, make_folder, write_file
from bfc_bench.version import __version__

COLUMNS = ["suite", "cells", "claims", "machine", "release", "last cell finished"]


def write_index(directory: Path, suites: Mapping[str, StoredSuite]) -> Path:
    """Write the index of suites by the addresses of their reports, which are in ``directory`` already; its path."""
    table = ReportTable("Suites", COLUMNS, [_line(address, suite) for address, suite in suites.items()])
    page = template("site.html", page_script()).render(suites=table, release=__version__)
    make_folder(directory)
    write_file(inside(directory, "index.html"), page.encode())
    return directory / "index.html"


def _line(address: str, suite: StoredSuite) -> list[TableCell]:
    """The line of a suite, which links to its report. An address is ``STORE/NAME@VERSION``, or without the store."""
    store, _, name = address.rpartition("/")
    rows, description = suite.columns(), suite.definition.get("description", "")
    counts, finished = Counter(rows.column("status")), rows.number("finished_at")
    verdicts = Counter[str](verdict.verdict for verdict in suite.claims())
    statuses = [f"{counts[status]:,} {status}" for status in STATUSES if counts[status]]
    return [
        TableCell(name, f"store {store}" if store else "", (description,), "text", f"{quote(address)}/report.html"),
        TableCell(f"{len(rows):,}", ", ".join(statuses), kind="text"),
        _stacked(f"{sign} {verdicts[word]} {word}" for word, sign in SIGNS.items() if verdicts[word]),
        _stacked(dict.fromkeys(machine(session.get("provenance") or {}) for session in suite.sessions)),
        _stacked(sorted(filter(None, rows.distinct("release")))),
        TableCell(date(max(finished[finished > 0].tolist(), default=None)), kind="text"),
    ]


def _stacked(texts: Iterable[str]) -> TableCell:
    """A cell with one text per line."""
    first, *others = [*texts] or [MISSING]
    return TableCell(first, remarks=tuple(others), kind="text")
