"""``python -m benchmarks.exponents``: prints N* by dimension and its exponent beside their theory, as Markdown."""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from bfc_bench import open_store
from bfc_bench.analysis.exponents import fit_exponent
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
    parser.add_argument("--level", type=float, default=0.5, help="NMSE that defines N* (.5)")
    options = parser.parse_args(arguments)
    try:
        with open_store(options.store) as store:
            print("\n\n".join(tables(store[options.suite], options.level)))
    except BenchError as error:
        parser.error(str(error))
    return 0


def tables(stored: StoredSuite, level: float) -> Iterator[str]:
    """The table of each task with several dimensions; a line per learner, in the order of the suite."""
    order = [entry.label for entry in stored.suite.learner]
    tasks: dict[str, list[Scaling]] = defaultdict(list)
    for scaling in stored.exponents([level]):
        if len(scaling.thresholds) > 1 and scaling.label in order and scaling.metric == "nmse":
            tasks[scaling.task].append(scaling)
    for task in stored.suite.task:
        if scalings := sorted(tasks[task.name], key=lambda scaling: order.index(scaling.label)):
            dims = sorted({d for scaling in scalings for d in scaling.thresholds})
            head = ["learner", *(f"N*, d = {d}" for d in dims), "exponent", "theory's N*", "theory's exponent"]
            lines = [head, ["---"] * len(head), *(_line(stored, scaling, dims) for scaling in scalings)]
            yield f"**{task.name}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _line(stored: StoredSuite, scaling: Scaling, dims: Sequence[int]) -> list[str]:
    """The line of a learner. If there is a theory, the exponent is fitted beside it, as for claims."""
    sizes = [" ".join(sample_size(scaling.thresholds[d])).strip() if d in scaling.thresholds else "" for d in dims]
    theory = expected_sizes(stored.theories, scaling.task, scaling.label, scaling.level, dims)
    fit = fit_exponent(scaling.crossings, scaling.axis, theory)
    exponent = "" if fit.refused else f"{fit.value:.2f} [{fit.lo:.2f}, {fit.hi:.2f}]"
    known = {d: n for d, n in theory.items() if n < math.inf}
    law = slope(theory, fit.dims)
    return [
        scaling.label,
        *sizes,
        exponent,
        ", ".join(f"{n:.0f}" for n in known.values()),
        "" if math.isnan(law) else f"{law:.2f}",
    ]


if __name__ == "__main__":
    raise SystemExit(main())
