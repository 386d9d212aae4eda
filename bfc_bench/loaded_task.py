"""A task to hold in Python: the points that runs use, and errors as runs measure them, without a learner or a store.

Shapes: n training points, m test points, d columns of x, C classes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from bfc_bench.errors import Diverged, UsageError
from bfc_bench.learner import Array, Context, Data, Failure
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.build_task import build_task
from bfc_bench.run.fitting import check_prediction
from bfc_bench.run.grid import task_of
from bfc_bench.suite.find import suite_path
from bfc_bench.suite.model import Suite, TaskEntry
from bfc_bench.suite.read import read_suite
from bfc_bench.tasks.base import Float
from bfc_bench.tasks.drawn_problem import DrawnProblem
from bfc_bench.tasks.metrics import METRICS
from bfc_bench.tasks.task import Problem, Task

CLEAN = {"kind": "clean"}
TEST_SIZE = Suite.model_fields["test_size"].default


def load_task(name: str, *, d: int | None = None, changes: Sequence[str] = ()) -> LoadedTask:
    """A task of a suite, with its seed and test size: ``load_task("smoke/teacher-L3", d=10)``.

    Args:
        name: ``SUITE/TASK``; the suite is a name or the path of a file.
        d: Input dimension; by default the suite's, if it has one. One that the suite lacks gives a warning.
        changes: Changes to the suite, such as ``"seed=1"``, in the grammar of ``--set``.

    Raises:
        UsageError: The name is unknown, the task does not exist in d dimensions, or d is missing.
    """
    suite_name, _, task_name = name.rpartition("/")
    if not suite_name:
        raise UsageError(f"load_task: name must be SUITE/TASK, such as 'smoke/teacher-L3'. Got {name!r}.")
    plugins = load_plugins()
    path = suite_path(suite_name, plugins.suites)
    suite = read_suite(path, changes)
    task, dimensions = task_of(suite, task_name, plugins, str(path))
    if d is None and len(dimensions) > 1:
        raise UsageError(f"load_task: d must be given, as {name} has several: {', '.join(map(str, dimensions))}.")
    if d is not None and d not in dimensions and dimensions:
        of_suite = ", ".join(map(str, dimensions))
        warnings.warn(
            f"load_task: {name} has d = {of_suite} in its suite, whose results have no d = {d}.", stacklevel=2
        )
    return LoadedTask(task, dimensions[0] if d is None else d, suite.seed, suite.test_size)


def task(
    *,
    d: int | None = None,
    inputs: Mapping[str, Any] | None = None,
    target: Mapping[str, Any] | None = None,
    law: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    labels: Mapping[str, Any] = CLEAN,
    unlabeled: int = 0,
    name: str = "task",
    seed: int = 0,
    test_size: int = TEST_SIZE,
) -> LoadedTask:
    """A task from tables as a suite has them: ``task(inputs={"kind": "uniform"}, target={"kind": "linear"}, d=10)``.

    Args:
        d: Input dimension; leave it out for data, and for a law whose options determine it.
        inputs: Input law.
        target: Target.
        law: Joint law of (x, y), in place of ``inputs`` and ``target``.
        data: Data set, in place of ``inputs`` and ``target``.
        labels: Labelling.
        unlabeled: Number of inputs without labels.
        name: Its name, which keys the random streams: a suite with this name, ``seed`` and tables has these points.
        seed: Seed of the suite.
        test_size: Number m of test points.

    Raises:
        UsageError: A table is wrong, or the task does not exist in d dimensions.
    """
    what = f"task {name!r}"
    parts: dict[str, Any] = {"inputs": inputs, "target": target, "law": law, "data": data, "labels": labels}
    built = build_task(TaskEntry.model_construct(name=name, unlabeled=unlabeled, **parts), load_plugins(), what)
    if d is None and (d := built.dimension) is None:
        raise UsageError(f"{what}: d must be given.")
    return LoadedTask(built, d, seed, test_size)


class LoadedTask:
    """A task at one d, as ``load_task`` and ``task`` return it. Equal calls give equal points."""

    def __init__(self, task: Task, d: int, seed: int, test_size: int) -> None:
        self.d = _whole("d", d, 1)
        """Input dimension. Labels of the kind ``threshold`` add a column to x."""
        if reason := task.check(self.d):
            raise UsageError(f"{task.where}: d = {d}: {reason}.")
        self._task, self._seed, self._test_size = task, _whole("seed", seed, 0), _whole("test_size", test_size, 2)
        self._problems: dict[int, Problem] = {}

    def _problem(self, replicate: int) -> Problem:
        replicate = _whole("replicate", replicate, 0)
        if replicate not in self._problems:
            self._problems[replicate] = self._task.problem(self._seed, self.d, replicate, self._test_size)
        return self._problems[replicate]

    def sample(self, n: int, replicate: int = 0) -> tuple[Data, Data]:
        """The first n training points and the m test points of a replicate, as NumPy arrays x and y of your own.

        Args:
            n: Number of training points: x (n, d), y (n,). A smaller sample is the beginning of a larger one.
            replicate: Its number, from 0. Each has a teacher, training points and test points of its own.

        Returns:
            The training points, and the test points with the clean target as y (m,), or labels that are classes.

        Raises:
            UsageError: A data set has fewer points.
        """
        problem = self._problem(replicate)
        train, x = problem.train(_whole("n", n, 1)), np.array(problem.test_inputs(n))
        test = replace(train, sample=f"{train.sample}/test", n=len(x), x=x, y=np.array(problem.test_y))
        return replace(train, x=np.array(train.x), y=np.array(train.y)), test

    def context(self, n: int, replicate: int = 0) -> Context:
        """What a run tells a learner besides the n training points: ``learner.fit(train, task.context(n))``.

        It has the learner's seed and the moments of the inputs, and no oracle facts, budget or device but the CPU.
        """
        return self._problem(replicate).context(n)

    def error(self, predict: Callable[[Float], Array], replicate: int = 0, *, n: int | None = None) -> float:
        """The error that a row has: the NMSE against the clean target, or the error rate for labels that are classes.

        Args:
            predict: Maps the test inputs x (m, d), float64, to predictions (m,), or to scores (m, C) of classes.
            replicate: Number of the replicate.
            n: Number of training points, for data that are scaled by them; others ignore it.

        Raises:
            UsageError: The shape or type of the predictions is wrong, or n is missing.
            Diverged: Predictions are not finite.
        """
        problem = self._problem(replicate)
        if n is None and problem.spec(1).sample != problem.spec(2).sample:
            raise UsageError(f"{self._task.where}: n must be given, as the test inputs are scaled by the n points.")
        x = np.array(problem.test_inputs(n or 1))
        prediction = check_prediction(predict(x), len(x), self._task.classes)
        if isinstance(prediction, Failure):
            raise (Diverged if prediction.status == "diverged" else UsageError)(prediction.reason)
        metric = next(metric for metric in METRICS if self._task.kind in metric.labels)
        return metric.measure(prediction.astype(np.float64), problem.truth)

    def hidden(self, x: Float, replicate: int = 0) -> dict[str, Float]:
        """The target's hidden features by layer, ``{"S2": (m, k_2), ...}``, at x (m, d); empty where it has none.

        x are inputs of the target, without a column that the labelling adds. Raises ``UsageError`` for another shape.
        """
        x = np.asarray(x, float)
        if x.ndim != 2 or x.shape[1] != self.d:
            raise UsageError(f"hidden: x must have shape (m, {self.d}). Got {x.shape}.")
        problem = self._problem(replicate)
        return dict(problem.drawn.hidden(x)) if isinstance(problem, DrawnProblem) else {}

    def __repr__(self) -> str:
        return f"<task {self._task.name}, d = {self.d}, seed {self._seed}>"


def _whole(name: str, value: int, least: int) -> int:
    """An integer, which keys random streams and may be one of NumPy's."""
    if not isinstance(value, Integral) or value < least:
        raise UsageError(f"{name} must be an integer of at least {least}. Got {value!r}.")
    return int(value)
