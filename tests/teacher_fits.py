"""Fits to quadratic teachers: a problem, a job on it, its fit and its error on fresh points."""

import numpy as np

from bfc_bench.learner import Context, Job
from bfc_bench.tasks.inputs.uniform import Uniform
from bfc_bench.tasks.labels import Clean
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet
from bfc_bench.tasks.teacher_task import TeacherTask


def problem(d=6, replicate=0, inputs=Uniform, labels=None, **target):
    """A teacher of widths (3, 2), or another."""
    chosen = QuadraticDensenet(**{"widths": (3, 2), "alphas": (1.0, 0.3), **target})
    return TeacherTask("teacher", inputs(), chosen, labels=labels or Clean()).problem(0, d, replicate, 4096)


def job(learner, p, n):
    """A job with the facts that the learner asks for."""
    ctx = Context(seed=p.replicate, square_mean=p.square_mean, oracle=p.facts(learner.oracle()))
    return Job(learner, p.train(n), ctx)


def fit(learner, p, n):
    """The predictor of one job."""
    one = job(learner, p, n)
    return learner.fit(one.train, one.ctx)


def nmse(predictor, p):
    """The error on the test points over their variance."""
    return float(np.mean((predictor.predict(p.test_x) - p.test_y) ** 2) / np.var(p.test_y))
