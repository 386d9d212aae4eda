"""``python -m benchmarks.strongest STORE...``: prints what the strongest opponent leaves of each claim about N*.

For every claim of the kind ``beats`` with a level, by default of the suite ``strongest``: whether the learner needs
fewer samples, the ratio of N*, whose interval allows for the choice among several opponents, and the N* of the learner
and of the opponent that comes nearest; then what each learner was allowed to try and what that cost. Each store is one
seed and has a column.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.claims import nearest
from bfc_bench import open_store
from bfc_bench.analysis.claims import parse_claims
from bfc_bench.analysis.claims.beats import Beats
from bfc_bench.errors import BenchError
from bfc_bench.report.tables import sample_size, with_interval
from bfc_bench.store.row import Row
from bfc_bench.stored_suite import StoredSuite

Line = tuple[str, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables of the stores, which are of different seeds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strongest", description=__doc__)
    parser.add_argument("stores", type=Path, nargs="+", metavar="STORE")
    parser.add_argument("--suite", default="strongest", help="suite with claims about N* (strongest)")
    options = parser.parse_args(arguments)
    with ExitStack() as opened:
        try:
            stores = [opened.enter_context(open_store(path)) for path in options.stores]
            print(*tables([store[options.suite] for store in stores]), sep="\n\n")
        except BenchError as error:
            parser.error(str(error))
    return 0


def tables(seeds: Sequence[StoredSuite]) -> Iterator[str]:
    """The claims and the costs of the learners, with a column for each seed, as Markdown."""
    names = [f"seed {stored.definition['seed']}" for stored in seeds]
    rows = [[row for row in stored.rows() if row.status == "ok"] for stored in seeds]
    compared = [_compared(stored, own) for stored, own in zip(seeds, rows, strict=True)]
    yield _markdown(("claim", "task", "d", "NMSE", *names), compared)
    efforts = [_efforts(own) for own in rows]
    yield _markdown(("task", "learner", "candidates", "cells", *(f"CPU s, {name}" for name in names)), efforts)


def _compared(stored: StoredSuite, rows: Sequence[Row]) -> dict[Line, str]:
    """By claim, task, d and level: the verdict, the ratio of N*, and N* of both."""
    parsed = parse_claims(stored.suite, stored.plugins.claims)
    claims = {claim.id: claim for claim in parsed if isinstance(claim, Beats) and claim.level is not None}
    sizes = {
        (reached.task, reached.d, reached.label, reached.metric, reached.level): sample_size(reached.threshold)
        for reached in stored.thresholds(sorted({claim.level for claim in claims.values() if claim.level}))
    }
    lines = {}
    for verdict in stored.claims():
        if claim := claims.get(verdict.id):
            d, other = claim.at(rows).d, nearest(verdict) or claim.against[0]
            ours, theirs = (
                " ".join(sizes.get((claim.task, d, label, claim.metric, claim.level), ("no data",))).strip()
                for label in (claim.label, other)
            )
            ratio = with_interval(verdict.estimate, verdict.lo, verdict.hi)
            line = (verdict.id, claim.task, str(d), f"{claim.level:g}")
            lines[line] = f"{verdict.sign} {ratio}: {claim.label} {ours}; {other} {theirs}"
    return lines


def _efforts(rows: Sequence[Row]) -> dict[Line, str]:
    """By task, learner, candidates per cell and cells: the CPU time of all cells."""
    lines = {}
    for task, label in dict.fromkeys((row.task, row.label) for row in rows):
        own = [row for row in rows if (row.task, row.label) == (task, label)]
        tried = {int(row.chosen.get("candidates", 1)) for row in own}
        seconds = sum(row.fit_cpu_seconds for row in own)
        lines[task, label, "/".join(map(str, sorted(tried))), str(len(own))] = f"{seconds:.0f}"
    return lines


def _markdown(head: Sequence[str], seeds: Sequence[Mapping[Line, str]]) -> str:
    """A table with the lines of all seeds and a column for each."""
    lines = dict.fromkeys(line for seed in seeds for line in seed)
    cells = [head, ["---"] * len(head), *((*line, *(seed.get(line, "") for seed in seeds)) for line in lines)]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


if __name__ == "__main__":
    sys.exit(main())
