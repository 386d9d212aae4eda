"""Laws of a kind of claim, tried on made-up curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bfc_bench.analysis.claims import Claim, Verdict
from bfc_bench.store.row import Row
from bfc_bench.testing.exceptions import require
from bfc_bench.testing.random_streams import rng
from bfc_bench.testing.requirement import law

SIZES, DIMS, REPLICATES = (50, 100, 200, 400, 800, 1600), (5, 10, 20, 40), 5
DECIDED = ("supported", "contradicted")
LEVEL = 0.05


@dataclass
class ClaimTrial:
    """A claim on trial."""

    claim: Claim

    @cached_property
    def rows(self) -> list[Row]:
        """Errors (d / n)^(k + 1) of the k-th predictor up to noise, for every label and task of the claim."""
        return [
            row
            for task in self.claim.tasks
            for place, label in enumerate(self.claim.labels)
            for d in DIMS
            for n in SIZES
            for replicate in range(REPLICATES)
            for row in [self._row(task, label, place, d, n, replicate)]
        ]

    def _row(self, task: str, label: str, place: int, d: int, n: int, replicate: int) -> Row:
        noise = float(rng("claims", task, label, d, n, replicate).normal(0, 0.2))
        error = float(np.exp(noise) * min(1.0, (d / n) ** (place + 1)))
        names = {name.partition("/")[2] for name in self.claim.predictors if name.startswith(f"{label}/")}
        features = {"S2": error, "S3": error}
        measured: dict[str, Any] = {"nmse": error, "feature_errors": features, "part_errors": {"degree2": error}}
        return Row(
            f"{task}-{label}-{d}-{n}-{replicate}", "check", 1, task, label, label, {}, d, n, replicate, "ok",
            train_nmse=error / 2, error_rate=min(error, 0.5), stages=dict.fromkeys(names, measured), **measured,
        )  # fmt: skip

    def judge(self, rows: Sequence[Row]) -> Verdict:
        """The verdict on rows; breaks a law where there is none."""
        found = self.claim.judge(list(rows))
        require(isinstance(found, Verdict), f"judge must return a Verdict. Got {type(found).__name__}")
        return found


@law()
def names_what_it_is_about(trial: ClaimTrial) -> None:
    """``predictors`` and ``tasks`` are names."""
    for what in ("predictors", "tasks"):
        names = getattr(trial.claim, what)
        fine = isinstance(names, tuple) and names and all(isinstance(name, str) for name in names)
        require(bool(fine), f"{what} must be a tuple of names, one or more. Got {names!r}")


@law(names_what_it_is_about)
def curves_get_a_verdict(trial: ClaimTrial) -> None:
    """In one of three words, with a statement."""
    verdict = trial.judge(trial.rows)
    require(verdict.verdict in (*DECIDED, "undecided"), f"a verdict is a word of three. Got {verdict.verdict!r}")
    require(bool(verdict.statement.strip()), "a verdict must have a statement")


@law(curves_get_a_verdict)
def no_results_decide_nothing(trial: ClaimTrial) -> None:
    """Neither an empty store nor cells that all failed."""
    nothing: dict[str, Any] = {"nmse": None, "error_rate": None, "train_nmse": None}
    nothing |= {"feature_errors": {}, "part_errors": {}, "stages": {}}
    failed = [replace(row, status="failed", **nothing) for row in trial.rows]
    for what, rows in (("cells that all failed", failed), ("no rows", [])):
        verdict = trial.judge(rows).verdict
        require(verdict == "undecided", f"{what} must leave it undecided. Got {verdict!r}")


@law(curves_get_a_verdict)
def one_replicate_decides_nothing(trial: ClaimTrial) -> None:
    """There is no interval."""
    verdict = trial.judge([row for row in trial.rows if row.replicate == 0]).verdict
    require(verdict == "undecided", f"a verdict needs an interval; of one replicate came {verdict!r}")


@law(curves_get_a_verdict)
def the_order_of_rows_does_not_matter(trial: ClaimTrial) -> None:
    """Rows come in any order."""
    forward, back = trial.judge(trial.rows), trial.judge(trial.rows[::-1])
    same = forward.verdict == back.verdict and np.isclose(forward.estimate, back.estimate, equal_nan=True)
    require(
        bool(same),
        f"rows in another order give {back.verdict}, {back.estimate}, not {forward.verdict}, {forward.estimate}",
    )


@law(curves_get_a_verdict)
def it_is_decided_where_p_is_small(trial: ClaimTrial) -> None:
    """``p`` is at most .05 exactly where the claim is decided, so that looks can hold it to their levels."""
    verdict = trial.judge(trial.rows)
    if not np.isnan(verdict.p):
        require((verdict.verdict in DECIDED) == (verdict.p <= LEVEL), f"{verdict.verdict}, and p = {verdict.p:.3g}")
