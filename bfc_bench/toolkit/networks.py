"""What learners share that train a network with ``toolkit.ensemble``; importing it imports no JAX."""

import numpy as np

from bfc_bench.learner import Capabilities, Failure, Learner

ENSEMBLE_CAPABILITIES = Capabilities(
    labels=frozenset({"real", "binary"}),
    devices=frozenset({"cpu", "cuda"}),
    precision="float32",
    libraries=frozenset({"jax"}),
)
"""Those of a learner that trains a network with one output."""
PROGRAM_BYTES = 150e6
"""Memory of JAX's compiler and runtime, in bytes; every fit takes at least this."""
STEP_SECONDS = 15e-6
"""Least time of a compiled step, in seconds."""


def label_scale(y: np.ndarray) -> float:
    """The 90th percentile of |y - median(y)| of real labels (n,), by which they are divided; 1 if that is 0."""
    return float(np.quantile(np.abs(y - np.median(y)), 0.9)) or 1.0


def diverged(learner: Learner, lr: float, loss: float) -> Failure:
    """The failure of a training at peak rate ``lr`` whose gradients or ``loss`` were not finite."""
    why = f"a gradient or the loss was not finite in training (final loss {loss:.3g}, lr {lr:.3g})"
    return Failure("diverged", f"{learner.name}: {why}. Use a smaller lr or clip.")


def probabilities(scores: np.ndarray) -> np.ndarray:
    """Logistic function of margins (m,), or softmax of scores (m, C)."""
    if scores.ndim == 1:
        return np.asarray(probabilities(np.stack([np.zeros(len(scores)), scores], axis=1))[:, 1])
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
