"""``python -m benchmarks.strongest STORE...``: prints what the strongest opponent leaves of each claim about N*.

For every claim of the kind ``beats`` with a level, by default of the suite ``strongest``: N* of the learner and of the
opponent with the smallest median N*, their ratio with its interval, and the verdict; then the d at which the learner
needs fewer samples than all opponents; then what each learner was allowed to try and what that cost.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from bfc_bench import open_store
from bfc_bench.analysis.claims import parse_claims
from bfc_bench.analysis.claims.beats import Beats
from bfc_bench.analysis.claims.verdict import SIGNS, Verdict
from bfc_bench.analysis.thresholds import Threshold
from bfc_bench.errors import BenchError
from bfc_bench.report.tables import sample_size, with_interval
from bfc_bench.stored_suite import StoredSuite


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables of each store."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strongest", description=__doc__)
    parser.add_argument("stores", type=Path, nargs="+", metavar="STORE")
    parser.add_argument("--suite", default="strongest", help="suite with claims about N* (strongest)")
    options = parser.parse_args(arguments)
    for path in options.stores:
        try:
            with open_store(path) as store:
                print(*_tables(store[options.suite]), sep="\n\n", end="\n\n")
        except BenchError as error:
            parser.error(str(error))
    return 0


def strongest_opponent(stored: StoredSuite, claim: Beats) -> tuple[str, Verdict]:
    """The opponent with the smallest median N*, the first of equals, and the verdict on it alone."""
    other = min(claim.against, key=lambda label: _median(_threshold(stored, claim, label)))
    return other, claim.model_copy(update={"against": (other,)}).judge(stored.rows())


def _threshold(stored: StoredSuite, claim: Beats, label: str) -> Threshold:
    at = (claim.task, _d(stored, claim), label, claim.metric)
    for reached in stored.thresholds([claim.level or math.nan]):
        if (reached.task, reached.d, reached.label, reached.metric) == at:
            return reached.threshold
    return Threshold(claim.level or math.nan, ())


def _d(stored: StoredSuite, claim: Beats) -> int | None:
    """The d of a claim, by default the largest."""
    return claim.at(stored.rows()).d


def _median(threshold: Threshold) -> float:
    """The median N*; inf if it is beyond the tested sizes."""
    return threshold.median[1] if threshold.crossings else math.inf


def _tables(stored: StoredSuite) -> Iterator[str]:
    yield f"**{stored.name}, seed {stored.definition['seed']}**"
    parsed = parse_claims(stored.suite, stored.plugins.claims)
    claims = [claim for claim in parsed if isinstance(claim, Beats) and claim.level is not None]
    found = [(claim, *strongest_opponent(stored, claim)) for claim in claims]
    lines = []
    for claim, other, verdict in found:
        ours, theirs = (
            " ".join(sample_size(_threshold(stored, claim, label))).strip() for label in (claim.label, other)
        )
        ratio = with_interval(verdict.estimate, verdict.lo, verdict.hi)
        lines.append(
            [
                claim.task,
                str(_d(stored, claim)),
                f"{claim.level:g}",
                claim.label,
                ours,
                other,
                theirs,
                ratio,
                verdict.sign,
            ]
        )
    head = [
        "task",
        "d",
        "NMSE",
        "learner",
        "N*",
        "strongest opponent",
        "N*",
        "ratio of N*",
        f"needs fewer {SIGNS['supported']}",
    ]
    yield _markdown(head, lines)
    for task, label, level in dict.fromkeys((claim.task, claim.label, claim.level) for claim in claims):
        won = [
            _d(stored, claim)
            for claim, _, verdict in found
            if (claim.task, claim.label, claim.level) == (task, label, level) and verdict.verdict == "supported"
        ]
        where = f"at d = {', '.join(map(str, won))}" if won else "at no tested d"
        yield f"{task}, NMSE {level:g}: {label} needs fewer samples than each opponent {where}."
    yield _markdown(["task", "learner", "candidates", "cells", "CPU s"], _efforts(stored))


def _efforts(stored: StoredSuite) -> Iterator[list[str]]:
    """What each learner tried per cell, and the CPU time of all of its cells on a task."""
    rows = [row for row in stored.rows() if row.status == "ok"]
    for task, label in dict.fromkeys((row.task, row.label) for row in rows):
        own = [row for row in rows if (row.task, row.label) == (task, label)]
        tried = {int(row.chosen.get("candidates", 1)) for row in own}
        seconds = sum(row.fit_cpu_seconds for row in own)
        yield [task, label, "/".join(map(str, sorted(tried))), str(len(own)), f"{seconds:.0f}"]


def _markdown(head: Sequence[str], lines: Iterator[list[str]] | Sequence[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *lines])


if __name__ == "__main__":
    raise SystemExit(main())
