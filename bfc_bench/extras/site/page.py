"""Writes a static web site about several suites and stores: an index, claims and learners.

Each page is a self-contained file. The index links to the report of each suite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version as release_of
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from bfc_bench.analysis.claims import Verdict
from bfc_bench.analysis.claims.verdict import SIGNS
from bfc_bench.analysis.curves import Curve, by_task, curves, metric_of
from bfc_bench.analysis.scaling import scalings
from bfc_bench.analysis.thresholds import Threshold, threshold
from bfc_bench.report.answers import Answer, task_answer
from bfc_bench.report.layout import ReportTable, TableCell
from bfc_bench.report.plots import METRIC_NAMES
from bfc_bench.report.tables import (
    MISSING,
    STATUSES,
    ill_behaved_remark,
    sample_size,
    tuning_table,
    with_interval,
)
from bfc_bench.report.template import date, template
from bfc_bench.report.vega import page_script
from bfc_bench.store.rows import Rows
from bfc_bench.utils.files import inside, make_folder, write_file

PAGES = {
    "index.html": "Suites",
    "claims.html": "Claims",
    "learners.html": "Learners",
}
T = TypeVar("T")
K = TypeVar("K")


@dataclass(frozen=True)
class Best:
    """The best results of a learner on a task at one d."""

    label: str
    learner: str
    task: str
    d: int
    error: TableCell
    """The lowest mean error of all sizes, with its size."""
    reached: Mapping[float, TableCell]
    """N* by level."""


@dataclass(frozen=True)
class SiteRun:
    """The rows of one run of a suite and its provenance."""

    rows: int
    devices: tuple[str, ...]
    releases: tuple[str, ...]
    """Releases of bfc-bench."""
    started_at: float | None
    facts: Mapping[str, Any]
    """Provenance of the run; empty if unknown."""

    @property
    def machine(self) -> tuple[str, ...]:
        """Host, processor, number of cores and GPU; empty texts if unknown."""
        host, processor, cores = (self.facts.get(name) for name in ("host", "processor", "cores"))
        gpu = (self.facts.get("precision") or {}).get("gpu")
        return host or "", processor or "", f"{cores} cores" if cores else "", gpu or ""


@dataclass(frozen=True)
class Omission:
    """A store or a suite that cannot be shown."""

    what: str
    reason: str

    def __str__(self) -> str:
        return f"{self.what} is not on the site: {self.reason}"


@dataclass(frozen=True)
class SiteEntry:
    """What a site shows of one suite in one store."""

    store: str
    """The store's name on the site."""
    name: str
    """``smoke@1``."""
    address: str
    """Folder of its report, relative to the site."""
    description: str
    statuses: Mapping[str, int]
    finished_at: float | None
    """When its last cell ended."""
    verdicts: Sequence[Verdict]
    answers: Sequence[Answer]
    best: Sequence[Best]
    made: Sequence[SiteRun]

    @classmethod
    def of(
        cls,
        store: str,
        address: str,
        suite: Mapping[str, Any],
        rows: Rows,
        verdicts: Sequence[Verdict],
        sessions: Iterable[Mapping[str, Any]],
        made_by: Mapping[tuple[str, str, str], int],
    ) -> SiteEntry:
        """Summarise a suite for the site.

        Args:
            store: Name of the store on the site; empty if there is only one.
            address: Folder of the report, relative to the site.
            suite: Definition of the suite as plain data.
            rows: Its rows.
            verdicts: Verdicts on its claims.
            sessions: The store's records of the runs.
            made_by: Number of rows by (run, device, release).
        """
        finished = rows.number("finished_at")
        return cls(
            store=store,
            name=f"{suite['name']}@{suite['version']}",
            address=address,
            description=suite.get("description", ""),
            statuses=Counter(rows.column("status")),
            finished_at=max(finished[finished > 0].tolist(), default=None),
            verdicts=tuple(verdicts),
            answers=tuple(_answers(rows, suite["levels"])),
            best=tuple(_best(rows, suite["levels"])),
            made=tuple(_made(sessions, made_by)),
        )

    @property
    def link(self) -> TableCell:
        """A cell with the suite's name, which links to its report."""
        detail = f"store {self.store}" if self.store else ""
        return TableCell(self.name, detail, kind="text", address=f"{quote(self.address)}/report.html")

    @property
    def releases(self) -> list[str]:
        """Releases of bfc-bench that made its rows."""
        return sorted({release for made in self.made for release in made.releases})


def write_site(directory: Path, entries: Sequence[SiteEntry], omissions: Sequence[Omission] = ()) -> Path:
    """Write the pages of a site whose reports are in ``directory`` already, and return the path of its index.

    Pages are replaced atomically, the index last.
    """
    make_folder(directory)
    for name, content in site_pages(entries, omissions).items():
        write_file(inside(directory, name), content)
    return directory / "index.html"


def site_pages(entries: Sequence[SiteEntry], omissions: Sequence[Omission] = ()) -> dict[str, bytes]:
    """The pages of a site by file name, the index last.

    It raises any exception if an entry has values that cannot be shown.
    """
    omitted = [
        [TableCell(left_out.what, kind="text"), TableCell(left_out.reason, kind="text")] for left_out in omissions
    ]
    parts = {
        "index.html": [
            _suites(entries),
            *([ReportTable("Not on this site", ["store or suite", "reason"], omitted)] if omitted else []),
        ],
        "claims.html": [*_claims(entries)],
        "learners.html": [*_learners(entries)],
    }
    verdicts: Counter[str] = Counter(verdict.verdict for entry in entries for verdict in entry.verdicts)
    page = template("site.html", page_script())
    return {
        name: page.render(
            name=name,
            title=title,
            pages=PAGES,
            tables=parts[name],
            answers=[*_answer_tables(entries)] if name == "index.html" else [],
            folded=name == "learners.html",
            facts=_facts(entries),
            verdicts={word: verdicts[word] for word in SIGNS} if verdicts else {},
            signs=SIGNS,
            release=release_of("bfc-bench"),
        ).encode()
        for name, title in reversed(PAGES.items())
    }


def _answers(rows: Rows, levels: Sequence[float]) -> Iterator[Answer]:
    for task, group in by_task(rows).items():
        metric = metric_of(group)
        measured = curves(group, metric)
        told = {record["label"]: record["oracle"] for record in tuning_table(group)}
        name = METRIC_NAMES.get(metric, metric)
        yield from task_answer(task, measured, scalings(measured, levels), metric=name, told=told)


def _answer_tables(entries: Sequence[SiteEntry]) -> Iterator[ReportTable]:
    """One table per suite: training points that learners need, by task."""
    for entry in entries:
        if not entry.answers:
            continue
        needs = {(need.label, answer.task): need for answer in entry.answers for need in answer.needs}
        beyond = {(label, answer.task) for answer in entry.answers for label in answer.beyond}
        count = Counter(label for (label, _), need in needs.items() if need.fewest)
        labels = dict.fromkeys(label for label, _ in [*needs, *beyond])
        header = [f"{answer.task}: {answer.metric} ≤ {answer.level:g}, d = {answer.d}" for answer in entry.answers]
        lines = []
        for label in sorted(labels, key=lambda label: -count[label]):
            cells = [TableCell(label, kind="text")]
            for answer in entry.answers:
                need = needs.get((label, answer.task))
                if need is None:
                    cells.append(TableCell("not reached" if (label, answer.task) in beyond else MISSING))
                    continue
                remarks = [need.p, f"told {need.told}" if need.told else ""]
                kind = "fewest" if need.fewest else ""
                cells.append(TableCell(need.n_star, remarks=tuple(filter(None, remarks)), kind=kind))
            lines.append(cells)
        store = f", store {entry.store}" if entry.store else ""
        yield ReportTable(f"{entry.name}{store}", ["learner", *header], lines)


def _best(rows: Rows, levels: Sequence[float]) -> Iterator[Best]:
    """One entry per (task, d, label), also for those without a value."""
    for task, group in by_task(rows).items():
        by_label = {(curve.d, curve.label): curve for curve in curves(group, metric_of(group))}
        for (d, label), own in sorted(group.groups("d", "label").items()):
            curve, learner = by_label.get((d, label)), own.distinct("learner")[0]
            reached = {level: _reached(threshold(curve, level)) for level in levels} if curve else {}
            yield Best(label, learner, task, d, _lowest(curve, own), reached)


def _lowest(curve: Curve | None, rows: Rows) -> TableCell:
    """The lowest mean of a curve with its interval and size, or the statuses of its cells if it has no value."""
    points = [] if curve is None else [x for x in zip(curve.intervals, curve.n, strict=True) if x[0].count]
    if curve is None or not points:
        return TableCell("no value", _counted(Counter(rows.column("status"))))
    interval, n = min(points, key=lambda point: point[0].mean)
    metric = () if curve.metric == "nmse" else (curve.metric,)
    return TableCell(with_interval(interval.mean, interval.lo, interval.hi), f"at n = {n}", metric)


def _reached(n_star: Threshold) -> TableCell:
    size, detail = sample_size(n_star)
    return TableCell(size, detail, tuple(filter(None, [ill_behaved_remark(n_star)])))


def _made(sessions: Iterable[Mapping[str, Any]], made_by: Mapping[tuple[str, str, str], int]) -> Iterator[SiteRun]:
    """The runs that made rows in their order, then unknown runs."""
    known = {session["id"]: session for session in sessions}
    for id in dict.fromkeys([*known, *(id for id, *_ in made_by)]):
        own = {origin[1:]: count for origin, count in made_by.items() if origin[0] == id}
        if own:
            devices, releases = (tuple(sorted(set(filter(None, part)))) for part in zip(*own, strict=True))
            session = known.get(id, {})
            yield SiteRun(
                sum(own.values()), devices, releases, session.get("started_at"), session.get("provenance") or {}
            )


def _facts(entries: Sequence[SiteEntry]) -> list[str]:
    suites, stores = {entry.name for entry in entries}, {entry.store for entry in entries}
    cells = sum(sum(entry.statuses.values()) for entry in entries)
    last = max((entry.finished_at for entry in entries if entry.finished_at), default=None)
    facts = [_counted_noun(len(suites), "suite"), f"{cells:,} cells", f"last cell finished {date(last)}"]
    return [*facts[:1], _counted_noun(len(stores), "store"), *facts[1:]] if len(stores) > 1 else facts


def _suites(entries: Sequence[SiteEntry]) -> ReportTable:
    lines = []
    for entry in entries:
        verdicts: Counter[str] = Counter(verdict.verdict for verdict in entry.verdicts)
        claims = [f"{SIGNS[word]} {verdicts[word]} {word}" for word in SIGNS if verdicts[word]] or ["none"]
        machines = dict.fromkeys(", ".join(filter(None, made.machine)) or "unknown" for made in entry.made)
        lines.append(
            [
                TableCell(entry.link.text, entry.link.detail, (entry.description,), "text", entry.link.address),
                TableCell(f"{sum(entry.statuses.values()):,}", _counted(entry.statuses), kind="text"),
                _stacked(claims),
                _stacked(machines or [MISSING]),
                _stacked(entry.releases),
                TableCell(date(entry.finished_at), kind="text"),
            ]
        )
    return ReportTable("", ["suite", "cells", "claims", "machine", "release", "last cell finished"], lines)


def _claims(entries: Sequence[SiteEntry]) -> Iterator[ReportTable]:
    """One table per suite with a column per store, in the order of their last cells, and the releases of each."""
    for name, own in _by(entries, lambda entry: entry.name).items():
        of_suite = sorted(own, key=lambda entry: entry.finished_at or 0.0)
        stores = {entry.store: {_key(verdict): verdict for verdict in entry.verdicts} for entry in of_suite}
        claims = {key: verdict for verdicts in stores.values() for key, verdict in verdicts.items()}
        heads = [f"{entry.store or 'verdict'}, release {', '.join(entry.releases) or MISSING}" for entry in of_suite]
        header = ["claim", "statement", "claimed", *heads]
        lines = [
            [
                TableCell(verdict.id, verdict.source, (), "text", f"#{quote(anchor)}", anchor),
                TableCell(verdict.statement, kind="text"),
                TableCell(verdict.region),
                *(_verdict(verdicts.get(key)) for verdicts in stores.values()),
            ]
            for anchor, (key, verdict) in zip(_anchors(name, claims.values()), claims.items(), strict=True)
        ]
        if lines:
            yield ReportTable(name, header, lines)


def _anchors(suite: str, verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Ids of the lines of claims, to link to; stores may have claims of one id that differ."""
    seen: Counter[str] = Counter()
    for verdict in verdicts:
        seen[verdict.id] += 1
        yield f"{suite}/{verdict.id}" + (f"/{seen[verdict.id]}" if seen[verdict.id] > 1 else "")


def _key(verdict: Verdict) -> tuple[str, str, str]:
    """What identifies a claim across stores."""
    return verdict.id, verdict.statement, verdict.region


def _verdict(verdict: Verdict | None) -> TableCell:
    if verdict is None:
        return TableCell("not judged", kind="text")
    estimate = f"{with_interval(verdict.estimate, verdict.lo, verdict.hi)}, R = {verdict.replicates}"
    remarks = (verdict.aside, verdict.when, verdict.note)
    return TableCell(verdict.verdict, estimate, tuple(filter(None, remarks)), "verdict")


def _learners(entries: Sequence[SiteEntry]) -> Iterator[ReportTable]:
    """One table per label, sorted by label."""
    results = [(entry, best) for entry in entries for best in entry.best]
    for label, of_label in sorted(_by(results, lambda item: item[1].label).items()):
        plugins = dict.fromkeys(best.learner for _, best in of_label)
        suites = len({entry.name for entry, _ in of_label})
        tasks = len({(entry.name, best.task) for entry, best in of_label})
        levels = sorted({level for _, best in of_label for level in best.reached}, reverse=True)
        caption = f"{label} ({', '.join(plugins)}): {_counted_noun(tasks, 'task')} of {_counted_noun(suites, 'suite')}"
        lines = [
            [
                entry.link,
                TableCell(best.task, best.learner if len(plugins) > 1 else "", kind="text"),
                TableCell(f"d = {best.d}", kind="text"),
                best.error,
                *(best.reached.get(level, TableCell(MISSING)) for level in levels),
            ]
            for entry, best in of_label
        ]
        header = ["suite", "task", "d", "lowest mean error", *(f"N*({level:g})" for level in levels)]
        yield ReportTable(caption, header, lines)


def _by(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Items grouped by key, in order of appearance."""
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def _counted(statuses: Mapping[str, int]) -> str:
    """``all ok``, or ``170 ok, 10 failed``."""
    if len(statuses) == 1:
        return f"all {next(iter(statuses))}"
    return ", ".join(f"{statuses[status]:,} {status}" for status in STATUSES if statuses.get(status))


def _stacked(texts: Iterable[str]) -> TableCell:
    """A cell with one text per line."""
    first, *others = [*texts] or [MISSING]
    return TableCell(first, remarks=tuple(others), kind="text")


def _counted_noun(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
