"""Requirements of fits: what they return, may depend on and must leave unchanged; and of batches, which must agree."""

import io
import re
from collections.abc import Hashable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from warnings import catch_warnings

import numpy as np

from bfc_bench.learner import Failure, Job, Predictor
from bfc_bench.store.artifacts import checked_files
from bfc_bench.testing.description import batch_key_is_hashable, smoke_options_are_valid
from bfc_bench.testing.global_state import preserved
from bfc_bench.testing.learner_trial import TEST, LearnerTrial, N
from bfc_bench.testing.requirement import require, requirement, skip
from bfc_bench.toolkit.arrays import to_numpy
from bfc_bench.toolkit.libraries import missing
from bfc_bench.utils.plain_json import plain_json

REPEATABLE = 1e-5
"""Relative difference that a reduction in another order may cause."""
RESTORE = "Make generators from ctx.seed; change a setting in a context manager that restores it"


@requirement(smoke_options_are_valid)
def fit_returns_a_predictor(trial: LearnerTrial) -> None:
    """``fit`` works with the smoke options."""
    if reason := missing(trial.learner.libraries()):
        raise AssertionError(f"the smoke options cannot be tested here: {reason}")
    if reason := trial.learner.skip(trial.facts(), trial.data().n):
        skip(f"skips the task of this kit: {reason}")
    require(isinstance(trial.fitted, Predictor), f"fit must return a Predictor. Got {trial.fitted!r}")


@requirement(fit_returns_a_predictor)
def predictions_are_one_finite_value_per_point(trial: LearnerTrial) -> None:
    """``predict(x)`` is (m,) for x (m, d); scores (m, C) for C classes. A fit that diverges raises ``Diverged``."""
    for m in (TEST, 1):
        _require_values(trial, trial.fitted, f"predict(x) for x of shape ({m}, d)", m=m)


VALID = predictions_are_one_finite_value_per_point


@requirement(VALID)
def precision_is_stated(trial: LearnerTrial) -> None:
    """The dtype of predictions is at least ``capabilities.precision``, or that of the given arrays if it is None."""
    stated = trial.cls.capabilities.precision
    points = trial.test_points()
    least = stated.split()[-1] if stated else to_numpy(points).dtype  # "float64 or float32" allows float32
    declared, got = np.dtype(least), to_numpy(trial.predict(trial.fitted, points)).dtype
    narrow = got.kind == "f" and got.itemsize < declared.itemsize
    because = "capabilities.precision is" if stated else "the given arrays are"
    require(not narrow, f"predictions are {got}, but {because} {declared}; state precision = '{got}' if fits use it")


@requirement(VALID)
def predictions_do_not_depend_on_other_points(trial: LearnerTrial) -> None:
    """A point has the same prediction alone and among others."""
    together = trial.values(trial.fitted)
    alone = [trial.values(trial.fitted, trial.test_points()[i : i + 1]) for i in range(3)]
    trial.require_equal(np.concatenate(alone), together[:3], "points alone against the same points together")


@requirement(VALID)
def nothing_else_is_changed(trial: LearnerTrial) -> None:
    """The given arrays, random generators, default types and the number of threads stay, and nothing is printed.

    Warnings may be issued.
    """
    job, x = trial.job(), trial.test_points()
    arrays = {
        "train.x": job.train.x,
        "train.y": job.train.y,
        "ctx.unlabeled": job.ctx.unlabeled,
        "ctx.square_mean": job.ctx.square_mean,
        "the x of predict": x,
    }
    before = {name: to_numpy(value).tobytes() for name, value in arrays.items()}
    text = io.StringIO()
    with preserved() as changed, redirect_stdout(text), redirect_stderr(text), catch_warnings(action="ignore"):
        to_numpy(job.learner.fit(job.train, job.ctx).predict(x))
    require(not changed, f"changed: {', '.join(changed)}. {RESTORE}")
    written = [name for name, value in arrays.items() if to_numpy(value).tobytes() != before[name]]
    require(not written, f"changed in place: {', '.join(written)}")
    require(not text.getvalue(), f"printed {text.getvalue()[:80]!r}; put facts of the fit into info")


@requirement(VALID)
def fits_depend_on_data_and_seed_alone(trial: LearnerTrial) -> None:
    """All randomness comes from ``ctx.seed``; a fit to other data changes no earlier predictor and no later fit."""
    first = trial.fit(trial.job())
    before = trial.values(first)
    trial.values(trial.fit(trial.job(teacher=1)))
    trial.require_equal(trial.values(first), before, "a predictor after a fit to other data", REPEATABLE)
    again = "a second fit with the same seed, after one to other data"
    trial.require_equal(trial.values(trial.fit(trial.job())), before, again, REPEATABLE)


@requirement(VALID)
def fit_needs_no_more_than_its_points(trial: LearnerTrial) -> None:
    """A fit works on a task without a known input law and unlabelled inputs."""
    if reason := trial.learner.skip(trial.facts(unlabeled=0), N):
        skip(f"skips such tasks: {reason}")
    _require_values(trial, trial.fit(trial.job(bare=True)), "a fit without square_mean and unlabeled inputs")


@requirement(VALID)
def every_array_kind_is_taken(trial: LearnerTrial) -> None:
    """A fit to arrays of each library in ``capabilities.arrays`` works, and predictions are of that library."""
    for kind in trial.cls.capabilities.arrays:
        given = replace(trial, array_kind=kind)
        x = given.test_points()
        values = given.predict(given.fit(given.job()), x)
        right = isinstance(values, type(x))
        require(right, f"predict must return a {kind} array for {kind} inputs. Got {type(values)}")


@requirement(VALID)
def every_label_kind_is_taken(trial: LearnerTrial) -> None:
    """A fit to each kind of labels in ``capabilities.labels`` works, with ``probabilities`` if they are given."""
    for kind in sorted(trial.cls.capabilities.labels):
        given = replace(trial, label_kind=kind)
        if given.learner.skip(given.facts(), N) is None:
            predictor = given.fit(given.job())
            _require_values(given, predictor, f"a fit to {kind} labels")
            if kind != "real":
                _require_probabilities(given, predictor)


def _require_probabilities(trial: LearnerTrial, predictor: Predictor) -> None:
    """Fail unless ``probabilities`` lie in [0, 1] and those of more than two classes sum to 1 at each point."""
    with preserved():
        probabilities = predictor.probabilities(trial.test_points())
    if probabilities is None:
        return
    values, shape, kind = to_numpy(probabilities).astype(np.float64), trial.shape(TEST), trial.labels
    require(values.shape == shape, f"probabilities of {kind} labels must have shape {shape}. Got {values.shape}")
    require(bool(np.all((values >= 0) & (values <= 1 + REPEATABLE))), "probabilities must lie in [0, 1]")
    sums = values.sum(axis=1) if trial.classes else np.ones(TEST)
    require(bool(np.allclose(sums, 1, atol=1e-3)), f"probabilities of a point must sum to 1. Got {sums[:3]}")


@requirement(fit_returns_a_predictor)
def info_can_be_stored(trial: LearnerTrial) -> None:
    """``info`` is plain data, or becomes it as a row's does: arrays as lists, other objects as texts."""
    plain_json(trial.fitted.info, gaps=True)


@requirement(fit_returns_a_predictor)
def hidden_features_have_a_row_per_point(trial: LearnerTrial) -> None:
    """``hidden(x)`` is {"S2": (m, width), ...}, finite."""
    with preserved():
        hidden = trial.fitted.hidden(trial.test_points())
    if not hidden:
        skip("hidden() is not given")
    for layer, values in hidden.items():
        require(re.fullmatch(r"S\d+", str(layer)) is not None, f"layers must be called S2, S3, ... Got {layer!r}")
        shape = tuple(values.shape)
        require(len(shape) == 2 and shape[0] == TEST, f"{layer} must be ({TEST}, width). Got {shape}")
        require(bool(np.isfinite(to_numpy(values)).all()), f"{layer} is not finite")


@requirement(VALID)
def stages_predict(trial: LearnerTrial) -> None:
    """Every stage is a predictor with finite predictions."""
    stages = trial.fitted.stages
    if not stages:
        skip("stages are not given")
    for name, stage in stages.items():
        valid = isinstance(name, str) and isinstance(stage, Predictor)
        require(valid, f"stage {name!r} must be a Predictor. Got {stage!r}")
        _require_values(trial, stage, f"stage {name!r}")


@requirement(fits_depend_on_data_and_seed_alone)
def one_pass_goes_through_smaller_fits(trial: LearnerTrial) -> None:
    """For ``capabilities.one_pass``, the stage ``n<m>`` of a fit to n points is the fit to the first m of them."""
    if not trial.cls.capabilities.one_pass:
        skip("capabilities.one_pass is not set")
    n = trial.data().n
    sizes = {name: int(name[1:]) for name in trial.fitted.stages if re.fullmatch(r"n[1-9]\d*", name)}
    smaller = {name: m for name, m in sizes.items() if m < n}
    require(bool(smaller), f"one_pass needs a stage n<m>, the fit to the first m of n = {n} points, to be tested")
    for name, m in smaller.items():
        alone = trial.values(trial.fit(trial.job(n=m)))
        what = f"stage {name!r} of a fit to {n} points, against a fit to its first {m} points"
        trial.require_equal(trial.values(trial.fitted.stages[name]), alone, what, REPEATABLE)


@requirement(fits_depend_on_data_and_seed_alone)
def artifacts_are_small_and_repeatable(trial: LearnerTrial) -> None:
    """``artifacts()`` is {"NAME.png": bytes, ...} of allowed kinds and sizes, equal for equal fits."""
    with preserved():
        first, again = (checked_files(trial.fit(trial.job()).artifacts()) for _ in range(2))
    if not first:
        skip("artifacts() is not given")
    differ = sorted(name for name in first.keys() | again.keys() if first.get(name) != again.get(name))
    leave_out = "Leave out times and other facts of the run"
    require(not differ, f"an equal fit gives other artifacts: {', '.join(differ)}. {leave_out}")


def _require_values(trial: LearnerTrial, predictor: Predictor, what: str, m: int = TEST) -> None:
    """Fail unless predictions at m points have their shape, and they and their mean square are finite."""
    values, shape = trial.values(predictor, trial.test_points(m)), trial.shape(m)
    require(values.shape == shape, f"{what}: predictions must have shape {shape}. Got {values.shape}")
    wrong = int(np.sum(~np.isfinite(values)))
    require(wrong == 0, f"{what}: {wrong} of {values.size} predictions are not finite")
    with np.errstate(over="ignore"):
        measurable = bool(np.isfinite(np.mean(values**2)))
    largest = np.abs(values).max()
    require(measurable, f"{what}: predictions up to {largest:.3g} are finite, but their mean square is not")


@requirement(VALID, batch_key_is_hashable)
def fit_batch_agrees_with_fit(trial: LearnerTrial) -> None:
    """Jobs of one batch key with other seeds, sizes, teachers and options give the same as single fits.

    ``predict_batch`` of these predictors, each at points of its own, gives the same as ``predict``.
    """
    groups = _batches(trial)
    if not groups:
        skip("batch_key() is None")
    for jobs in groups:
        with preserved():
            outcomes = trial.cls.fit_batch(jobs)
        require(len(outcomes) == len(jobs), f"fit_batch gave {len(outcomes)} results for {len(jobs)} jobs")
        predictors = list[Predictor]()
        for job, outcome in zip(jobs, outcomes, strict=True):
            what = f"n={job.train.n}, {job.train.sample}, seed {job.ctx.seed}, in a batch of {len(jobs)}"
            if isinstance(outcome, Failure):
                raise AssertionError(f"{what}: {outcome.status}: {outcome.reason}")
            require(isinstance(outcome, Predictor), f"{what}: must be a Predictor or a Failure. Got {outcome!r}")
            trial.require_equal(trial.values(outcome), trial.values(trial.fit(job)), what)
            predictors.append(outcome)
        xs = [trial.give(trial.points(TEST, "test", i)) for i in range(len(predictors))]
        with preserved():
            together = trial.cls.predict_batch(predictors, xs)
        require(len(together) == len(xs), f"predict_batch gave {len(together)} results for {len(xs)} predictors")
        for got, predictor, x in zip(together, predictors, xs, strict=True):
            trial.require_equal(to_numpy(got).astype(np.float64), trial.values(predictor, x), "predict_batch")


def _batches(trial: LearnerTrial) -> list[list[Job]]:
    """Batches of two jobs or more, grouped as the framework does."""
    if trial.learner.batch_key(trial.spec()) is None:
        return []
    jobs = [trial.job(), trial.job(seed=1), trial.job(n=2 * N // 3, seed=2), trial.job(teacher=1, seed=3)]
    for option, values in list(trial.cls.search.items())[:1]:
        candidates = (trial.cls.parse({**trial.options, option: value}, "search") for value in values[:2])
        jobs += [trial.job(candidate) for candidate in candidates]
    groups: dict[Hashable, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.learner.batch_key(job.train), []).append(job)
    return [group for key, group in groups.items() if key is not None and len(group) > 1]
