"""Fits to quadratic teachers: a problem, a job on it, its fit and its error on fresh points."""

from __future__ import annotations

from typing import Any

import numpy as np

from bfc_bench.learner import Context, Job, Learner, Predictor
from bfc_bench.tasks.base import Inputs, Labels
from bfc_bench.tasks.inputs.uniform import Uniform
from bfc_bench.tasks.labels import Clean
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet
from bfc_bench.tasks.teacher_task import TeacherProblem, TeacherTask


def problem(
    d: int = 6, replicate: int = 0, inputs: type[Inputs] = Uniform, labels: Labels | None = None, **target: Any
) -> TeacherProblem:
    """A teacher of widths (3, 2), or another."""
    chosen = QuadraticDensenet(**{"widths": (3, 2), "alphas": (1.0, 0.3), **target})
    return TeacherTask("teacher", inputs(), chosen, labels=labels or Clean()).problem(0, d, replicate, 4096)


def job(learner: Learner, p: TeacherProblem, n: int) -> Job:
    """A job with the facts that the learner asks for."""
    ctx = Context(seed=p.replicate, square_mean=p.square_mean, oracle=p.facts(learner.oracle()))
    return Job(learner, p.train(n), ctx)


def fit(learner: Learner, p: TeacherProblem, n: int) -> Any:
    """The predictor of one job."""
    one = job(learner, p, n)
    return learner.fit(one.train, one.ctx)


def nmse(predictor: Predictor, p: TeacherProblem) -> float:
    """The error on the test points over their variance."""
    return float(np.mean((predictor.predict(p.test_x) - p.test_y) ** 2) / np.var(p.test_y))
