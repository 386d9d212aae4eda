"""The Gaussian sketch of the inputs, and the linear predictor of its features.

Letters: d inputs, M features.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from bfc_bench.learner import BatchLearner, DataSpec, Job, Predictor
from bfc_bench.seeds import stream


class SketchedLearner(BatchLearner):
    """A learner of v . z for M features z = S x; S has independent entries N(0, 1 / M).

    This is the model of Lin et al. (2024), arXiv 2406.08466, and of Paquette et al. (2024), arXiv
    2405.15074. It has no offset: inputs and labels should have mean 0.
    """

    features: Annotated[int, Field(ge=1)] | None = None
    """M; by default a quarter of d, rounded up."""

    def batch_key(self, train: DataSpec) -> str:
        """All sizes and options on one sample."""
        return train.sample

    def size(self, d: int) -> int:
        """M in d dimensions."""
        return -(-d // 4) if self.features is None else self.features


@dataclass(frozen=True)
class LinearPredictor(Predictor):
    """w . x for w (d,)."""

    w: np.ndarray
    info: Mapping[str, Any] = field(default_factory=dict)

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Predictions (m,) at x (m, d)."""
        return np.asarray(x @ self.w)


def draw_sketch(rng: np.random.Generator, features: int, d: int) -> np.ndarray:
    """S (M, d). Equal streams give sketches whose first rows are equal up to their scale 1 / sqrt(M)."""
    return np.asarray(rng.standard_normal((features, d)) / np.sqrt(features))


def sketch_key(job: Job[SketchedLearner]) -> tuple[int, int]:
    """What jobs on one sample with the same sketch have in common."""
    return job.learner.size(job.train.d), job.ctx.seed


def sketched(jobs: Sequence[Job[SketchedLearner]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """S (M, d) of jobs with the same sketch, and the features (N, M) and labels (N,) of their longest training set."""
    longest = max((job.train for job in jobs), key=lambda train: train.n)
    features, seed = sketch_key(jobs[0])
    sketch = draw_sketch(stream(seed, "sketch"), features, longest.d)
    return sketch, longest.x @ sketch.T, longest.y
