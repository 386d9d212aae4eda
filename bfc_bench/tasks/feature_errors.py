"""How far learned hidden features are from the target's: the measures of backward feature correction.

Shapes: m points, k width of the target's layer, k' width of the learned one.
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

COLLINEAR = 1e-8
"""Smallest eigenvalue of the features' correlation matrix for which the read-out is computed from inner products alone:
it is then exact to 1e-16 / 1e-8, and the error to the square of that."""


def measure(reference: ArrayLike, features: ArrayLike) -> dict[str, float]:
    """How far learned features S = ``features`` (m, k') are from those of the target, S* = ``reference`` (m, k).

    ``feature_errors``: P = min_U E||S* - U S||^2 / E||S*||^2 over orthogonal U. The first k columns of S are used,
    which learners give in order of importance; missing ones count as zeros. This cut does what the paper's matrices K_l
    are for, to reduce an over-parameterised layer to the target's k features (INITIAL-DISTILL, section 6.2). Theorem 2
    of Backward Feature Correction bounds the distance of the cut features. P equals (E||S*||^2 + E||S||^2 -
    2 ||E[S* S^T]||_nuclear) / E||S*||^2, but that difference of equal terms has an absolute error of 1e-15. Instead the
    minimising U = A B^T, from the singular value decomposition E[S* S^T] = A D B^T in float64, is put into the residual
    itself, which keeps its digits.

    ``uncut_errors``: the same of all k' columns, where S* has zeros beyond k. If W_l^T W_l is wrong by eps' in
    directions that the target does not use, columns beyond k have the norm sqrt(eps') (Backward Feature Correction,
    section 6.2): this error is of the order of eps', and P of the order of eps'^2. The two are equal for k' <= k.

    ``span_errors``: min_A E||S* - A S||^2 / E||S*||^2 over all matrices A, what a linear read-out of all k' features
    misses. It is at most P, since a wrong scale or mixing of features costs nothing here.

    ``cka``: linear centred kernel alignment in [0, 1] of all features (Kornblith et al. 2019, section 3),
    ||Y^T X||_F^2 / (||X^T X||_F ||Y^T Y||_F) of the centred columns; 1 is agreement, and nan where either is constant.

    All are nan if a feature is not finite. Raises ``ValueError`` for arrays that are not (m, k) with equal m, and for a
    reference that is zero.
    """
    target, learned = _pair(reference, features)
    if not np.isfinite(learned).all():
        return dict.fromkeys(MEASURES, math.nan)
    m, k = target.shape
    means = target.mean(axis=0), learned.mean(axis=0)
    x, y = target - means[0], learned - means[1]
    xx, yx, yy = x.T @ x, y.T @ x, y.T @ y
    cross, gram = yx + m * np.outer(means[1], means[0]), yy + m * np.outer(means[1], means[1])
    weights = _read_out(gram, cross, m)
    if weights is None:
        weights = np.linalg.lstsq(learned, target, rcond=None)[0]
    scale = np.linalg.norm(xx) * np.linalg.norm(yy)
    return {
        "feature_errors": _residual(target, learned[:, :k], _rotation(cross[:k])),
        "uncut_errors": _uncut(target, learned, cross),
        "span_errors": _residual(target, learned, weights),
        "cka": float(np.linalg.norm(yx.T) ** 2 / scale) if scale > 0 else math.nan,
    }


MEASURES = ("feature_errors", "uncut_errors", "span_errors", "cka")
"""The measures, one number per layer, by the name under which a row or a stage stores them."""


def measure_features(
    reference: Mapping[str, ArrayLike], learned: Mapping[str, ArrayLike]
) -> dict[str, dict[str, float]]:
    """Each of ``MEASURES`` for each layer that both have, in the order of ``reference``."""
    errors = {layer: measure(reference[layer], learned[layer]) for layer in reference if layer in learned}
    return {name: {layer: measured[name] for layer, measured in errors.items()} for name in MEASURES}


def _rotation(cross: np.ndarray) -> np.ndarray:
    """First k' rows, (k', k), of the orthogonal U^T that brings S U^T closest to S*, from S^T S*; k' <= k."""
    padded = np.pad(cross, ((0, cross.shape[1] - len(cross)), (0, 0)))
    b, _, at = np.linalg.svd(padded)
    return np.asarray((b @ at)[: len(cross)])


def _uncut(target: np.ndarray, learned: np.ndarray, cross: np.ndarray) -> float:
    """``uncut_errors``, from S^T S* (k', k): what is missing of S*, and what S has beside it."""
    left, _, right = np.linalg.svd(cross, full_matrices=False)
    weights = left @ right
    outside = learned - learned @ weights @ weights.T
    return _residual(target, learned, weights) + float(np.sum(outside**2) / np.sum(target**2))


def _read_out(gram: np.ndarray, cross: np.ndarray, m: int) -> np.ndarray | None:
    """A^T of ``span_errors``, (k', k), from S^T S and S^T S*, sums over m points; None where columns are collinear.

    Columns that are zero up to rounding get weight 0, as in least squares.
    """
    sizes = np.sqrt(np.diag(gram))
    used = sizes > np.finfo(float).eps * m * sizes.max(initial=0.0)
    sizes = sizes[used]
    values, vectors = np.linalg.eigh(gram[np.ix_(used, used)] / np.outer(sizes, sizes))
    if values.min(initial=1.0) < COLLINEAR:
        return None
    weights = np.zeros_like(cross)
    weights[used] = vectors / values @ vectors.T @ (cross[used] / sizes[:, None]) / sizes[:, None]
    return weights


def _residual(target: np.ndarray, learned: np.ndarray, weights: np.ndarray) -> float:
    """E||S* - A S||^2 / E||S*||^2 with ``weights`` = A^T, (k', k)."""
    return float(np.sum((target - learned @ weights) ** 2) / np.sum(target**2))


def _pair(reference: ArrayLike, features: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    target, learned = np.asarray(reference, dtype=np.float64), np.asarray(features, dtype=np.float64)
    if target.ndim != 2 or learned.ndim != 2 or len(target) != len(learned):
        raise ValueError(
            f"features must be (m, k) and (m, k') at the same m points. Got {target.shape}, {learned.shape}."
        )
    if not target.any():
        raise ValueError("the reference features are all zero: no relative error exists.")
    return target, learned
