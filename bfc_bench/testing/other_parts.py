"""Requirements of claims and suites; claims are judged on made-up results."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bfc_bench.analysis.claims import Claim, Finding
from bfc_bench.analysis.claims.verdict import SIGNS
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.build_task import build_part
from bfc_bench.run.grid import make_grid
from bfc_bench.store.row import Row
from bfc_bench.suite.read import read_suite
from bfc_bench.testing.examples import rng
from bfc_bench.testing.requirement import require, requirement, skip

SIZES, DIMS, REPLICATES = (50, 100, 200, 400, 800, 1600), (5, 10, 20, 40), 5
"""Of made-up results."""


def made_up_rows(tasks: Sequence[str], labels: Sequence[str], predictors: Sequence[str] = ()) -> Iterator[Row]:
    """Results with errors (d / n)^(k + 1) of the k-th label up to noise, and with the stages in ``predictors``."""
    for task in tasks:
        for k, label in enumerate(labels):
            stages = [name.partition("/")[2] for name in predictors if name.startswith(f"{label}/")]
            for cell in np.ndindex(len(DIMS), len(SIZES), REPLICATES):
                d, n, replicate = DIMS[cell[0]], SIZES[cell[1]], cell[2]
                noise = float(rng("rows", task, label, *cell).normal(0, 0.2))
                error = float(np.exp(noise) * min(1.0, (d / n) ** (k + 1)))
                layers = {"S2": error, "S3": error}
                measured: dict[str, Any] = {"nmse": error, "feature_errors": layers, "part_errors": {"degree2": error}}
                yield Row(
                    f"{task}-{label}-{d}-{n}-{replicate}", "check", 1, task, label, label, {}, d, n, replicate, "ok",
                    parameters=100 * (k + 1), train_nmse=error / 2, nmse_trimmed=error / 2, error_rate=min(error, 0.5),
                    stages={name: {**measured, "uncut_errors": layers} for name in stages}, fit_cpu_seconds=n / 1e4,
                    chosen={"measured": {"uncut_errors": layers}}, **measured,
                )  # fmt: skip


@requirement()
def curves_get_a_verdict(claim: Claim) -> None:
    """``predictors`` and ``tasks`` are tuples of names; ``judge`` returns a ``Finding`` with a statement."""
    for what in ("predictors", "tasks"):
        names = getattr(claim, what)
        fine = isinstance(names, tuple) and names and all(isinstance(name, str) for name in names)
        require(bool(fine), f"{what} must be a tuple of names, one or more. Got {names!r}")
    finding = claim.judge(list(made_up_rows(claim.tasks, claim.labels, claim.predictors)))
    require(isinstance(finding, Finding), f"judge must return a Finding. Got {type(finding).__name__}")
    require(finding.verdict in SIGNS, f"the verdict must be one of {tuple(SIGNS)}. Got {finding.verdict!r}")
    require(bool(finding.statement.strip()), "a finding must have a statement")


@requirement(curves_get_a_verdict)
def one_replicate_decides_nothing(claim: Claim) -> None:
    """No results, and one replicate, which has no interval, leave the claim undecided."""
    rows = made_up_rows(claim.tasks, claim.labels, claim.predictors)
    for what, few in (("no rows", []), ("one replicate", [row for row in rows if row.replicate == 0])):
        verdict = claim.judge(few).verdict
        require(verdict == "undecided", f"{what} must leave it undecided. Got {verdict!r}")


@requirement()
def it_plans_cells(path: Path) -> None:
    """Everything that the suite names is installed, and every learner has at least one cell."""
    suite, plugins = read_suite(path), load_plugins()
    sets = [build_part(task.data, plugins.data, task.name) for task in suite.task if task.data]
    if reason := next(filter(None, (data.missing_files() for data in sets)), None):
        skip(reason)
    planned = {cell.label for cell in make_grid(suite, plugins, str(path)).cells()}
    idle = [entry.label for entry in suite.learner if entry.label not in planned]
    require(not idle, f"no cell is planned for {', '.join(idle)}")
