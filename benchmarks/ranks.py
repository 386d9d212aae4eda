"""``python -m benchmarks.ranks``: compares ranks selected on held-out points with given ranks, from rows of a suite."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, geometric_mean

from bfc_bench import open_store
from bfc_bench.store.row import Row
from bfc_bench.stored_suite import StoredSuite

CHOSEN = "-selected"
"""Suffix of the labels of learners that select their ranks."""
JOINT, FROZEN = "joint" + CHOSEN, ("frozen-sum" + CHOSEN, "frozen-signed" + CHOSEN)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line per task and n."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranks", description=__doc__)
    parser.add_argument("--store", type=Path, default=Path("results"))
    parser.add_argument("--suite", default="bfc-ranks")
    options = parser.parse_args(arguments)
    with open_store(options.store) as store:
        print(table(store[options.suite]))
    return 0


def table(stored: StoredSuite) -> str:
    """NMSE of each learner (mean / worst), ratio of joint training to the better frozen learner, ranks, and time."""
    tasks = {entry.name: i for i, entry in enumerate(stored.suite.task)}
    labels = [entry.label for entry in stored.suite.learner]
    families = [label for label in labels if label + CHOSEN in labels]
    points: dict[tuple[int, str, int], dict[str, dict[int, Row]]] = defaultdict(lambda: defaultdict(dict))
    for row in stored.rows():
        points[tasks[row.task], row.task, row.n][row.label][row.replicate] = row
    shown = [label for family in families for label in (family, family + CHOSEN)]
    lines = [["task", "n", *shown, f"{JOINT} / better frozen", "its ranks", "its CPU s"]]
    for (_, task, n), rows in sorted(points.items()):
        errors = {label: {i: _nmse(row) for i, row in rows[label].items()} for label in shown}
        lines.append([task, str(n), *(_errors(errors[label]) for label in shown), *_joint(rows[JOINT], errors)])
    head, *body = ("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join([head, "|" + "---|" * len(lines[0]), *body])


def _nmse(row: Row) -> float:
    """NMSE of a row; a fit that is not ok counts as 1."""
    return max(row.nmse, 1e-16) if row.nmse is not None else 1.0


def _errors(errors: dict[int, float]) -> str:
    return f"{geometric_mean(errors.values()):.2g} / {max(errors.values()):.2g}" if errors else ""


def _joint(rows: dict[int, Row], errors: dict[str, dict[int, float]]) -> list[str]:
    """The paired ratio (mean, minimum, maximum), how often each choice of ranks occurred, and the time."""
    paired = sorted(set(rows).intersection(*(errors[label] for label in FROZEN)))
    if not paired:
        return ["", "", ""]
    ratios = [errors[JOINT][i] / min(errors[label][i] for label in FROZEN) for i in paired]
    ranks = [rows[i].chosen.get("info", {}).get("ranks", {}) for i in paired]
    texts = [each if isinstance(each, str) else "-".join(map(str, each.values())) for each in ranks]
    return [
        f"{geometric_mean(ratios):.2g} [{min(ratios):.2g}, {max(ratios):.2g}]",
        ", ".join(f"{text}: {texts.count(text)}" for text in sorted(set(texts))),
        f"{fmean(rows[i].fit_cpu_seconds or 0.0 for i in paired):.1f}",
    ]


if __name__ == "__main__":
    raise SystemExit(main())
