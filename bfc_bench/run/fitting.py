"""Fits, predicts and tunes jobs, in batches if a learner supports that. An exception fails only its own job."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from bfc_bench.learner import Array, Data, Failure, Job, Learner, Predictor
from bfc_bench.run.array_guard import ArrayGuard
from bfc_bench.run.wire_format import attempt
from bfc_bench.run.work_units import CellWork
from bfc_bench.tasks.metrics import TargetValues, error_rate
from bfc_bench.toolkit.arrays import to_numpy
from bfc_bench.toolkit.held_out import held_out

Outcome: TypeAlias = Predictor | Failure


@dataclass(frozen=True)
class Choice:
    """The learner that a cell is trained with, chosen by tuning if there are candidates."""

    learner: Learner
    validation_error: float | None = None
    """Mean squared error on the validation part over its variance, if it has any; for classes, the error rate."""
    next_best: Choice | None = None
    """What is taken if training on all points diverges; None if no candidate is left."""


def fit(jobs: Sequence[Job]) -> list[Outcome]:
    """Fit jobs of one learner class, those with the same batch key together. One result per job, in order."""
    groups: dict[Hashable, list[int]] = {}
    for i, job in enumerate(jobs):
        key = job.learner.batch_key(job.train)
        groups.setdefault(("alone", i) if key is None else ("together", key), []).append(i)
    outcomes: dict[int, Outcome] = {}
    for members in groups.values():
        outcomes.update(zip(members, _fit_together([jobs[i] for i in members]), strict=True))
    return [outcomes[i] for i in range(len(jobs))]


def _fit_together(jobs: Sequence[Job]) -> Sequence[Outcome]:
    """Fit jobs of one key as a batch. If that raises, fit them one by one, so that only the failing job is marked."""
    if len(jobs) > 1:
        cls = type(jobs[0].learner)
        fitted = attempt(lambda: list(cls.fit_batch(jobs)))
        if not isinstance(fitted, Failure):
            if len(fitted) == len(jobs):
                return fitted
            wrong = f"{cls.name}.fit_batch must give one result per job. Got {len(fitted)} for {len(jobs)} jobs."
            return [Failure("failed", wrong)] * len(jobs)
    return [attempt(partial(job.learner.fit, job.train, job.ctx)) for job in jobs]


def predict(
    cls: type[Learner], outcomes: Sequence[Outcome], xs: Sequence[Array], classes: Sequence[int], point: str = "point"
) -> list[Array | Failure]:
    """Checked predictions of each outcome at its own inputs as NumPy arrays, or failures.

    Args:
        cls: The class of all learners.
        outcomes: Results of fits; failures are passed on.
        xs: Inputs (m, d) for each outcome.
        classes: For each outcome the number of classes to score, (m, classes); 0 for predictions of shape (m,).
        point: What a point is, for error messages.
    """
    fitted = [(i, o) for i, o in enumerate(outcomes) if isinstance(o, Predictor)]
    results: list[Array | Failure] = [o if isinstance(o, Failure) else _not_a_predictor(cls, o) for o in outcomes]
    indices, predictors = [i for i, _ in fitted], [o for _, o in fitted]
    values: Any = (
        attempt(lambda: list(cls.predict_batch(predictors, [xs[i] for i in indices]))) if len(fitted) > 1 else None
    )
    if isinstance(values, list) and len(values) != len(fitted):
        wrong = f"{cls.name}.predict_batch must give one result per predictor. Got {len(values)} for {len(fitted)}."
        values = [Failure("failed", wrong)] * len(fitted)
    elif not isinstance(values, list):
        values = [attempt(lambda o=o, i=i: o.predict(xs[i])) for i, o in fitted]  # type: ignore[misc]
    for i, value in zip(indices, values, strict=True):
        results[i] = value if isinstance(value, Failure) else check_prediction(value, len(xs[i]), classes[i], point)
    return results


def _not_a_predictor(cls: type[Learner], outcome: object) -> Failure:
    return Failure("failed", f"{cls.name}.fit must return a Predictor. Got {type(outcome).__name__}.")


def check_prediction(value: Array, m: int, classes: int = 0, point: str = "point") -> Array | Failure:
    """The prediction as a NumPy array, or a Failure that says what is wrong with it.

    Args:
        value: The prediction, (m,) or (m, classes).
        m: Expected number of points.
        classes: Expected number of scores per point; 0 for one number.
        point: What a point is, for error messages.
    """
    array = attempt(lambda: np.array(to_numpy(value)))  # a copy: a learner may reuse the memory for its next prediction
    if isinstance(array, Failure):
        return array
    wanted, what = ((m, classes), f"a score per {point} and class") if classes else ((m,), f"one per {point}")
    if array.shape != wanted:
        return Failure("failed", f"predictions must have shape {wanted}, {what}. Got shape {array.shape}.")
    if array.dtype.kind not in "fiu":
        return Failure("failed", f"predictions must be real numbers. Got dtype {array.dtype}.")
    wrong = int(np.count_nonzero(~np.isfinite(array)))
    if wrong:
        return Failure("diverged", f"{wrong} of {array.size} predictions are NaN or infinite")
    return array


def split(data: Data) -> tuple[Data, Data]:
    """Training and validation part."""
    validates = held_out(data.n)

    def part(name: str, mask: np.ndarray) -> Data:
        return replace(data, sample=f"{data.sample}/{name}", n=int(mask.sum()), x=data.x[mask], y=data.y[mask])

    return part("train", ~validates), part("validation", validates)


def tune(work: Sequence[CellWork], guard: ArrayGuard) -> list[Choice | Failure]:
    """The candidate with the least validation error for each cell, or its learner if there are no candidates."""
    parts = {i: split(item.train) for i, item in enumerate(work) if item.entry.candidates}
    trials = [(i, candidate) for i in parts for candidate in work[i].entry.candidates]
    if not trials:
        return [Choice(item.entry.learner) for item in work]
    trains = {i: guard.guarded_data(train) for i, (train, _) in parts.items()}
    xs = {i: guard.guarded_copy("inputs", part.sample, part.x, part.columns) for i, (_, part) in parts.items()}
    outcomes = fit([Job(learner, trains[i], work[i].context(learner, guard)) for i, learner in trials])
    classes = [work[i].problem.task.classes for i, _ in trials]
    point = "validation point, every fifth of the n points"
    predictions = predict(type(work[0].entry.learner), outcomes, [xs[i] for i, _ in trials], classes, point)
    chosen: dict[int, Choice] = {}
    failed: dict[int, Failure] = {}
    scored: list[tuple[int, float, Learner]] = []
    for (i, learner), value in zip(trials, predictions, strict=True):
        error = value if isinstance(value, Failure) else _validation_error(parts[i][1], value)
        if isinstance(error, Failure):
            failed.setdefault(i, error)
        else:
            scored.append((i, error, learner))
    scored.sort(key=itemgetter(1))
    for i, error, learner in reversed(scored):
        chosen[i] = Choice(learner, error, chosen.get(i))
    return [chosen.get(i) or failed.get(i) or Choice(item.entry.learner) for i, item in enumerate(work)]


def _validation_error(data: Data, prediction: np.ndarray) -> float | Failure:
    if data.kind != "real":
        return error_rate(prediction, TargetValues(data.y))
    with np.errstate(over="ignore"):
        # One point has no variance. Its error is compared as it is: over a tiny number it would be infinite.
        error = float(np.mean((prediction - data.y) ** 2) / (float(np.var(data.y)) or 1.0))
    return error if np.isfinite(error) else Failure("diverged", f"the validation error is {error}")
