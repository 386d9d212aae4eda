"""Requirements of a learner's batch methods: they must agree with ``fit`` and ``predict``."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from bfc_bench.learner import Failure, Job, Learner, Predictor
from bfc_bench.testing.description import batch_key_is_hashable
from bfc_bench.testing.fitting import VALID
from bfc_bench.testing.global_state import preserved
from bfc_bench.testing.learner_trial import TEST, LearnerTrial, N, data_spec
from bfc_bench.testing.requirement import require, requirement, skip
from bfc_bench.toolkit.arrays import to_numpy


@requirement(VALID, batch_key_is_hashable)
def fit_batch_agrees_with_fit(trial: LearnerTrial) -> None:
    """Jobs of one batch key with other seeds, sizes, teachers and options give the same as single fits."""
    groups = _batches(trial)
    if not groups:
        skip("batch_key() is None")
    for jobs in groups:
        for job, outcome in zip(jobs, _fit_batch(trial, jobs), strict=True):
            what = f"n={job.train.n}, {job.train.sample}, seed {job.ctx.seed}, in a batch of {len(jobs)}"
            if isinstance(outcome, Failure):
                raise AssertionError(f"{what}: {outcome.status}: {outcome.reason}")
            require(isinstance(outcome, Predictor), f"{what}: must be a Predictor or a Failure. Got {outcome!r}")
            trial.require_equal(trial.values(outcome), trial.values(trial.fit(job)), what)


@requirement(VALID, fit_batch_agrees_with_fit)
def predict_batch_agrees_with_predict(trial: LearnerTrial) -> None:
    """Predictors of one batch, each at points of its own, predict the same as one by one."""
    if trial.cls.predict_batch.__func__ is Learner.predict_batch.__func__:  # type: ignore[attr-defined]
        skip("predict_batch() is not given")
    for jobs in _batches(trial):
        predictors = [outcome for outcome in _fit_batch(trial, jobs) if isinstance(outcome, Predictor)]
        xs = [trial.give(trial.points(TEST, "test", i)) for i in range(len(predictors))]
        with preserved():
            together = trial.cls.predict_batch(predictors, xs)
        require(len(together) == len(xs), f"predict_batch gave {len(together)} results for {len(xs)} predictors")
        for got, predictor, x in zip(together, predictors, xs, strict=True):
            trial.require_equal(to_numpy(got).astype(np.float64), trial.values(predictor, x), "predict_batch")


def _batches(trial: LearnerTrial) -> list[list[Job]]:
    """Batches of two jobs or more, grouped as the framework does."""
    if trial.learner.batch_key(data_spec(trial.data())) is None:
        return []
    jobs = [trial.job(), trial.job(seed=1), trial.job(n=2 * N // 3, seed=2), trial.job(teacher=1, seed=3)]
    for option, values in list(trial.cls.search.items())[:1]:
        candidates = (trial.cls.parse({**trial.options, option: value}, "search") for value in values[:2])
        jobs += [trial.job(candidate) for candidate in candidates]
    groups: dict[Hashable, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.learner.batch_key(data_spec(job.train)), []).append(job)
    return [group for key, group in groups.items() if key is not None and len(group) > 1]


def _fit_batch(trial: LearnerTrial, jobs: Sequence[Job]) -> Sequence[Predictor | Failure]:
    with preserved():
        outcomes = trial.cls.fit_batch(jobs)
    require(len(outcomes) == len(jobs), f"fit_batch gave {len(outcomes)} results for {len(jobs)} jobs")
    return outcomes
