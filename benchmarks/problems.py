"""Teachers and training samples for benchmarks, as the framework passes them to learners."""

from __future__ import annotations

from collections.abc import Sequence

from bfc_bench.learner import Context, Data
from bfc_bench.plugins.manager import Plugins
from bfc_bench.run.build_task import build_task
from bfc_bench.seeds import seed_of
from bfc_bench.suite.model import TaskEntry
from bfc_bench.tasks.teacher_task import TeacherProblem, TeacherTask


def teacher_problems(plugins: Plugins, d: int, count: int, test_size: int = 1000) -> list[TeacherProblem]:
    """Three-layer teachers (L = 3), each with its own sample."""
    target = {"kind": "quadratic-densenet", "widths": [4, 2], "alphas": [1.0, 0.3]}
    entry = TaskEntry(name="benchmarks", inputs={"kind": "uniform"}, target=target, d=[d], n=[1])
    task = build_task(entry, plugins, "benchmarks")
    assert isinstance(task, TeacherTask)
    return [task.problem(0, d, replicate, test_size) for replicate in range(count)]


def samples(problem: TeacherProblem, sizes: Sequence[int]) -> list[tuple[Data, Context]]:
    """The nested training sets of a problem, each with the context of a fit."""
    ctx = Context(seed=seed_of("benchmarks", problem.replicate), square_mean=problem.square_mean)
    return [(problem.train(n), ctx) for n in sizes]
