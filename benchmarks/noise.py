"""``python -m benchmarks.noise``: ``quad-densenet`` with given, selected and ``auto`` ranks, by the noise of labels.

Targets of three layers at d = 20, noise in standard deviations of the target, three teachers; four minutes on one core.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from bfc_plugins.quadratic.predictor import QuadraticPredictor
from bfc_plugins.quadratic.quad_densenet import QuadDenseNet

from benchmarks import machine
from bfc_bench.learner import Context, Job
from bfc_bench.tasks.base import InputLaw
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Uniform
from bfc_bench.tasks.labels import Clean, Noise
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet
from bfc_bench.tasks.teacher_task import TeacherTask

TEACHERS, TEST, D = 3, 20_000, 20
TARGET = QuadraticDensenet(widths=(4, 2), alphas=(1.0, 0.3))
RANKS: tuple[dict[str, Any], ...] = ({}, {"ranks": "auto"}, {"ranks": "selected"})
CASES: tuple[tuple[InputLaw, int, tuple[float, ...]], ...] = (
    (Uniform(), 200, (0.0, 0.25)),
    (Uniform(), 400, (0.0, 0.01, 0.1, 0.25, 1.0)),
    (Uniform(), 1000, (0.0, 0.01, 0.1, 0.25, 1.0)),
    (Gaussian(), 1000, (0.0, 0.25)),
)
"""Inputs, n and noises."""


def fitted(inputs: InputLaw, n: int, noise: float, teacher: int) -> tuple[list[float], list[float], bool]:
    """NMSE and CPU seconds for each of ``RANKS``, and whether ``auto`` is bit for bit the network of given ranks."""
    labels = Noise(sd=noise) if noise else Clean()
    problem = TeacherTask("teacher", inputs, TARGET, labels).problem(0, D, teacher, TEST)
    errors, seconds, predictions = [], [], []
    for options in RANKS:
        job = Job(QuadDenseNet(**options), problem.train(n), Context(seed=teacher, square_mean=problem.square_mean))
        start = time.process_time()
        (found,) = QuadDenseNet.fit_batch([job])
        seconds.append(time.process_time() - start)
        assert isinstance(found, QuadraticPredictor)
        predictions.append(found.predict(problem.test_x))
        errors.append(float(np.mean((predictions[-1] - problem.test_y) ** 2) / np.var(problem.test_y)))
    return errors, seconds, bool(np.array_equal(predictions[0], predictions[1]))


def main() -> None:
    """Print the table, line by line."""
    facts = machine.describe()
    fitted(Uniform(), 1000, 0.25, 0)  # compiles
    print(f"NMSE, geometric mean of {TEACHERS} teachers (CPU s); {facts['processor']}, NumPy {np.__version__}")
    print("| inputs | n | noise | given | auto | selected | auto is given |\n|---|---|---|---|---|---|---|")
    for inputs, n, noises in CASES:
        for noise in noises:
            errors, seconds, same = zip(*(fitted(inputs, n, noise, i) for i in range(TEACHERS)), strict=True)
            means = zip(np.exp(np.mean(np.log(errors), axis=0)), np.mean(seconds, axis=0), strict=True)
            cells = " | ".join(f"{error:.1e} ({cpu:.2f})" for error, cpu in means)
            print(f"| {inputs.kind} | {n} | {noise:g} | {cells} | {sum(same)} of {TEACHERS} |", flush=True)


if __name__ == "__main__":
    main()
