"""Laws of a single fit: what comes back, what it may depend on, what it must leave alone."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from bfc_bench.learner import Array, ArrayKind, Job, LabelKind, Learner, Predictor
from bfc_bench.process_state import GlobalFunctions, ThreadsAndChildren
from bfc_bench.store.artifacts import checked
from bfc_bench.testing.description import smoke_options_are_valid
from bfc_bench.testing.exceptions import require, skip
from bfc_bench.testing.global_state import changes, generators, preserved, settings, snapshot
from bfc_bench.testing.learner_trial import TEST, N, Trial, own_classes, prediction_shape
from bfc_bench.testing.requirement import law
from bfc_bench.toolkit.arrays import to_numpy
from bfc_bench.toolkit.libraries import missing
from bfc_bench.utils.plain_json import canonical_json, plain_json

REPEATABLE = 1e-5
"""Relative difference that reductions in another order may make."""


@law(smoke_options_are_valid)
def fit_returns_a_predictor(trial: Trial) -> None:
    """``fit`` works with the smoke options."""
    if reason := missing(trial.learner.libraries()):
        raise AssertionError(f"the smoke options cannot be tried here: {reason}")
    if reason := trial.learner.skip(trial.facts(), trial.data().n):
        skip(f"skips the task of this kit: {reason}")
    require(isinstance(trial.fitted, Predictor), f"fit must return a Predictor. Got {trial.fitted!r}")


@law(fit_returns_a_predictor)
def predictions_keep_the_array_kind(trial: Trial) -> None:
    """``predict`` answers in the array library of its inputs."""
    _require_kind(trial.predict(trial.fitted, trial.test_points()), trial.arrays)


@law(fit_returns_a_predictor)
def predictions_have_one_value_per_point(trial: Trial) -> None:
    """``predict(x)`` is (m,) for x (m, d); scores (m, C) for C classes."""
    for m in (TEST, 1):
        shape, wanted = (
            tuple(trial.predict(trial.fitted, trial.test_points(m)).shape),
            prediction_shape(trial.labels, m),
        )
        require(shape == wanted, f"predict(x) must have shape {wanted} for x of shape ({m}, d). Got {shape}")


@law(predictions_have_one_value_per_point)
def predictions_are_finite(trial: Trial) -> None:
    """No NaN, no infinity, nothing so large that its error is; a fit that diverges raises ``Diverged``."""
    values = trial.values(trial.fitted)
    wrong = int(np.sum(~np.isfinite(values)))
    require(wrong == 0, f"{wrong} of {values.size} predictions are not finite")
    with np.errstate(over="ignore"):
        measurable = bool(np.isfinite(np.mean(values**2)))
    require(measurable, f"predictions up to {np.abs(values).max():.3g} are finite, but their mean square is not")


VALID = predictions_are_finite


@law(VALID)
def precision_is_stated(trial: Trial) -> None:
    """Predictions are no narrower than ``capabilities.precision``, or than the arrays given where that is None."""
    stated = trial.cls.capabilities.precision
    points = trial.test_points()
    least = stated.split()[-1] if stated else to_numpy(points).dtype  # of both, float32 stands last
    wanted, got = np.dtype(least), to_numpy(trial.predict(trial.fitted, points)).dtype
    narrow = got.kind == "f" and got.itemsize < wanted.itemsize
    because = "capabilities.precision says" if stated else "the arrays given are"
    require(not narrow, f"predictions are {got}, and {because} {wanted}; state precision = '{got}' if fits are so")


@law(VALID)
def predictions_do_not_depend_on_other_points(trial: Trial) -> None:
    """A point is predicted alike alone and among others."""
    together = trial.values(trial.fitted)
    alone = [trial.values(trial.fitted, trial.test_points()[i : i + 1]) for i in range(3)]
    trial.require_equal(np.concatenate(alone), together[:3], "points alone against the same points together")


@law(VALID)
def inputs_are_not_changed(trial: Trial) -> None:
    """Training points, context and test points are the same bits after fit and predict."""
    job, x = trial.job(), trial.test_points()
    given = {
        "train.x": job.train.x,
        "train.y": job.train.y,
        "ctx.unlabeled": job.ctx.unlabeled,
        "ctx.square_mean": job.ctx.square_mean,
        "the x of predict": x,
    }
    before = {name: to_numpy(value).tobytes() for name, value in given.items()}
    trial.values(trial.fit(job), x)
    changed = [name for name, value in given.items() if to_numpy(value).tobytes() != before[name]]
    require(not changed, f"changed in place: {', '.join(changed)}")


@law(VALID)
def learner_keeps_no_fitted_state(trial: Trial) -> None:
    """Fitted state lives on the predictor: a fit leaves the options, the instance and the class as they were."""
    # The learner has fitted before, so what depends on its options or on shapes alone may already be cached.
    before = _state(trial.learner)
    trial.values(trial.fit(trial.job(teacher=1)))
    after = _state(trial.learner)
    changed = [name for name in before | after if before.get(name) != after.get(name)]
    require(not changed, f"fit changed {', '.join(changed)}; fitted state must live on the predictor")


@law(VALID)
def fits_are_independent(trial: Trial) -> None:
    """A predictor predicts the same after the learner has been fitted to other data."""
    first = trial.fit(trial.job())
    before = trial.values(first)
    trial.values(trial.fit(trial.job(teacher=1)))
    trial.require_equal(trial.values(first), before, "a predictor after a later fit", REPEATABLE)


@law(VALID)
def same_seed_gives_the_same_predictions(trial: Trial) -> None:
    """All randomness comes from ``ctx.seed``."""
    first, second = (trial.values(trial.fit(trial.job(seed=5))) for _ in range(2))
    trial.require_equal(second, first, "a second fit with the same seed", REPEATABLE)


@law(same_seed_gives_the_same_predictions)
def global_generators_are_left_alone(trial: Trial) -> None:
    """No global random generator is used: not read, not seeded."""
    changed: dict[str, None] = {}
    for name, generator in generators().items():
        predictions = []
        for seed in (1, 2):
            with preserved():
                generator.seed(seed)
                before = snapshot(generators())
                predictions.append(trial.fit_and_predict())
                changed |= dict.fromkeys(f"{moved} is moved" for moved in changes(generators(), before))
        first, second = predictions
        if not np.allclose(first, second, rtol=0, atol=REPEATABLE * float(np.std(first))):
            changed[f"{name} changes the predictions"] = None
    require(not changed, f"{'; '.join(changed)}. Make generators from ctx.seed instead")


@law(VALID)
def global_settings_are_left_alone(trial: Trial) -> None:
    """Precision, devices, error handling, warnings, environment and working directory are as before."""
    with preserved():
        before = snapshot(settings())
        trial.fit_and_predict()
        changed = changes(settings(), before).values()
    require(not changed, f"changed: {', '.join(changed)}. Use a context manager that puts it back")


@law(VALID)
def functions_of_others_are_left_alone(trial: Trial) -> None:
    """No function of Python, NumPy, torch, JAX or the metrics is replaced."""
    with preserved():
        functions = GlobalFunctions()
        trial.fit_and_predict()
        replaced = functions.restore()
    require(not replaced, f"replaced: {', '.join(replaced)}. Everybody in the process calls them")


@law(VALID)
def nothing_is_left_running(trial: Trial) -> None:
    """No thread, process or timer goes on after a fit and its predictions."""
    with preserved():
        running = ThreadsAndChildren()
        trial.fit_and_predict()
        left = running.restore()
    require(not left, f"{'; '.join(left)}. End within fit and predict what they start")


@law(VALID)
def no_files_are_left(trial: Trial) -> None:
    """The working directory holds what it held."""
    before = _files()
    with preserved():
        trial.fit_and_predict()
    left = sorted(name for name, written in _files().items() if before.get(name) != written)
    require(not left, f"left in the working directory: {', '.join(left)}. Use tempfile for files of a fit")


@law(VALID)
def fit_needs_no_more_than_its_points(trial: Trial) -> None:
    """A fit works where the task knows no input law and offers no unlabelled inputs."""
    if reason := trial.learner.skip(trial.facts(unlabeled=0), N):
        skip(f"skips such tasks: {reason}")
    job = trial.job()
    predictor = trial.fit(Job(job.learner, job.train, trial.context(bare=True)))
    _require_values(trial, predictor, "a fit without square_mean and unlabeled inputs")


@law(VALID)
def every_array_kind_is_taken(trial: Trial) -> None:
    """Each library in ``capabilities.arrays`` works, and its kind comes back."""
    others = trial.cls.capabilities.arrays[1:]
    if not others:
        skip(f"declares {trial.arrays} arrays only")
    for kind in others:
        predictor = trial.fit(Job(trial.learner, trial.data(arrays=kind), trial.context(arrays=kind)))
        _require_kind(trial.predict(predictor, trial.give(trial.points(TEST, "test"), kind)), kind)


@law(VALID)
def every_label_kind_is_taken(trial: Trial) -> None:
    """Each kind in ``capabilities.labels`` works."""
    others = sorted(trial.cls.capabilities.labels - {trial.labels})
    if not others:
        skip(f"declares {trial.labels} labels only")
    for kind in others:
        if reason := trial.learner.skip(trial.facts(kind), N):
            skip(f"skips {kind} labels: {reason}")
        predictor = trial.fit(Job(trial.learner, trial.data(labels=kind), trial.context()))
        _require_values(trial, predictor, f"a fit to {kind} labels", kind)


@law(VALID)
def probabilities_are_probabilities(trial: Trial) -> None:
    """Where ``probabilities`` are given they lie in [0, 1], of sum 1 for each point where there are more classes."""
    kinds: list[LabelKind] = [kind for kind in ("binary", "class") if kind in trial.cls.capabilities.labels]
    given = 0
    for kind in kinds:
        if trial.learner.skip(trial.facts(kind), N):
            continue
        predictor = trial.fit(Job(trial.learner, trial.data(labels=kind), trial.context()))
        with preserved():
            found = predictor.probabilities(trial.test_points())
        if found is None:
            continue
        given += 1
        values, shape = to_numpy(found).astype(np.float64), prediction_shape(kind, TEST)
        require(values.shape == shape, f"probabilities of {kind} labels must have shape {shape}. Got {values.shape}")
        require(bool(np.all((values >= 0) & (values <= 1 + REPEATABLE))), "probabilities must lie in [0, 1]")
        sums = values.sum(axis=1) if kind == "class" else np.ones(TEST)
        require(bool(np.allclose(sums, 1, atol=1e-3)), f"probabilities of a point must have sum 1. Got {sums[:3]}")
    if not given:
        skip("probabilities() is not given")


@law(fit_returns_a_predictor)
def info_is_json(trial: Trial) -> None:
    """``info`` is stored with the result."""
    info = trial.fitted.info
    require(isinstance(info, Mapping), f"info must be a mapping. Got {info!r}")
    try:
        canonical_json(dict(info))
        plain_json(dict(info))
    except (TypeError, ValueError) as error:
        raise AssertionError(f"info is not plain finite data: {error}. Got {dict(info)!r}") from None


@law(fit_returns_a_predictor)
def hidden_features_have_a_row_per_point(trial: Trial) -> None:
    """``hidden(x)`` is {"S2": (m, width), ...}, finite."""
    with preserved():
        hidden = trial.fitted.hidden(trial.test_points())
    if not hidden:
        skip("hidden() is not given")
    for layer, value in hidden.items():
        require(re.fullmatch(r"S\d+", str(layer)) is not None, f"layers are called S2, S3, ... Got {layer!r}")
        shape = tuple(value.shape)
        require(len(shape) == 2 and shape[0] == TEST, f"{layer} must be ({TEST}, width). Got {shape}")
        require(bool(np.isfinite(to_numpy(value)).all()), f"{layer} is not finite")


@law(VALID)
def stages_predict(trial: Trial) -> None:
    """Every stage is a predictor like the final one."""
    stages = trial.fitted.stages
    if not stages:
        skip("stages are not given")
    for name, stage in stages.items():
        require(
            isinstance(name, str) and isinstance(stage, Predictor), f"stage {name!r} must be a Predictor, got {stage!r}"
        )
        _require_values(trial, stage, f"stage {name!r}")


@law(same_seed_gives_the_same_predictions)
def artifacts_are_small_and_repeatable(trial: Trial) -> None:
    """``artifacts()`` is {"NAME.png": bytes, ...} of kinds and sizes that are kept, the same from an equal fit; asking
    for them changes no prediction.
    """
    fitted, other = (trial.fit(trial.job()) for _ in range(2))
    before = trial.values(fitted)
    with preserved():
        first = checked(fitted.artifacts())
    if not first:
        skip("artifacts() is not given")
    require(trial.values(fitted).tobytes() == before.tobytes(), "artifacts() changes what is predicted")
    with preserved():
        again = checked(other.artifacts())
    changed = sorted(name for name in first.keys() | again.keys() if first.get(name) != again.get(name))
    require(not changed, f"an equal fit gives other artifacts: {', '.join(changed)}. Leave out times and the like")


def _files() -> dict[str, int]:
    """When each file in the working directory was last written, in ns; 0 for directories."""
    entries = (entry for entry in os.scandir() if entry.name != "__pycache__")
    return {entry.name: entry.stat().st_mtime_ns if entry.is_file() else 0 for entry in entries}


def _require_kind(values: Array, kind: ArrayKind) -> None:
    if kind == "numpy":
        wanted: type = np.ndarray
    elif kind == "torch":
        import torch

        wanted = torch.Tensor
    else:
        import jax

        wanted = jax.Array
    require(isinstance(values, wanted), f"predict must return a {kind} array for {kind} inputs. Got {type(values)}")


def _require_values(trial: Trial, predictor: Predictor, what: str, kind: LabelKind | None = None) -> None:
    values, shape = trial.values(predictor), prediction_shape(kind or trial.labels, TEST)
    require(values.shape == shape, f"{what}: predictions must have shape {shape}. Got {values.shape}")
    require(bool(np.isfinite(values).all()), f"{what}: predictions are not finite")


def _state(learner: Learner) -> dict[str, bytes]:
    """What a learner and its class hold, by name, without methods, properties and what pydantic keeps."""
    values = {f"attribute {name!r} of the instance": value for name, value in vars(learner).items()}
    values["private attributes of the instance"] = learner.__pydantic_private__
    for cls in own_classes(type(learner)):
        for name, value in vars(cls).items():
            machinery = name.startswith(("__", "_abc_", "model_")) or isinstance(value, property | classmethod)
            if not machinery and not callable(value):
                values[f"attribute {name!r} of class {cls.__name__}"] = value
    return {name: _fingerprint(value) for name, value in values.items()}


def _fingerprint(value: Any) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception:  # whatever refuses to be pickled has at least an identity
        return repr(value).encode()
