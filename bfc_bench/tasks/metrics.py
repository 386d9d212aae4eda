"""How wrong predictions are. Every array argument has shape (m,)."""

from __future__ import annotations

import numpy as np

from bfc_bench.tasks.base import Float


def nmse(prediction: Float, target: Float) -> float:
    """E(F - G*)^2 / Var G* over the m points: 1 for the constant mean, not finite where a prediction is not.

    Raises ``ValueError`` when the shapes differ or the target is constant, where no relative error exists.
    """
    prediction, target = _same_shape("nmse", prediction, target)
    if np.ptp(target) == 0:
        raise ValueError(f"nmse: the target is constant on all {len(target)} points, so that no relative error exists.")
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.mean((prediction - target) ** 2) / np.var(target))


def trimmed_nmse(prediction: Float, target: Float, share: float = 0.01) -> float:
    """NMSE on the points that remain when the ``share`` of them farthest from the target's median is left out.

    floor(share m) points are left out, chosen by the target alone, so they are the same for every learner. Variance and
    error are both those of the remaining points. Raises ``ValueError`` as ``nmse`` does.
    """
    prediction, target = _same_shape("trimmed_nmse", prediction, target)
    distance = np.abs(target - np.median(target))
    kept = np.argsort(distance, kind="stable")[: len(target) - int(share * len(target))]
    return nmse(prediction[kept], target[kept])


def error_rate(prediction: Float, labels: Float) -> float:
    """Share of points where the prediction's sign is not the label; zero and NaN have no sign and count as wrong.

    Raises ``ValueError`` when the shapes differ or a label is neither -1 nor +1.
    """
    prediction, labels = _same_shape("error_rate", prediction, labels)
    if not np.all(np.abs(labels) == 1):
        raise ValueError(f"error_rate: labels must be -1 or +1. Got {np.unique(labels)[:5].tolist()}.")
    return float(np.mean(np.sign(prediction) != labels))


def _same_shape(who: str, prediction: Float, target: Float) -> tuple[Float, Float]:
    prediction, target = np.asarray(prediction, float), np.asarray(target, float)
    if prediction.shape != target.shape or target.ndim != 1 or not len(target):
        raise ValueError(f"{who}: expected two arrays (m,), m > 0. Got shapes {prediction.shape} and {target.shape}.")
    return prediction, target
