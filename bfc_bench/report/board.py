"""The board of a site: the learners of each suite by N*, task by task, with ties; and one JSON file per claim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bfc_bench.analysis.claims import Verdict
from bfc_bench.analysis.claims.verdict import verdict_record
from bfc_bench.analysis.thresholds import Threshold
from bfc_bench.report.layout import ReportTable, TableCell
from bfc_bench.report.tables import MISSING
from bfc_bench.utils.plain_json import readable_json

NOTE = (
    "Rank 1 is the smallest N*. A learner ranks behind another only if the interval of its N* lies above the "
    "other's; learners of the same rank are tied."
)


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
    n_star: Mapping[float, Threshold]
    """The same as records."""


def boards(entries: Iterable[tuple[str, str, str, Sequence[Best]]]) -> Iterator[ReportTable]:
    """One table per suite and level of error, with a line per learner of each entry and a column per task and d.

    Args:
        entries: Of each entry: the suite, the store, the mark and the results.
    """
    suites: dict[str, list[tuple[str, str, Best]]] = {}
    for name, store, mark, found in entries:
        suites.setdefault(name, []).extend((store, mark, best) for best in found)
    for name, results in suites.items():
        for level in sorted({level for _, _, best in results for level in best.n_star}, reverse=True):
            points = sorted({(best.task, best.d) for _, _, best in results})
            of_learner: dict[tuple[str, str, str], dict[tuple[str, int], Best]] = {}
            for store, mark, best in results:
                of_learner.setdefault((best.label, store, mark), {})[best.task, best.d] = best
            ranks = {point: _ranks({key: own.get(point) for key, own in of_learner.items()}, level) for point in points}
            lines = [
                [
                    TableCell(label, store, (mark,) if mark else (), "text"),
                    *(_cell(own.get(point), level, ranks[point].get((label, store, mark))) for point in points),
                ]
                for (label, store, mark), own in sorted(of_learner.items())
            ]
            header = ["learner", *(f"{task}, d = {d}" for task, d in points)]
            yield ReportTable(f"{name}: N*({level:g})", header, lines, NOTE)


def _ranks(learners: Mapping[Any, Best | None], level: float) -> dict[Any, int]:
    """The rank of each learner with a curve: one more than the number of learners that are clearly better."""
    bounds = {key: best.n_star[level].bounds for key, best in learners.items() if best and _is_known(best, level)}
    return {key: 1 + sum(hi < lo for _, hi in bounds.values()) for key, (lo, _) in bounds.items()}


def _is_known(best: Best, level: float) -> bool:
    return level in best.n_star and bool(best.n_star[level].crossings)


def _cell(best: Best | None, level: float, rank: int | None) -> TableCell:
    if best is None or rank is None:
        return TableCell(MISSING)
    reached = best.reached[level]
    return TableCell(reached.text, reached.detail, (f"rank {rank}", *reached.remarks))


def claim_files(entries: Iterable[tuple[str, str, str, Sequence[str], Sequence[Verdict]]]) -> dict[str, bytes]:
    """One JSON file per claim, by its name on the site: the verdict on it by each entry, with its mark and releases.

    Args:
        entries: Of each entry: the suite, the store, the mark, the releases that made its rows, and the verdicts.
    """
    verdicts: dict[str, list[dict[str, Any]]] = {}
    for name, store, mark, releases, of_entry in entries:
        for verdict in of_entry:
            about = {"entry": store, "mark": mark or None, "releases": [*releases]}
            record = {**about, **verdict_record(verdict.as_dict())}
            verdicts.setdefault(f"claims/{name}/{verdict.id}.json", []).append(record)
    return {name: readable_json({"format": 1, "verdicts": found}) for name, found in verdicts.items()}
