"""Fits, predicts and tunes jobs, in batches if a learner supports that. An exception fails only its own job.

``attempt`` turns what a learner raises, ``SystemExit`` included, into a failure.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

import numpy as np

from bfc_bench.errors import Diverged, describe_error, error_text, is_ctrl_c, traceback_of
from bfc_bench.learner import Array, Data, DataSpec, Failure, Job, Learner, Predictor
from bfc_bench.run.work_units import CellFit
from bfc_bench.tasks.metrics import TargetValues, error_rate
from bfc_bench.toolkit.arrays import to_numpy
from bfc_bench.toolkit.groups import in_groups
from bfc_bench.toolkit.held_out import held_out

T = TypeVar("T")
Outcome: TypeAlias = Predictor | Failure
NO_MEMORY = ("RESOURCE_EXHAUSTED", "can't allocate memory", "YNNPACK operation failed: error")
"""Parts of error messages of JAX, torch and XLA's matrix products (which hide the cause) when they get no memory."""


def attempt(call: Callable[[], T]) -> T | Failure:
    """The result of ``call``, or a Failure for anything that it raises except Ctrl-C."""
    try:
        return call()
    except Diverged as error:
        return Failure("diverged", error_text(error) or "training diverged", traceback_of(error))
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        out = _is_out_of_memory(error)
        return Failure("out-of-memory" if out else "failed", describe_error(error), traceback_of(error))


def _is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception of Python, NumPy, torch or JAX means that memory ran out."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ in {"OutOfMemoryError", "_ArrayMemoryError"}
        or any(text in error_text(error) for text in NO_MEMORY)
    )


def fit(jobs: Sequence[Job]) -> list[Outcome]:
    """Fit jobs of one learner class, those with the same batch key together. One result per job, in order."""
    outcomes = in_groups(jobs, lambda job: group_of(job.learner, job.train, id(job)), _fit_together)
    return [_checked_outcome(job.learner, outcome) for job, outcome in zip(jobs, outcomes, strict=True)]


def group_of(learner: Learner, train: DataSpec, own: Hashable) -> Hashable:
    """What fits that are made together have in common: the batch key, or their ``own`` name if there is none."""
    key = learner.batch_key(train)
    return ("alone", own) if key is None else ("together", key)


def _checked_outcome(learner: Learner, outcome: object) -> Outcome:
    if isinstance(outcome, Predictor | Failure):
        return outcome
    return Failure("failed", f"{learner.name}.fit must return a Predictor. Got {type(outcome).__name__}.")


def _fit_together(jobs: Sequence[Job]) -> Sequence[Outcome]:
    """Fit jobs of one key as a batch."""
    cls, alone = type(jobs[0].learner), [partial(job.learner.fit, job.train, job.ctx) for job in jobs]
    return _results(f"{cls.name}.fit_batch", "job", partial(cls.fit_batch, jobs), alone)


def _results(
    method: str, item: str, batch: Callable[[], Iterable[Any]], alone: Sequence[Callable[[], Any]]
) -> list[Any]:
    """A result per item, of a batch ``method``; each alone if that raises, so that only what fails is marked."""
    if len(alone) > 1:
        results = attempt(lambda: list(batch()))
        if not isinstance(results, Failure):
            if len(results) == len(alone):
                return results
            wrong = f"{method} must give one result per {item}. Got {len(results)} for {len(alone)}."
            return [Failure("failed", wrong)] * len(alone)
    return [attempt(call) for call in alone]


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
    fitted = {i: outcome for i, outcome in enumerate(outcomes) if isinstance(outcome, Predictor)}
    batch = partial(cls.predict_batch, list(fitted.values()), [xs[i] for i in fitted])
    alone = [partial(predictor.predict, xs[i]) for i, predictor in fitted.items()]
    results: list[Any] = list(outcomes)
    for i, value in zip(fitted, _results(f"{cls.name}.predict_batch", "predictor", batch, alone), strict=True):
        results[i] = value if isinstance(value, Failure) else check_prediction(value, len(xs[i]), classes[i], point)
    return results


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
    shape, what = ((m, classes), f"a score per {point} and class") if classes else ((m,), f"one per {point}")
    if array.shape != shape:
        return Failure("failed", f"predictions must have shape {shape}, {what}. Got shape {array.shape}.")
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


GAIN, ENOUGH = 0.9, 1e-8
"""A climb ends at two values in a row without a gain, which is a validation error below ``GAIN`` times the least one
before, or at an error below ``ENOUGH``, which is about what training in single precision reaches."""


@dataclass
class _Climb:
    """Candidates of a cell that are tried one after the other."""

    item: CellFit
    candidates: Sequence[Learner]
    errors: list[float] = field(default_factory=list)
    """Validation errors of those that were tried; infinite if a fit failed."""

    @property
    def goes_on(self) -> bool:
        """Whether the next candidate is tried."""
        before, recent = self.errors[:-2], self.errors[-2:]
        gains = not before or min(recent) < GAIN * min(before)
        return gains and min(recent, default=inf) > ENOUGH and len(self.errors) < len(self.candidates)


def tune(items: Sequence[CellFit]) -> None:
    """Rank the candidates of each cell by validation error; the outcome is a failure if all of them fail."""
    parts = {item: split(item.train) for item in items if item.entry.candidates}
    climbs = [_Climb(item, candidates) for item in parts for candidates in item.entry.climbs()]
    for item in parts:
        item.ranking = []
    while trials := [(climb, climb.candidates[len(climb.errors)]) for climb in climbs if climb.goes_on]:
        outcomes = fit([climb.item.job(learner, parts[climb.item][0]) for climb, learner in trials])
        validated = [parts[climb.item][1] for climb, _ in trials]
        xs = [
            climb.item.copy("inputs", part.sample, part.x, part.columns)
            for (climb, _), part in zip(trials, validated, strict=True)
        ]
        classes = [climb.item.problem.task.classes for climb, _ in trials]
        point = "validation point, every fifth of the n points"
        predictions = predict(type(trials[0][1]), outcomes, xs, classes, point)
        for (climb, learner), part, value in zip(trials, validated, predictions, strict=True):
            error = value if isinstance(value, Failure) else _validation_error(part, value)
            climb.errors.append(inf if isinstance(error, Failure) else error)
            climb.item.tried.append(learner)
            if not isinstance(error, Failure):
                climb.item.ranking.append((learner, error))
            elif climb.item.outcome is None:
                climb.item.outcome = error
    for item in parts:
        item.ranking.sort(key=itemgetter(1))
        item.outcome = None if item.ranking else item.outcome


def _validation_error(data: Data, prediction: np.ndarray) -> float | Failure:
    if data.kind != "real":
        return error_rate(prediction, TargetValues(data.y))
    with np.errstate(over="ignore"):
        # One point has no variance. Its error is compared as it is: over a tiny number it would be infinite.
        error = float(np.mean((prediction - data.y) ** 2) / (float(np.var(data.y)) or 1.0))
    return error if np.isfinite(error) else Failure("diverged", f"the validation error is {error}")
