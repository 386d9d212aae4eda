"""``python -m benchmarks.exponents``: N* by dimension with its exponent, and what theory says of both; Markdown."""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from bfc_bench import open_store
from bfc_bench.analysis.scaling import Scaling
from bfc_bench.analysis.theory import expected_sizes, slope
from bfc_bench.errors import BenchError
from bfc_bench.report.tables import sample_size
from bfc_bench.stored_suite import StoredSuite


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table per task of the suite that has several dimensions."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exponents", description=__doc__)
    parser.add_argument("suite")
    parser.add_argument("--store", type=Path, default=Path("results"))
    parser.add_argument("--level", type=float, default=0.5, help="of NMSE, to which N* belongs (.5)")
    options = parser.parse_args(arguments)
    try:
        with open_store(options.store) as store:
            print("\n\n".join(tables(store[options.suite], options.level)))
    except BenchError as error:
        parser.error(str(error))
    return 0


def tables(stored: StoredSuite, level: float) -> Iterator[str]:
    """Of each task with several dimensions; a line per learner, in the order of the suite."""
    order = [entry.label for entry in stored.suite.learner]
    tasks: dict[str, list[Scaling]] = defaultdict(list)
    for found in stored.exponents([level]):
        if len(found.thresholds) > 1 and found.label in order and found.metric == "nmse":
            tasks[found.task].append(found)
    for task in stored.suite.task:
        if of := sorted(tasks[task.name], key=lambda found: order.index(found.label)):
            dims = sorted({d for found in of for d in found.thresholds})
            head = ["learner", *(f"N*, d = {d}" for d in dims), "exponent", "theory's N*", "theory's exponent"]
            lines = [head, ["---"] * len(head), *(_line(stored, found, dims) for found in of)]
            yield f"**{task.name}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _line(stored: StoredSuite, found: Scaling, dims: Sequence[int]) -> list[str]:
    """Beside the theory's N*, where there is one, the exponent is fitted as the claims fit it."""
    sizes = [" ".join(sample_size(found.thresholds[d])).strip() if d in found.thresholds else "" for d in dims]
    theory = expected_sizes(stored.theories, found.task, found.label, found.level, dims)
    fit = found.exponent_relative_to(theory) if theory else found.exponent
    exponent = "" if fit.refused else f"{fit.value:.2f} [{fit.lo:.2f}, {fit.hi:.2f}]"
    known = {d: n for d, n in theory.items() if n < math.inf}
    law = slope(theory, fit.dims)
    return [
        found.label,
        *sizes,
        exponent,
        ", ".join(f"{n:.0f}" for n in known.values()),
        "" if math.isnan(law) else f"{law:.2f}",
    ]


if __name__ == "__main__":
    raise SystemExit(main())
