"""``python -m benchmarks.algorithm_1``: prints the results of Algorithm 1 from its suites, as Markdown."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, geometric_mean

from bfc_bench import open_store
from bfc_bench.store.row import Row
from bfc_bench.stored_suite import StoredSuite

HOLDS = 1e-4
"""NMSE that counts as learned."""
SUITES = ("bfc-algorithm-1", "bfc-algorithm-1-departures")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table for each of the suites that the store holds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.algorithm_1", description=__doc__)
    parser.add_argument("--store", type=Path, default=Path("results"))
    options = parser.parse_args(arguments)
    with open_store(options.store) as store:
        held = {name.partition("@")[0] for name in store}
        print("\n\n".join(table(store[name]) for name in SUITES if name in held))
    return 0


def table(stored: StoredSuite) -> str:
    """A line per task, learner, d and n, in the order of the suite's learners."""
    order = {entry.label: i for i, entry in enumerate(stored.suite.learner)}
    tasks = {entry.name: i for i, entry in enumerate(stored.suite.task)}
    ranks = {
        entry.name: {f"k{layer}": k for layer, k in enumerate(entry.target["widths"], start=2)}
        for entry in stored.suite.task
    }
    groups: dict[tuple[int, str, int, str, int, int], list[Row]] = defaultdict(list)
    for row in stored.rows():
        groups[order[row.label], row.label, tasks[row.task], row.task, row.d, row.n].append(row)
    lines = [["learner", "task", "d", "n", "NMSE or error", "worst", "learned", "ranks right", "worst P_2", "CPU s"]]
    for (_, label, _, task, d, n), group in sorted(groups.items()):
        lines.append([label, task, str(d), str(n), *_cells(group, ranks[task])])
    head, *body = ("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join([head, "|" + "---|" * len(lines[0]), *body])


def _cells(group: Sequence[Row], ranks: dict[str, int]) -> list[str]:
    """Cells of a group: geometric mean NMSE, or fraction of wrong signs of binary labels; failed fits count as 1."""
    binary = any(row.error_rate is not None for row in group)
    measured = [row.error_rate if binary else row.nmse for row in group]
    errors = [1.0 if error is None else max(error, 1e-16) for error in measured]
    right = sum(row.chosen.get("info", {}).get("ranks") == ranks for row in group)
    features = [row.feature_errors["S2"] for row in group if "S2" in row.feature_errors]
    return [
        f"{geometric_mean(errors):.0e}",
        f"{max(errors):.0e}",
        "" if binary else f"{sum(error <= HOLDS for error in errors)} of {len(group)}",
        f"{right} of {len(group)}",
        f"{max(features):.0e}" if features else "",
        f"{fmean(row.fit_cpu_seconds or 0.0 for row in group):.1f}",
    ]


if __name__ == "__main__":
    raise SystemExit(main())
