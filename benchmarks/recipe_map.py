"""``python -m benchmarks.recipe_map``: prints where the default recipe works, from suite ``bfc-recipes``."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import geometric_mean

from bfc_bench import open_store
from bfc_bench.store.row import Row

HOLDS = 1e-4
"""NMSE, trimmed or not, that every replicate must reach for the recipe to work."""
GENERALISATION = 0.1
"""A replicate above ``HOLDS`` has too few samples if its training error is below this fraction of its test error."""
BASE = "base"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the map and the sensitivities."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recipe_map", description=__doc__)
    parser.add_argument("--store", type=Path, default=Path("results"))
    parser.add_argument("--suite", default="bfc-recipes")
    options = parser.parse_args(arguments)
    with open_store(options.store) as results:
        rows = results[options.suite].rows()
    print(recipe_map(row for row in rows if row.task != BASE))
    print()
    print(sensitivities(row for row in rows if row.task == BASE))
    return 0


def recipe_map(rows: Iterable[Row]) -> str:
    """A line per task, learner and d; a column per size."""
    curves: dict[tuple[str, str, int], dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        curves[row.task, row.label, row.d][row.n].append(row)
    sizes = sorted({n for by_n in curves.values() for n in by_n})
    lines = [["task", "learner", "d", *(f"n = {n}" for n in sizes)]]
    lines += [
        [task, label, str(d), *(_cell(by_n[n]) if n in by_n else "" for n in sizes)]
        for (task, label, d), by_n in sorted(curves.items())
    ]
    return _markdown(lines)


def sensitivities(rows: Iterable[Row]) -> str:
    """A line per change of one option at the base point, the best first."""
    by_label: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_label[row.label].append(row)
    ranked = sorted(by_label.items(), key=lambda item: _mean(item[1]))
    lines = [["change", "NMSE, geometric mean", "worst", "CPU s per fit"]]
    for label, group in ranked:
        worst = max(row.nmse if row.nmse is not None else float("inf") for row in group)
        seconds = sum(row.fit_cpu_seconds or 0.0 for row in group) / len(group)
        lines.append([label, f"{_mean(group):.1e}", f"{worst:.1e}", f"{seconds:.2f}"])
    return _markdown(lines)


def _cell(group: Sequence[Row]) -> str:
    """The geometric mean of the NMSE, and why replicates miss ``HOLDS``: heavy tails, few samples, or optimisation."""
    short = [row for row in group if row.nmse is None or row.nmse > HOLDS]
    tails = [row for row in short if row.nmse_trimmed is not None and row.nmse_trimmed <= HOLDS]
    samples = [row for row in short if row not in tails and _generalises_badly(row)]
    rest = len(short) - len(tails) - len(samples)
    parts = [(len(tails), "tail"), (len(samples), "n"), (rest, "opt")]
    failed = ", ".join(f"{count} {why}" for count, why in parts if count)
    return f"{_mean(group):.0e}" + (f" ({failed})" if failed else "")


def _generalises_badly(row: Row) -> bool:
    return row.nmse is not None and row.train_nmse is not None and row.train_nmse < GENERALISATION * row.nmse


def _mean(group: Sequence[Row]) -> float:
    values = [max(row.nmse, 1e-16) for row in group if row.nmse is not None]
    return geometric_mean(values) if values else float("nan")


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    head, *body = ("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join([head, "|" + "---|" * len(lines[0]), *body])


if __name__ == "__main__":
    raise SystemExit(main())
