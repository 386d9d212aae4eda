"""Runs a batch of cells in a worker: fits them, measures them on fresh points, and returns their rows."""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from bfc_bench.errors import BenchError, Diverged
from bfc_bench.executors.worker_context import clock_starts, may_take
from bfc_bench.learner import Array, Cost, Failure, Predictor
from bfc_bench.run.array_guard import is_unchanged
from bfc_bench.run.fitting import attempt, check_prediction, fit, group_of, predict, tune
from bfc_bench.run.grid import Cell
from bfc_bench.run.peak_memory import PeakMemory
from bfc_bench.run.stopwatch import Stopwatch
from bfc_bench.run.wire_format import FinishedCell, pack, send
from bfc_bench.run.work_units import TRAIN_POINTS, Batch, CellFit, Copies, load_libraries
from bfc_bench.store.artifacts import checked_files, digests
from bfc_bench.store.row import BESIDES, Row, Status
from bfc_bench.tasks.feature_errors import measure_features
from bfc_bench.tasks.metrics import BUILT_IN, METRICS, Metric, TargetValues, nmse
from bfc_bench.tasks.task import learner_seed
from bfc_bench.toolkit.arrays import to_numpy
from bfc_bench.toolkit.groups import in_groups
from bfc_bench.toolkit.held_out import EVERY
from bfc_bench.toolkit.precision import precision_state
from bfc_bench.utils.plain_json import plain_json
from bfc_bench.version import __version__


def run_batch(batch: Batch) -> bytes:
    """Packed rows of the batch's cells.

    If anything outside a fit goes wrong, a cell alone has a failed row; several cells raise, and the session runs them
    one by one.
    """
    attempt(partial(load_libraries, batch))  # if this fails, the cells meet the same error and report it
    may_take(batch.memory["cpu"], refuse=batch.device == "cpu")  # CUDA maps more than it uses
    rows = attempt(partial(_packed_rows, batch))
    if isinstance(rows, Failure):
        if len(batch.cells) > 1:
            raise BenchError(rows.reason)
        rows = [pack(*_failed(batch, batch.cells[0], rows, {}))]
    return send(rows, precision_state(batch.device))


def _packed_rows(batch: Batch) -> list[bytes] | Failure:
    """Rows of all cells; cells with the same batch key are fitted together."""
    copies: Copies = {}
    items = [CellFit.prepare(batch, cell, copies) for cell in batch.cells]
    clock_starts()
    finished = in_groups(items, lambda item: group_of(item.learner, item.problem.spec(item.cell.n), item.cell.id), _run)
    if changed := [
        what
        for (what, *_), (x, copy, columns) in copies.items()
        if not is_unchanged(x, copy, batch.array_kind, columns)
    ]:
        name, arrays = batch.learner.name, " and ".join(dict.fromkeys(changed))
        reason = f"{name} has changed arrays that it was given: {arrays}. Copy an array before you change it."
        return Failure("failed", reason)
    return [pack(*done) for done in finished]


def _run(items: list[CellFit]) -> list[FinishedCell]:
    """Rows of cells that are fitted together. The time is divided among them by declared cost."""
    stopwatch, memory = Stopwatch(), PeakMemory()
    tune(items)
    while waiting := [item for item in items if item.outcome is None]:
        outcomes = fit([item.job(item.learner, item.train) for item in waiting])
        for item, outcome in zip(waiting, outcomes, strict=True):
            if isinstance(outcome, Failure) and outcome.status == "diverged" and len(item.ranking) > 1:
                del item.ranking[0]
            else:
                item.outcome = outcome
    seconds = stopwatch.seconds()
    tests = _predictions(items, "test inputs", [item.test_x for item in items])
    trains = _predictions(items, "inputs", [item.train.x[:TRAIN_POINTS] for item in items])
    shared = {"trained_together": len(items), "peak_memory_bytes": memory.bytes()}
    return [
        _finish(item, *test, train, {**shared, **{name: share * value for name, value in seconds.items()}})
        for item, test, (_, train), share in zip(items, tests, trains, _shares(items), strict=True)
    ]


def _predictions(items: list[CellFit], what: str, xs: list[np.ndarray]) -> list[tuple[Array, np.ndarray | Failure]]:
    """For each cell a copy of its inputs, called ``what``, and the predictions there."""
    copies = [item.copy(what, item.train.sample, x, item.train.columns) for item, x in zip(items, xs, strict=True)]
    classes = [item.problem.task.classes for item in items]
    outcomes: Any = [item.outcome for item in items]
    return list(zip(copies, predict(type(items[0].entry.learner), outcomes, copies, classes), strict=True))


def _shares(items: list[CellFit]) -> list[float]:
    weights = [max(sum(cost.flops for cost in _costs(item) if cost is not None), 1.0) for item in items]
    return [weight / sum(weights) for weight in weights]


def _finish(
    item: CellFit, x: Array, test: np.ndarray | Failure, train: np.ndarray | Failure, times: dict[str, Any]
) -> FinishedCell:
    """The row of a cell; a failed one, with what is known, if anything goes wrong."""
    facts: dict[str, Any] = {**times, "chosen": {"candidates": len(item.tried) or 1}}
    for part in (_declared, _chosen, _info, partial(_measured, x=x, test=test, train=train)):
        columns = attempt(partial(part, item))
        if isinstance(columns, Failure):
            return _failed(item.batch, item.cell, columns, facts)
        facts |= {**columns, "chosen": facts["chosen"] | columns.get("chosen", {})}
    outcome: Any = item.outcome
    artifacts, trace, reason = attempt(lambda: checked_files(outcome.artifacts())), "", facts.pop("reason")
    if isinstance(artifacts, Failure):  # which leaves the row ok
        reason = "; ".join(filter(None, [reason, f"no artifacts: {artifacts.reason}"]))
        trace, artifacts = artifacts.traceback, {}
    facts["artifacts"] = digests(artifacts)
    return make_row(item.batch, item.cell, "ok", reason, **facts), trace, artifacts


def _declared(item: CellFit) -> dict[str, Any] | Failure:
    """Declared operations, and the parameters of the chosen learner."""
    if not item.ranking:
        assert isinstance(item.outcome, Failure), "all candidates failed"
        return item.outcome
    if (cost := item.learner.cost(item.cell.n, item.cell.d)) is None:
        return {}
    costs = _costs(item)
    counted = [each.fit_flops for each in costs if each is not None]
    flops = float(sum(counted)) if len(counted) == len(costs) else None
    return {"fit_flops": flops, "parameters": None if cost.parameters is None else int(cost.parameters)}


def _costs(item: CellFit) -> list[Cost | None]:
    """Declared costs of the fit, if a learner is left to fit, and of the candidates that tuning has tried."""
    n, d = item.cell.n, item.cell.d
    chosen = [learner.cost(n, d) for learner, _ in item.ranking[:1]]
    return chosen + [learner.cost(n - n // EVERY, d) for learner in item.tried]


def _chosen(item: CellFit) -> dict[str, Any]:
    """Tuned options, validation error, oracle facts and data sizes."""
    chosen: dict[str, Any] = {}
    (learner, validation_error), *_ = item.ranking
    if tuned := item.entry.tuned:
        options = learner.options()
        chosen["tuned"] = {name: options[name] for name in tuned}
        chosen["validation_error"] = validation_error
    # What the candidates do not agree on was not assumed but found.
    agreed = [candidate.assumes() for candidate in item.entry.candidates or (learner,)]
    assumed = {name: value for name, value in agreed[0].items() if all(of.get(name) == value for of in agreed)}
    if oracle := learner.oracle() | item.problem.known(assumed):
        chosen["oracle"] = sorted(oracle)
    if pool := item.problem.test_pool:
        chosen["data"] = {"test_points": item.problem.test_size, "test_pool": pool}
    return {"chosen": chosen}


def _info(item: CellFit) -> dict[str, Any] | Failure:
    """What the predictor says of its fit."""
    if not isinstance(item.outcome, Predictor) or not item.outcome.info:
        return {}
    info = attempt(partial(plain_json, item.outcome.info, gaps=True))
    if isinstance(info, Failure):
        return replace(info, reason=f"{item.learner.name}: info must be plain facts of the fit. {info.reason}")
    return {"chosen": {"info": info}}


def _measured(
    item: CellFit, x: Array, test: np.ndarray | Failure, train: np.ndarray | Failure
) -> dict[str, Any] | Failure:
    """Errors of the predictor and of its stages, and what readers must know of them; a failed fit is its prediction."""
    if isinstance(test, Failure):
        return test
    predictor = item.outcome
    assert isinstance(predictor, Predictor), "a failed fit is passed on as its prediction"
    measured = _all_errors(item, predictor, x, test)
    measured["stages"] = {name: _stage(item, stage, x) for name, stage in predictor.stages.items()}
    caution = item.learner.caution(item.problem.task.facts(item.cell.d), item.cell.n)
    measured["reason"] = "; ".join(filter(None, [caution, predictor.caution, measured.get("reason")]))
    measured["floors"] = _floors(item)
    extras: dict[str, Any] = {name: values for name in BESIDES if (values := measured.pop(name))}
    if "opt" in item.problem.task.labels.facts:
        extras |= _label_errors(item, test)
    if extras:
        measured["chosen"] = {"measured": extras}
    return {**measured, "dtype": str(test.dtype), "train_nmse": _train_nmse(item, train)}


def _failed(batch: Batch, cell: Cell, failure: Failure, facts: dict[str, Any]) -> FinishedCell:
    return make_row(batch, cell, failure.status, failure.reason, **facts), failure.traceback, {}


def make_row(batch: Batch, cell: Cell, status: Status, reason: str, **measured: Any) -> Row:
    """The row of a cell."""
    suite, learner = batch.grid.suite, batch.grid.entries[cell.label].learner
    return Row(
        cell=cell.id,
        suite=suite.name,
        suite_version=suite.version,
        task=cell.task,
        learner=learner.name,
        label=cell.label,
        options=learner.options(),
        d=cell.d,
        n=cell.n,
        replicate=cell.replicate,
        status=status,
        reason=reason,
        device=batch.device,
        seed=learner_seed(suite.seed, batch.grid.tasks[cell.task].streams, cell.d, cell.replicate),
        learner_version=learner.version,
        release=__version__,
        finished_at=time.time(),
        **measured,
    )


def _stage(item: CellFit, stage: Predictor, x: Any) -> dict[str, Any]:
    """Errors of an intermediate predictor, or the reason why there are none."""
    prediction = attempt(lambda: check_prediction(stage.predict(x), len(x), item.problem.task.classes))
    if isinstance(prediction, Failure):
        return {"reason": prediction.reason}
    try:
        return _all_errors(item, stage, x, prediction)
    except Diverged as error:
        return {"reason": str(error)}


def _all_errors(item: CellFit, predictor: Predictor, x: Any, prediction: np.ndarray) -> dict[str, Any]:
    """Errors of a prediction at the test points x (m, d), of the hidden layers, and in named parts of the target."""
    errors = _errors(item, predictor, x, prediction)
    parts = item.problem.part_errors(prediction.astype(np.float64))
    return {**errors, **_features(item.problem.test_hidden, predictor, x), "part_errors": dict(parts)}


def _errors(item: CellFit, predictor: Predictor, x: Any, prediction: np.ndarray) -> dict[str, Any]:
    """All metrics for the task's kind of labels: built-in ones by name, those of plugins under ``metrics``.

    If a plugin's metric raises, ``reason`` names it and the other metrics remain. Raises ``Diverged`` if finite
    predictions are so large that an error is not finite.
    """
    kind, truth, prediction = item.problem.task.kind, item.problem.truth, prediction.astype(np.float64)
    prediction.setflags(write=False)
    applying = [metric for metric in (*BUILT_IN, *item.batch.grid.metrics) if kind in metric.labels]
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


def _floors(item: CellFit) -> dict[str, float]:
    """The floors of the row's metrics: half of a point for shares of points, else those that the metrics say."""
    kind, metrics = item.problem.task.kind, (*BUILT_IN, *item.batch.grid.metrics)
    floors = {f"metrics.{metric.name}": metric.floor for metric in metrics if metric.floor and kind in metric.labels}
    if kind == "real":
        return floors
    validated = {"chosen.validation_error": 0.5 / (item.cell.n // EVERY)} if item.entry.tuned else {}
    return {**floors, **validated, "error_rate": 0.5 / item.problem.test_size}


def _plugin_error(
    metric: Metric, prediction: np.ndarray, probabilities: Callable[[], np.ndarray | None], truth: TargetValues
) -> float | None:
    measured = prediction if metric.of == "predictions" else probabilities()
    return None if measured is None else metric.error(measured, truth)


def _probabilities(predictor: Predictor, x: Any) -> np.ndarray | None:
    probabilities = predictor.probabilities(x)
    return None if probabilities is None else to_numpy(probabilities).astype(np.float64)


def _label_errors(item: CellFit, prediction: np.ndarray) -> dict[str, float]:
    """E(F - Y)^2 and OPT = E(G* - Y)^2 over Var G*, for noisy labels Y of the test points."""
    target, labels = item.problem.test_y, item.problem.test_labels
    error, opt = (np.mean((values - labels) ** 2) / np.var(target) for values in (prediction.astype(float), target))
    return {"label_nmse": float(error), "opt": float(opt)}


def _features(hidden: Any, predictor: Predictor, x: Any) -> dict[str, dict[str, float]]:
    """Errors of the hidden layers by measure, without those that are undefined or not finite."""
    learned = predictor.hidden(x) if hidden else {}
    measured = measure_features(hidden, {layer: to_numpy(value) for layer, value in learned.items()})
    return {name: {k: v for k, v in values.items() if math.isfinite(v)} for name, values in measured.items()}


def _train_nmse(item: CellFit, prediction: Any) -> float | None:
    """Mean squared error on the first training labels over their variance; None if it is undefined or not finite."""
    if isinstance(prediction, Failure) or item.problem.task.kind != "real":
        return None
    truth = TargetValues(item.train.y[:TRAIN_POINTS])
    if truth.constant:
        return None
    error = nmse(prediction.astype(np.float64), truth)
    return error if math.isfinite(error) else None
