"""Runs a batch of cells in a worker: fits them, measures them on fresh points, and returns their rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from bfc_bench.errors import BenchError, Diverged
from bfc_bench.executors.worker_context import clock_starts, may_take
from bfc_bench.learner import Array, Failure, Job, Learner, Predictor
from bfc_bench.run.array_guard import ArrayGuard
from bfc_bench.run.fitting import Choice, Outcome, check_prediction, fit, predict, tune
from bfc_bench.run.grid import Cell
from bfc_bench.run.memory_limits import PeakMemory
from bfc_bench.run.stopwatch import Stopwatch
from bfc_bench.run.wire_format import FinishedCell, attempt, pack, send
from bfc_bench.run.work_units import TRAIN_POINTS, Batch, CellWork, load_libraries
from bfc_bench.store.artifacts import checked, digests
from bfc_bench.store.row import BESIDES, Row, Status
from bfc_bench.tasks.feature_errors import measure_features
from bfc_bench.tasks.metrics import BUILT_IN, METRICS, Metric, TargetValues
from bfc_bench.tasks.task import learner_seed
from bfc_bench.toolkit.arrays import to_numpy
from bfc_bench.toolkit.held_out import EVERY
from bfc_bench.toolkit.precision import precision_state
from bfc_bench.utils.plain_json import plain_json


def run_batch(batch: Batch) -> bytes:
    """Packed rows of the batch's cells.

    If anything outside a fit goes wrong, a cell alone has a failed row; several cells raise, and the session runs them
    one by one.
    """
    attempt(partial(load_libraries, batch))  # if this fails, the cells meet the same error and report it
    may_take(batch.common.memory_bytes, refuse=batch.common.device == "cpu")  # CUDA maps more than it uses
    rows = attempt(partial(_packed_rows, batch))
    if isinstance(rows, Failure):
        if len(batch.cells) > 1:
            raise BenchError(rows.reason)
        rows = [pack(*_failed(batch, batch.cells[0], rows, {}))]
    return send(rows, precision_state(batch.common.device))


def _packed_rows(batch: Batch) -> list[bytes] | Failure:
    """Rows of all cells; cells with the same batch key are fitted together."""
    groups: dict[Hashable, list[CellWork]] = {}
    for cell in batch.cells:
        item = CellWork.prepare(batch, cell)
        key = item.entry.learner.batch_key(item.problem.spec(cell.n))
        groups.setdefault(("alone", cell.id) if key is None else ("together", key), []).append(item)
    clock_starts()
    guard = ArrayGuard(batch.learner.capabilities.arrays[0], batch.common.device)
    finished = [done for work in groups.values() for done in _run(work, guard)]
    if changed := guard.changed():
        name, arrays = batch.learner.name, " and ".join(changed)
        reason = f"{name} has changed arrays that it was given: {arrays}. Copy an array before you change it."
        return Failure("failed", reason)
    return [pack(*done) for done in finished]


def _run(work: list[CellWork], guard: ArrayGuard) -> list[FinishedCell]:
    """Rows of cells that are fitted together. The time is divided among them by declared cost."""
    stopwatch, memory = Stopwatch(), PeakMemory()
    choices = tune(work, guard)
    outcomes: dict[int, Outcome] = {i: choice for i, choice in enumerate(choices) if isinstance(choice, Failure)}
    while chosen := {i: choice for i, choice in enumerate(choices) if isinstance(choice, Choice) and i not in outcomes}:
        jobs = [_job(work[i], choice.learner, guard) for i, choice in chosen.items()]
        for (i, choice), outcome in zip(chosen.items(), fit(jobs), strict=True):
            if choice.next_best and isinstance(outcome, Failure) and outcome.status == "diverged":
                choices[i] = choice.next_best
            else:
                outcomes[i] = outcome
    seconds = {name: value for name, value in stopwatch.seconds().items() if value is not None}

    cls, ordered = type(work[0].entry.learner), [outcomes[i] for i in range(len(work))]
    xs = [guard.guarded_copy("test inputs", item.train.sample, item.test_x, item.train.columns) for item in work]
    tests = predict(cls, ordered, xs, classes := [item.problem.task.classes for item in work])
    train_xs = [
        guard.guarded_copy("inputs", item.train.sample, item.train.x[:TRAIN_POINTS], item.train.columns)
        for item in work
    ]
    trains = predict(cls, ordered, train_xs, classes)
    shared = {"trained_together": len(work), "peak_memory_bytes": memory.bytes()}
    times = [{**shared, **{name: share * value for name, value in seconds.items()}} for share in _shares(work)]
    return [_finish(*parts) for parts in zip(work, choices, ordered, xs, tests, trains, times, strict=True)]


def _job(item: CellWork, learner: Learner, guard: ArrayGuard) -> Job:
    return Job(learner, guard.guarded_data(item.train), item.context(learner, guard))


def _shares(work: list[CellWork]) -> list[float]:
    costs = [item.entry.learner.cost(item.cell.n, item.cell.d) for item in work]
    weights = [1.0 if cost is None else max(cost.flops, 1.0) for cost in costs]
    return [weight / sum(weights) for weight in weights]


def _finish(
    item: CellWork, choice: Choice | Failure, outcome: Outcome, x: Array, test: Any, train: Any, times: dict[str, Any]
) -> FinishedCell:
    """The row of a cell; a failed one, with what is known, if anything goes wrong."""
    facts = dict(times)
    finished = attempt(partial(_measured, facts, item, choice, outcome, x, test, train))
    return _failed(item.batch, item.cell, finished, facts) if isinstance(finished, Failure) else finished


def _measured(
    facts: dict[str, Any], item: CellWork, choice: Choice | Failure, outcome: Outcome, x: Array, test: Any, train: Any
) -> FinishedCell | Failure:
    """The row of a cell that is ok. ``facts`` gets what is known of the others too."""
    facts["chosen"] = {"candidates": len(item.entry.candidates) or 1}
    if isinstance(choice, Failure):
        return choice
    facts |= _declared(item, choice.learner)
    facts["chosen"] |= _chosen(item, choice)
    if isinstance(outcome, Predictor) and outcome.info:
        info = attempt(lambda: plain_json(outcome.info, gaps=True))
        if isinstance(info, Failure):
            return replace(info, reason=f"{choice.learner.name}: info must be plain facts of the fit. {info.reason}")
        facts["chosen"]["info"] = info
    if isinstance(test, Failure):
        return test
    assert isinstance(outcome, Predictor), "a failed fit is passed on as its prediction"
    measured = _all_errors(item, outcome, x, test)
    measured["stages"] = {name: _stage(item, stage, x) for name, stage in outcome.stages.items()}
    artifacts, failure = _artifacts(outcome)
    caution = choice.learner.caution(item.problem.task.facts(item.cell.d), item.cell.n)
    reason = "; ".join(filter(None, [caution, outcome.caution, measured.pop("reason", ""), failure.reason]))
    beside: dict[str, Any] = {name: values for name in BESIDES if (values := measured.pop(name))}
    if "opt" in item.problem.task.labels.facts:
        beside |= _label_errors(item, test)
    if beside:
        facts["chosen"]["measured"] = beside
    facts |= {
        **measured,
        "dtype": str(test.dtype),
        "train_nmse": _train_nmse(item, train),
        "artifacts": digests(artifacts),
    }
    return FinishedCell(make_row(item.batch, item.cell, "ok", reason, **facts), failure.traceback, artifacts)


def _artifacts(predictor: Any) -> tuple[dict[str, bytes], Failure]:
    """Artifact files by name, and the failure that prevented them (empty reason: none). A failure leaves the row ok."""
    artifacts = attempt(lambda: checked(predictor.artifacts()))
    if isinstance(artifacts, Failure):
        return {}, replace(artifacts, reason=f"no artifacts: {artifacts.reason}")
    return artifacts, Failure("failed", "")


def _failed(batch: Batch, cell: Cell, failure: Failure, facts: dict[str, Any]) -> FinishedCell:
    return FinishedCell(make_row(batch, cell, failure.status, failure.reason, **facts), failure.traceback)


def make_row(batch: Batch, cell: Cell, status: Status, reason: str, **measured: Any) -> Row:
    """The row of a cell."""
    learner, common = batch.learners[cell.label].learner, batch.common
    return Row(
        cell=cell.id,
        suite=common.suite,
        suite_version=common.version,
        task=cell.task,
        learner=learner.name,
        label=cell.label,
        options=learner.options(),
        d=cell.d,
        n=cell.n,
        replicate=cell.replicate,
        status=status,
        reason=reason,
        device=common.device,
        seed=learner_seed(common.seed, batch.tasks[cell.task].streams, cell.d, cell.replicate),
        learner_version=learner.version,
        release=common.release,
        provenance=common.provenance,
        finished_at=time.time(),
        **measured,
    )


def _declared(item: CellWork, learner: Learner) -> dict[str, Any]:
    """Declared operations of the fit and of all candidates of tuning, and the parameters of the chosen learner."""
    if (cost := learner.cost(item.cell.n, item.cell.d)) is None:
        return {}
    trained = item.cell.n - item.cell.n // EVERY
    trials = [candidate.cost(trained, item.cell.d) for candidate in item.entry.candidates]
    known = [trial.fit_flops for trial in trials if trial is not None]
    flops = float(sum(known, cost.fit_flops)) if len(known) == len(trials) else None
    return {"fit_flops": flops, "parameters": None if cost.parameters is None else int(cost.parameters)}


def _chosen(item: CellWork, choice: Choice) -> dict[str, Any]:
    """The column ``chosen`` but for the number of candidates: tuned options, validation error, oracle facts, data
    sizes."""
    chosen: dict[str, Any] = {}
    if tuned := item.entry.tuned:
        options = choice.learner.options()
        chosen["tuned"] = {name: options[name] for name in tuned}
        chosen["validation_error"] = choice.validation_error
    # What the candidates do not agree on was not assumed but found.
    agreed = [candidate.assumes() for candidate in item.entry.candidates or (choice.learner,)]
    assumed = {name: value for name, value in agreed[0].items() if all(of.get(name) == value for of in agreed)}
    if oracle := choice.learner.oracle() | item.problem.known(assumed):
        chosen["oracle"] = sorted(oracle)
    if pool := item.problem.test_pool:
        chosen["data"] = {"test_points": item.problem.test_size, "test_pool": pool}
    return chosen


def _stage(item: CellWork, stage: Predictor, x: Any) -> dict[str, Any]:
    """Errors of an intermediate predictor, or the reason why there are none."""
    prediction = attempt(lambda: check_prediction(stage.predict(x), len(x), item.problem.task.classes))
    if isinstance(prediction, Failure):
        return {"reason": prediction.reason}
    try:
        return _all_errors(item, stage, x, prediction)
    except Diverged as error:
        return {"reason": str(error)}


def _all_errors(item: CellWork, predictor: Predictor, x: Any, prediction: np.ndarray) -> dict[str, Any]:
    """Errors of a prediction at the test points x (m, d), of the hidden layers, and in named parts of the target."""
    errors = _errors(item, predictor, x, prediction)
    parts = item.problem.part_errors(prediction.astype(np.float64))
    return {**errors, **_features(item.problem.test_hidden, predictor, x), "part_errors": dict(parts)}


def _errors(item: CellWork, predictor: Predictor, x: Any, prediction: np.ndarray) -> dict[str, Any]:
    """All metrics for the task's kind of labels: built-in ones by name, those of plugins under ``metrics``.

    If a plugin's metric raises, ``reason`` names it and the other metrics remain. Raises ``Diverged`` if finite
    predictions are so large that an error is not finite.
    """
    kind, truth, prediction = item.problem.task.kind, item.problem.truth, prediction.astype(np.float64)
    prediction.setflags(write=False)
    applying = [metric for metric in (*BUILT_IN, *item.batch.common.metrics) if kind in metric.labels]
    errors: dict[str, Any] = {m.name: m.measure(prediction, truth) for m in applying if m in METRICS}
    for name, error in errors.items():
        if not math.isfinite(error):
            raise Diverged(f"predictions up to {np.abs(prediction).max():.3g} are finite, but their {name} is {error}")
    probabilities = cache(partial(_probabilities, predictor, x))
    plugin_errors: dict[str, float] = {}
    problems: list[str] = []
    for metric in applying:
        if metric not in METRICS:
            error = attempt(partial(_plugin_error, metric, prediction, probabilities, truth))
            if isinstance(error, Failure):
                problems.append(f"metric {metric.name!r} raised {error.reason}")
            elif error is not None:
                plugin_errors[metric.name] = error
    reason = {"reason": "; ".join(problems)} if problems else {}
    return errors | ({"metrics": plugin_errors} if plugin_errors else {}) | reason


def _plugin_error(
    metric: Metric, prediction: np.ndarray, probabilities: Callable[[], np.ndarray | None], truth: TargetValues
) -> float | None:
    measured = prediction if metric.of == "predictions" else probabilities()
    return None if measured is None else metric.error(measured, truth)


def _probabilities(predictor: Predictor, x: Any) -> np.ndarray | None:
    given = predictor.probabilities(x)
    return None if given is None else to_numpy(given).astype(np.float64)


def _label_errors(item: CellWork, prediction: np.ndarray) -> dict[str, float]:
    """E(F - Y)^2 and OPT = E(G* - Y)^2 over Var G*, for noisy labels Y of the test points."""
    target, labels = item.problem.test_y, item.problem.test_labels
    error, opt = (np.mean((values - labels) ** 2) / np.var(target) for values in (prediction.astype(float), target))
    return {"label_nmse": float(error), "opt": float(opt)}


def _features(hidden: Any, predictor: Predictor, x: Any) -> dict[str, dict[str, float]]:
    """Errors of the hidden layers by measure, without those that are undefined or not finite."""
    learned = predictor.hidden(x) if hidden else {}
    measured = measure_features(hidden, {layer: to_numpy(value) for layer, value in learned.items()})
    return {name: {k: v for k, v in values.items() if math.isfinite(v)} for name, values in measured.items()}


def _train_nmse(item: CellWork, prediction: Any) -> float | None:
    """Mean squared error on the first training labels over their variance; None if it is undefined or not finite."""
    if isinstance(prediction, Failure) or item.problem.task.kind != "real":
        return None
    truth = TargetValues(item.train.y[:TRAIN_POINTS])
    if truth.constant:
        return None
    error = truth.nmse(prediction.astype(np.float64))
    return error if math.isfinite(error) else None
