"""``python -m benchmarks.finish``: the error of ``quad-densenet`` before and after ``finish = "gauss-newton"``.

Targets of the map in docs/recipes.md, clean labels, three teachers each; a minute on one core.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from bfc_plugins.quadratic import gauss_newton
from bfc_plugins.quadratic.predictor import QuadraticPredictor
from bfc_plugins.quadratic.quad_densenet import QuadDenseNet

from benchmarks import machine
from bfc_bench.learner import Context, Job
from bfc_bench.tasks.base import InputLaw
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Uniform
from bfc_bench.tasks.labels import Clean
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet
from bfc_bench.tasks.teacher_task import TeacherTask

TEACHERS, TEST = 3, 20_000
L3 = QuadraticDensenet(widths=(4, 2), alphas=(1.0, 0.3))
TARGETS = {
    "L2": (QuadraticDensenet(widths=(4,), alphas=(1.0,)), (20,)),
    "L3": (L3, (20, 12)),
    "L3, condition 5": (L3.model_copy(update={"condition": 5.0}), (20, 12)),
    "L3, condition 25": (L3.model_copy(update={"condition": 25.0}), (20, 12)),
    "L4": (QuadraticDensenet(widths=(4, 2, 2), alphas=(1.0, 0.5, 0.25)), (20, 12, 12)),
    "L5": (QuadraticDensenet(widths=(4, 2, 2, 2), alphas=(1.0, 0.5, 0.25, 0.125)), (20, 12, 12, 12)),
}
"""Target and widths of the learner, by name."""
CASES: tuple[tuple[str, InputLaw, int, int], ...] = (
    ("L2", Uniform(), 20, 1000),
    ("L3", Uniform(), 20, 400),
    ("L3", Uniform(), 20, 1000),
    ("L3", Gaussian(), 20, 1000),
    ("L3", Uniform(), 40, 2000),
    ("L3, condition 5", Uniform(), 20, 4000),
    ("L3, condition 25", Uniform(), 20, 4000),
    ("L4", Uniform(), 20, 2000),
    ("L5", Uniform(), 20, 4000),
)
"""Target, inputs, d and n."""


def errors(case: tuple[str, InputLaw, int, int]) -> Iterator[tuple[float, float, float]]:
    """NMSE before and after the finish, and its CPU seconds, for each teacher."""
    name, inputs, d, n = case
    target, widths = TARGETS[name]
    for teacher in range(TEACHERS):
        problem = TeacherTask("teacher", inputs, target, Clean()).problem(0, d, teacher, TEST)
        learner = QuadDenseNet(widths=widths)
        job = Job(learner, problem.train(n), Context(seed=teacher, square_mean=problem.square_mean))
        (trained,) = QuadDenseNet.fit_batch([job])
        assert isinstance(trained, QuadraticPredictor)
        start = time.process_time()
        after = gauss_newton.finished(learner.setup(job.train, job.ctx), trained, learner.weights)
        seconds = time.process_time() - start
        before, ended = (
            float(np.mean((f.predict(problem.test_x) - problem.test_y) ** 2) / np.var(problem.test_y))
            for f in (trained, after)
        )
        yield before, ended, seconds


def main() -> None:
    """Print the table, line by line."""
    facts = machine.describe()
    print(f"NMSE, geometric mean / worst of {TEACHERS} teachers; {facts['processor']}, NumPy {np.__version__}")
    print("| target | inputs | d | n | trained | finished | CPU s of the finish |\n|---|---|---|---|---|---|---|")
    for case in CASES:
        before, after, seconds = np.array(list(errors(case))).T
        cells = [f"{np.exp(np.mean(np.log(values))):.0e} / {values.max():.0e}" for values in (before, after)]
        name, inputs, d, n = case
        print(f"| {name} | {inputs.kind} | {d} | {n} | {' | '.join(cells)} | {seconds.mean():.2f} |", flush=True)


if __name__ == "__main__":
    main()
