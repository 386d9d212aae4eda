"""Random streams and values of a target on which the kit tries learners, labels and metrics."""

import numpy as np

from bfc_bench.learner import LabelKind
from bfc_bench.seeds import stream
from bfc_bench.tasks.base import InputLaw
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet

CLASSES = 3
ALPHAS = (1.0, 0.3)
TARGET = QuadraticDensenet(widths=[3, 1], alphas=list(ALPHAS))


def rng(*purpose: object) -> np.random.Generator:
    """A random stream of the kit."""
    return stream("check", *purpose)


def example_values(law: InputLaw, x: np.ndarray, kind: LabelKind, teacher: int = 0) -> np.ndarray:
    """A quadratic network at x (m, d): with unit variance, its sign, or the third in which each value lies, (m,)."""
    values: np.ndarray = TARGET.draw(rng("teacher", teacher), law)(x)
    values = (values - values.mean()) / values.std()
    if kind == "binary":
        return np.where(values >= 0, 1.0, -1.0)
    if kind == "class":
        return np.searchsorted(np.quantile(values, np.arange(1, CLASSES) / CLASSES), values).astype(np.float64)
    return values
