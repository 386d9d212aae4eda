"""Requirements of a kind of claim, tested on made-up learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bfc_bench.analysis.claims import Claim, Verdict
from bfc_bench.store.row import Row
from bfc_bench.testing.assertions import rng
from bfc_bench.testing.requirement import require, requirement

SIZES, DIMS, REPLICATES = (50, 100, 200, 400, 800, 1600), (5, 10, 20, 40), 5
DECIDED = ("supported", "contradicted")
LEVEL = 0.05


@dataclass
class ClaimTrial:
    """A tested claim and the results that it judges."""

    claim: Claim

    @cached_property
    def rows(self) -> list[Row]:
        """Errors (d / n)^(k + 1) of the k-th label up to noise, for every label and task of the claim."""
        return [
            self._row(task, label, place, d, n, replicate)
            for task in self.claim.tasks
            for place, label in enumerate(self.claim.labels)
            for d in DIMS
            for n in SIZES
            for replicate in range(REPLICATES)
        ]

    def _row(self, task: str, label: str, place: int, d: int, n: int, replicate: int) -> Row:
        noise = float(rng("claims", task, label, d, n, replicate).normal(0, 0.2))
        error = float(np.exp(noise) * min(1.0, (d / n) ** (place + 1)))
        names = {name.partition("/")[2] for name in self.claim.predictors if name.startswith(f"{label}/")}
        features = {"S2": error, "S3": error}
        measured: dict[str, Any] = {"nmse": error, "feature_errors": features, "part_errors": {"degree2": error}}
        stages: dict[str, Any] = {name: {**measured, "uncut_errors": features} for name in names}
        return Row(
            f"{task}-{label}-{d}-{n}-{replicate}", "check", 1, task, label, label, {}, d, n, replicate, "ok",
            parameters=100 * (place + 1), train_nmse=error / 2, error_rate=min(error, 0.5), stages=stages,
            chosen={"measured": {"uncut_errors": features}}, **measured,
        )  # fmt: skip

    def judge(self, rows: Sequence[Row]) -> Verdict:
        """The verdict on rows; fails unless it is a ``Verdict``."""
        verdict = self.claim.judge(list(rows))
        require(isinstance(verdict, Verdict), f"judge must return a Verdict. Got {type(verdict).__name__}")
        return verdict


@requirement()
def names_what_it_is_about(trial: ClaimTrial) -> None:
    """``predictors`` and ``tasks`` are tuples of names."""
    for what in ("predictors", "tasks"):
        names = getattr(trial.claim, what)
        fine = isinstance(names, tuple) and names and all(isinstance(name, str) for name in names)
        require(bool(fine), f"{what} must be a tuple of names, one or more. Got {names!r}")


@requirement(names_what_it_is_about)
def curves_get_a_verdict(trial: ClaimTrial) -> None:
    """``judge`` returns one of the three verdicts, with a statement."""
    verdict = trial.judge(trial.rows)
    known = (*DECIDED, "undecided")
    require(verdict.verdict in known, f"the verdict must be one of {known}. Got {verdict.verdict!r}")
    require(bool(verdict.statement.strip()), "a verdict must have a statement")


@requirement(curves_get_a_verdict)
def no_results_decide_nothing(trial: ClaimTrial) -> None:
    """An empty store and cells that all failed leave the claim undecided."""
    nothing: dict[str, Any] = {"nmse": None, "error_rate": None, "train_nmse": None}
    nothing |= {"feature_errors": {}, "part_errors": {}, "stages": {}, "chosen": {}}
    failed = [replace(row, status="failed", **nothing) for row in trial.rows]
    for what, rows in (("cells that all failed", failed), ("no rows", [])):
        _require_undecided(trial, rows, what)


@requirement(curves_get_a_verdict)
def one_replicate_decides_nothing(trial: ClaimTrial) -> None:
    """One replicate has no interval."""
    _require_undecided(trial, [row for row in trial.rows if row.replicate == 0], "one replicate has no interval and")


def _require_undecided(trial: ClaimTrial, rows: Sequence[Row], what: str) -> None:
    verdict = trial.judge(rows).verdict
    require(verdict == "undecided", f"{what} must leave it undecided. Got {verdict!r}")


@requirement(curves_get_a_verdict)
def the_order_of_rows_does_not_matter(trial: ClaimTrial) -> None:
    """Rows in reverse order give the same verdict and estimate."""
    forward, back = trial.judge(trial.rows), trial.judge(trial.rows[::-1])
    same = forward.verdict == back.verdict and np.isclose(forward.estimate, back.estimate, equal_nan=True)
    require(
        bool(same),
        f"rows in another order give {back.verdict}, {back.estimate}, not {forward.verdict}, {forward.estimate}",
    )


@requirement(curves_get_a_verdict)
def it_is_decided_where_p_is_small(trial: ClaimTrial) -> None:
    """``p`` is at most 0.05 exactly if the claim is decided, because repeated looks compare ``p`` with their levels."""
    verdict = trial.judge(trial.rows)
    if not np.isnan(verdict.p):
        require((verdict.verdict in DECIDED) == (verdict.p <= LEVEL), f"{verdict.verdict}, and p = {verdict.p:.3g}")
