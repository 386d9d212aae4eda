"""Learning curves of kernel ridge regression against a loop over scikit-learn's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from sklearn.kernel_ridge import KernelRidge

from benchmarks.measurement import Measurement, interleave
from bfc_bench.learner import Context, Data, Job
from bfc_bench.plugins.manager import Plugins, load_plugins
from bfc_bench.run.build_task import build_task
from bfc_bench.seeds import seed_of
from bfc_bench.suite.model import TaskEntry
from bfc_bench.tasks.teacher_task import TeacherProblem, TeacherTask
from bfc_bench.toolkit.kernels.by_name import make_kernel
from bfc_bench.toolkit.ridge import RidgeCurve

RIDGES = [10.0**k for k in range(-6, 4)]
DIMENSION = 20
GAMMA = 1 / DIMENSION
LOOP = "scikit-learn KernelRidge in a loop"
Fits = Callable[[], np.ndarray]
"""Makes all fits and predictions and returns the predictions of the last size, ridge and teacher."""


def measure(quick: bool) -> Iterator[Measurement]:
    """20 sizes, 10 ridges, 8 teachers, rbf, float64, with predictions at 1000 points.

    Teachers either have their own samples, as in a suite, or share one, so that scikit-learn fits them together.
    """
    largest, teachers = (200, 2) if quick else (500, 8)
    sizes = [int(n) for n in np.linspace(largest / 20, largest, 20)]
    plugins = load_plugins()
    problems = _teachers(plugins, teachers)
    for what, (ours, theirs), goal in (
        ("a sample per teacher", _own_samples(plugins, problems, sizes), 10),
        ("one sample", _one_sample(problems, sizes), None),
    ):
        pairs = interleave(ours, theirs, 1 if quick else 3, warm=False)
        np.testing.assert_allclose(*pairs.results, rtol=1e-6, atol=1e-7)
        grid = f"{len(sizes)} sizes to {largest} x {len(RIDGES)} ridges x {teachers} teachers"
        yield pairs.measurement(f"{grid}, {what}", LOOP, "s", goal=goal)


def _teachers(plugins: Plugins, count: int) -> list[TeacherProblem]:
    """Three-layer teachers (L = 3), each with its own sample."""
    target = {"kind": "quadratic-densenet", "widths": [4, 2], "alphas": [1.0, 0.3]}
    entry = TaskEntry(name="benchmarks", inputs={"kind": "uniform"}, target=target, d=[DIMENSION], n=[1])
    task = build_task(entry, plugins, "benchmarks")
    assert isinstance(task, TeacherTask)
    return [task.problem(0, DIMENSION, replicate, 1000) for replicate in range(count)]


def _samples(problem: TeacherProblem, sizes: Sequence[int]) -> list[tuple[Data, Context]]:
    """The nested training sets of a problem, each with the context of a fit."""
    ctx = Context(seed=seed_of("benchmarks", problem.replicate), square_mean=problem.square_mean)
    return [(problem.train(n), ctx) for n in sizes]


def _own_samples(plugins: Plugins, problems: Sequence[TeacherProblem], sizes: Sequence[int]) -> tuple[Fits, Fits]:
    """The learner ``kernel-ridge``, all jobs of a teacher in a batch, and a fit per size, ridge and teacher."""
    cls = plugins.learner("kernel-ridge")
    fixed = {"with_squares": False, "center": False}
    learners = [cls.parse({"ridge": ridge, **fixed}, "kernel_curve") for ridge in RIDGES]
    curves = [[Job(learner, *sample) for sample in _samples(p, sizes) for learner in learners] for p in problems]

    def ours() -> np.ndarray:
        for problem, jobs in zip(problems, curves, strict=True):
            fitted = cls.fit_batch([_on_torch(job) for job in jobs])
            x = torch.tensor(problem.test_x)
            predictions = cls.predict_batch(fitted, [x] * len(jobs))
        return predictions[-1].numpy()

    def theirs() -> np.ndarray:
        for problem, jobs in zip(problems, curves, strict=True):
            for job in jobs:
                model = KernelRidge(kernel="rbf", gamma=GAMMA, alpha=job.learner.ridge).fit(job.train.x, job.train.y)
                predictions = model.predict(problem.test_x)
        return predictions

    return ours, theirs


def _one_sample(problems: Sequence[TeacherProblem], sizes: Sequence[int]) -> tuple[Fits, Fits]:
    """The toolkit's solver for all teachers, and a fit of all teachers per size and ridge."""
    data, test_x = problems[0].train(sizes[-1]), problems[0].test_x
    labels = np.stack([problem.drawn(data.x) for problem in problems], axis=1)

    def ours() -> np.ndarray:
        kernel = make_kernel("rbf", GAMMA)
        points, x = kernel.points(torch.tensor(data.x)), kernel.points(torch.tensor(test_x))
        curve = RidgeCurve(kernel.gram(points, mirror=False))
        y = torch.tensor(labels)
        weights = torch.stack([curve.solve(y, sizes, ridge, center=False).weights for ridge in RIDGES], dim=1)
        return kernel.matmul(x, points, weights.flatten(1)).numpy()[:, -1]

    def theirs() -> np.ndarray:
        for n in sizes:
            for ridge in RIDGES:
                model = KernelRidge(kernel="rbf", gamma=GAMMA, alpha=ridge).fit(data.x[:n], labels[:n])
                predictions = model.predict(test_x)
        return predictions[:, -1]

    return ours, theirs


def _on_torch(job: Job) -> Job:
    x, y = torch.tensor(job.train.x), torch.tensor(job.train.y)
    return replace(job, train=replace(job.train, x=x, y=y))
