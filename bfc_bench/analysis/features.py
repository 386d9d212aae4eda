"""How far learned hidden features are from the target's: the measures of backward feature correction.

Shapes: m points, k width of the target's layer, k' width of the learned one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike


def procrustes_error(reference: ArrayLike, features: ArrayLike) -> float:
    """P = min_U E||S* - U S||^2 / E||S*||^2 over orthogonal U, S* = ``reference`` (m, k), S = ``features`` (m, k').

    The first k columns of ``features`` are used, with zeros in place of missing ones. Theorem 2 of Backward Feature
    Correction bounds this distance for each layer. P equals
    (E||S*||^2 + E||S||^2 - 2 ||E[S* S^T]||_nuclear) / E||S*||^2, but that difference of equal terms has an absolute
    error of 1e-15. Here the minimising U = A B^T, from the singular value decomposition E[S* S^T] = A D B^T in float64,
    is put into the residual itself, which keeps its digits.

    nan where a feature is not finite. Raises ``ValueError`` for arrays that are not (m, k) with equal m, and for a
    reference that is zero.
    """
    target, learned = _pair(reference, features)
    k = target.shape[1]
    learned = learned[:, :k]
    learned = np.pad(learned, ((0, 0), (0, k - learned.shape[1])))
    if not np.isfinite(learned).all():
        return math.nan
    a, _, bt = np.linalg.svd(target.T @ learned)
    return float(np.sum((target - learned @ (a @ bt).T) ** 2) / np.sum(target**2))


def span_error(reference: ArrayLike, features: ArrayLike) -> float:
    """min_A E||S* - A S||^2 / E||S*||^2 over all matrices A: what a linear read-out of all k' features misses of S*.

    At most ``procrustes_error``, and blind to most of it: a wrong scale or mixing of features costs nothing here.
    nan and ``ValueError`` as there.
    """
    target, learned = _pair(reference, features)
    if not np.isfinite(learned).all():
        return math.nan
    weights, *_ = np.linalg.lstsq(learned, target, rcond=None)
    return float(np.sum((target - learned @ weights) ** 2) / np.sum(target**2))


def cka(reference: ArrayLike, features: ArrayLike) -> float:
    """Linear centred kernel alignment in [0, 1] of all features (Kornblith et al. 2019, section 3); 1 is agreement.

    ||Y^T X||_F^2 / (||X^T X||_F ||Y^T Y||_F) of the centred columns; nan where either is constant or not finite.
    Raises ``ValueError`` as ``procrustes_error``.
    """
    x, y = (columns - columns.mean(axis=0) for columns in _pair(reference, features))
    scale = np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y)
    return float(np.linalg.norm(y.T @ x) ** 2 / scale) if scale > 0 else math.nan


def feature_errors(reference: Mapping[str, ArrayLike], learned: Mapping[str, ArrayLike]) -> dict[str, float]:
    """``procrustes_error`` of each layer that both have, in the order of ``reference``, e.g. ``{"S2": 1e-6}``."""
    return {layer: procrustes_error(reference[layer], learned[layer]) for layer in reference if layer in learned}


def _pair(reference: ArrayLike, features: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    target, learned = np.asarray(reference, dtype=np.float64), np.asarray(features, dtype=np.float64)
    if target.ndim != 2 or learned.ndim != 2 or len(target) != len(learned):
        raise ValueError(
            f"features must be (m, k) and (m, k') at the same m points. Got {target.shape}, {learned.shape}."
        )
    if not target.any():
        raise ValueError("the reference features are all zero: no relative error exists.")
    return target, learned
