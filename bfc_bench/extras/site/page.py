"""Writes the index of a static site about several suites and stores: their reports, and their claims side by side."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bfc_bench.analysis.claims import Verdict
from bfc_bench.analysis.claims.verdict import SIGNS
from bfc_bench.report.tables import MISSING, STATUSES, ReportTable, TableCell, with_interval
from bfc_bench.report.template import date, template
from bfc_bench.report.vega import page_script
from bfc_bench.store.row_origin import machine
from bfc_bench.store.rows import Rows
from bfc_bench.utils.files import inside, make_folder, write_file
from bfc_bench.version import __version__

SUITES = ["suite", "cells", "claims", "machine", "release", "last cell finished"]


@dataclass(frozen=True)
class SiteEntry:
    """What a site shows of one suite in one store."""

    store: str
    """The store's name on the site; empty if there is only one."""
    address: str
    """Folder of its report, relative to the site."""
    definition: Mapping[str, Any]
    """The suite of the last run, as plain data."""
    rows: Rows
    verdicts: Sequence[Verdict]
    sessions: Sequence[Mapping[str, Any]]

    @property
    def name(self) -> str:
        """``smoke@1``."""
        return f"{self.definition['name']}@{self.definition['version']}"

    @property
    def finished_at(self) -> float:
        """When its last cell ended; 0 if none has a time."""
        return max((time for time in self.rows.number("finished_at").tolist() if time > 0), default=0.0)

    @property
    def releases(self) -> list[str]:
        """Releases of bfc-bench that made its rows."""
        return sorted(filter(None, self.rows.distinct("release")))

    @property
    def claims(self) -> dict[tuple[str, str, str], Verdict]:
        """The verdicts by what identifies a claim across stores."""
        return {(verdict.id, verdict.statement, verdict.region): verdict for verdict in self.verdicts}


def write_site(directory: Path, entries: Sequence[SiteEntry]) -> Path:
    """Write the index of a site whose reports are in ``directory`` already, and return its path."""
    verdicts = Counter[str](verdict.verdict for entry in entries for verdict in entry.verdicts)
    page = template("site.html", page_script()).render(
        tables=[ReportTable("", SUITES, [*map(_suite, entries)]), *_claims(entries)],
        facts=_facts(entries),
        verdicts={word: verdicts[word] for word in SIGNS} if verdicts else {},
        signs=SIGNS,
        release=__version__,
    )
    make_folder(directory)
    write_file(inside(directory, "index.html"), page.encode())
    return directory / "index.html"


def _facts(entries: Sequence[SiteEntry]) -> list[str]:
    cells = sum(len(entry.rows) for entry in entries)
    last = max((entry.finished_at for entry in entries), default=0.0)
    counts = {"suite": len({entry.name for entry in entries}), "store": len({entry.store for entry in entries})}
    nouns = [f"{count} {what}{'s' * (count > 1)}" for what, count in counts.items() if count > (what == "store")]
    return [*nouns, f"{cells:,} cell{'s' * (cells != 1)}", f"last cell finished {date(last)}"]


def _suite(entry: SiteEntry) -> list[TableCell]:
    """The line of a suite, which links to its report."""
    verdicts = Counter[str](verdict.verdict for verdict in entry.verdicts)
    counts = Counter(entry.rows.column("status"))
    statuses = [f"{counts[status]:,} {status}" for status in STATUSES if counts[status]]
    machines = dict.fromkeys(machine(session.get("provenance") or {}) for session in entry.sessions)
    store, description = f"store {entry.store}" if entry.store else "", entry.definition.get("description", "")
    return [
        TableCell(entry.name, store, (description,), "text", f"{quote(entry.address)}/report.html"),
        TableCell(f"{len(entry.rows):,}", ", ".join(statuses), kind="text"),
        _stacked([f"{SIGNS[word]} {verdicts[word]} {word}" for word in SIGNS if verdicts[word]] or ["none"]),
        _stacked(machines),
        _stacked(entry.releases),
        TableCell(date(entry.finished_at), kind="text"),
    ]


def _claims(entries: Sequence[SiteEntry]) -> Iterator[ReportTable]:
    """One table per suite with a column per store, in the order of their last cells, and the releases of each."""
    for name in dict.fromkeys(entry.name for entry in entries):
        stores = sorted((e for e in entries if e.name == name), key=lambda entry: entry.finished_at)
        claims = {key: verdict for entry in stores for key, verdict in entry.claims.items()}
        heads = [f"{entry.store or 'verdict'}, release {', '.join(entry.releases) or MISSING}" for entry in stores]
        lines = [
            [
                TableCell(verdict.id, verdict.source, kind="text"),
                TableCell(verdict.statement, kind="text"),
                TableCell(verdict.region),
                *(_verdict(entry.claims.get(key)) for entry in stores),
            ]
            for key, verdict in claims.items()
        ]
        if lines:
            yield ReportTable(f"Claims of {name}", ["claim", "statement", "claimed", *heads], lines)


def _verdict(verdict: Verdict | None) -> TableCell:
    if verdict is None:
        return TableCell("not judged", kind="text")
    estimate = f"{with_interval(verdict.estimate, verdict.lo, verdict.hi)}, R = {verdict.replicates}"
    remarks = (verdict.aside, verdict.when, verdict.note)
    return TableCell(verdict.verdict, estimate, tuple(filter(None, remarks)), "verdict")


def _stacked(texts: Iterable[str]) -> TableCell:
    """A cell with one text per line."""
    first, *others = [*texts] or [MISSING]
    return TableCell(first, remarks=tuple(others), kind="text")
