"""``python -m benchmarks.feature_slopes``: feature errors of the best quadratic form against alpha_3, cut and uncut.

Layer 2 of Backward Feature Correction before layer 3 is trained, without a network: the quadratic form in x^2 - E x^2
with the least error on ``POINTS`` points of a target with three layers. 10 s on one core.
"""

from __future__ import annotations

import platform

import numpy as np

from benchmarks import machine
from bfc_bench.tasks.feature_errors import measure_features
from bfc_bench.tasks.inputs.uniform import Uniform
from bfc_bench.tasks.labels import Clean
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet
from bfc_bench.tasks.teacher_task import TeacherTask

ALPHAS = (0.01, 0.03, 0.1)
POINTS, TEST, D = 60_000, 10_000, 20
WIDTHS = (4, 2)
MEASURES = ("feature_errors", "uncut_errors")


def errors(alpha: float) -> list[float]:
    """``MEASURES`` of S_2 of the best quadratic form where alpha_3 = ``alpha``."""
    target = QuadraticDensenet(widths=WIDTHS, alphas=(1.0, alpha))
    problem = TeacherTask("teacher", Uniform(), target, Clean()).problem(0, D, 0, TEST)
    train, mean = problem.train(POINTS), problem.square_mean
    i, j = np.triu_indices(D)
    z = train.x**2 - mean
    points = np.column_stack([np.ones(POINTS), z[:, i] * z[:, j]])
    form = np.zeros((D, D))
    form[i, j] = np.linalg.solve(points.T @ points, points.T @ train.y)[1:]
    values, vectors = np.linalg.eigh((form + form.T) / 2)
    features = (problem.test_x**2 - mean) @ (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1]
    measured = measure_features({"S2": problem.teacher.hidden(problem.test_x)["S2"]}, {"S2": features})
    return [measured[name]["S2"] for name in MEASURES]


def slopes(found: list[list[float]]) -> list[float]:
    """The slope of each of ``MEASURES`` in alpha_3, from its values at ``ALPHAS``, both as logarithms."""
    return [float(slope) for slope in np.polyfit(np.log(ALPHAS), np.log(found), 1)[0]]


def main() -> None:
    """Print the table."""
    found = [errors(alpha) for alpha in ALPHAS]
    print(f"{machine.describe()['processor']}, NumPy {np.__version__}, Python {platform.python_version()}")
    print(f"| P_2 | {' | '.join(f'alpha_3 = {alpha:g}' for alpha in ALPHAS)} | slope |")
    print("|---|" + "---|" * (len(ALPHAS) + 1))
    for name, values, slope in zip(MEASURES, zip(*found, strict=True), slopes(found), strict=True):
        print(f"| `{name}` | {' | '.join(f'{value:.1e}' for value in values)} | {slope:.2f} |")


if __name__ == "__main__":
    main()
