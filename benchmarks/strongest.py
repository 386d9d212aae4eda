"""``python -m benchmarks.strongest STORE...``: prints what the strongest opponent leaves of each claim about N*.

For every claim of the kind ``beats`` with a level, by default of the suite ``strongest``: N* of the learner and of the
opponent that comes nearest, their ratio and the claim's verdict, whose interval allows for the choice among several
opponents; then what each learner was allowed to try and what that cost.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.claims import nearest
from bfc_bench import open_store
from bfc_bench.analysis.claims import parse_claims
from bfc_bench.analysis.claims.beats import Beats
from bfc_bench.errors import BenchError
from bfc_bench.report.tables import sample_size, with_interval
from bfc_bench.store.row import Row
from bfc_bench.stored_suite import StoredSuite

HEAD = ("task", "d", "NMSE", "learner", "N*", "nearest opponent", "N*", "ratio of N*", "needs fewer")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables of each store."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strongest", description=__doc__)
    parser.add_argument("stores", type=Path, nargs="+", metavar="STORE")
    parser.add_argument("--suite", default="strongest", help="suite with claims about N* (strongest)")
    options = parser.parse_args(arguments)
    for path in options.stores:
        try:
            with open_store(path) as store:
                print(*tables(store[options.suite]), sep="\n\n", end="\n\n")
        except BenchError as error:
            parser.error(str(error))
    return 0


def tables(stored: StoredSuite) -> Iterator[str]:
    """A heading, the claims, and the costs of the learners, as Markdown."""
    yield f"**{stored.name}, seed {stored.definition['seed']}**"
    rows = [row for row in stored.rows() if row.status == "ok"]
    yield _markdown(HEAD, _compared(stored, rows))
    yield _markdown(("task", "learner", "candidates", "cells", "CPU s"), _efforts(rows))


def _compared(stored: StoredSuite, rows: Sequence[Row]) -> Iterator[list[str]]:
    parsed = parse_claims(stored.suite, stored.plugins.claims)
    claims = {claim.id: claim for claim in parsed if isinstance(claim, Beats) and claim.level is not None}
    sizes = {
        (reached.task, reached.d, reached.label, reached.metric, reached.level): sample_size(reached.threshold)
        for reached in stored.thresholds(sorted({claim.level for claim in claims.values() if claim.level}))
    }
    for verdict in stored.claims():
        if claim := claims.get(verdict.id):
            d, other = claim.at(rows).d, nearest(verdict) or claim.against[0]
            ours, theirs = (
                " ".join(sizes.get((claim.task, d, label, claim.metric, claim.level), ("no data",))).strip()
                for label in (claim.label, other)
            )
            ratio = with_interval(verdict.estimate, verdict.lo, verdict.hi)
            yield [claim.task, str(d), f"{claim.level:g}", claim.label, ours, other, theirs, ratio, verdict.sign]


def _efforts(rows: Sequence[Row]) -> Iterator[list[str]]:
    """What each learner tried per cell, and the CPU time of all of its cells on a task."""
    for task, label in dict.fromkeys((row.task, row.label) for row in rows):
        own = [row for row in rows if (row.task, row.label) == (task, label)]
        tried = {int(row.chosen.get("candidates", 1)) for row in own}
        seconds = sum(row.fit_cpu_seconds for row in own)
        yield [task, label, "/".join(map(str, sorted(tried))), str(len(own)), f"{seconds:.0f}"]


def _markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *lines])


if __name__ == "__main__":
    raise SystemExit(main())
