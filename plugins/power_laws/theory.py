"""The expected error of SGD and ridge regression on a sketch, for Gaussian inputs and a power-law spectrum.

Letters: d inputs, M features z = S x, H = diag(i^-a), G = S H S^T with eigenvalues g_k, K sketches. v* minimises the
risk of v . z. As x is Gaussian, the rest y - v* . z is Gaussian and independent of z: label noise for the learner, with
the approximation error as its variance. All errors are over the target's variance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from bfc_plugins.power_laws.sketch import draw_sketch

from bfc_bench.learner import TaskFacts, Theory
from bfc_bench.seeds import stream

SOURCE = "arXiv 2406.08466 and 2405.15074: second moments for Gaussian inputs; mean over 4 sketches"
SKETCHES = 4
"""K: the mean over the sketch is that over as many draws, which are not those of any fit."""


@dataclass(frozen=True, eq=False)
class SketchedProblem:
    """What determines the expected errors."""

    g: np.ndarray
    """Eigenvalues of G, (K, M)."""
    signal: np.ndarray
    """E (u_k . v*)^2 for the eigenvectors u_k of G, (K, M)."""
    approximation: np.ndarray
    """Risk of v*, (K, 1)."""
    outside: np.ndarray
    """Variance of y given z, (K, 1): the risk of v* and that of the label noise."""

    def after_sgd(self, rate: float, lengths: Sequence[int]) -> float:
        """Expected NMSE after one pass from v = 0 whose l-th stage has ``lengths[l]`` points.

        With c_k = E (u_k . (v - v*))^2, E z_k^2 z_l^2 = g_k g_l (1 + 2 [k = l]) gives the exact recursion
        c_k <- c_k (1 - 2 gamma g_k + 2 gamma^2 g_k^2) + gamma^2 g_k (sum_l g_l c_l + outside). In a stage it is a power
        of one symmetric matrix. ``rate`` is gamma tr G in stage 0, halved from stage to stage.
        """
        c = self.signal[..., None]
        with np.errstate(over="ignore", invalid="ignore"):
            for stage, length in enumerate(lengths):
                values, vectors, inflow = _stage(self, rate * 0.5**stage)
                contraction = values**length
                added = np.where(values == 1, length, (1 - contraction) / np.where(values == 1, 1, 1 - values))
                c = vectors @ (contraction * (vectors.mT @ c) + added * (vectors.mT @ inflow))
            return float((self.approximation[:, 0] + np.sum(self.g * c[..., 0], axis=1)).mean())

    def after_ridge(self, n: float, ridges: Sequence[float]) -> float:
        """NMSE of ridge regression on n points at the best ridge, by its deterministic equivalent.

        kappa solves kappa = r + kappa / n sum_k g_k / (g_k + kappa) for the ridge n r. With D = sum_k g_k^2 / (g_k +
        kappa)^2, the excess risk is (sum_k kappa^2 g_k c_k / (g_k + kappa)^2 + outside D / n) / (1 - D / n), for
        c_k = E (u_k . v*)^2 (Hastie et al. 2022, arXiv 1903.08560; Cui et al. 2021, arXiv 2105.15004). Ridges are in
        units of n tr G.
        """
        g, signal = self.g[:, None, :], self.signal[:, None, :]
        r = np.array(ridges) * self.g.sum(axis=1, keepdims=True)  # (K, ridges)
        low, high = r, r + self.g.sum(axis=1, keepdims=True) / n
        for _ in range(60):  # kappa - r - kappa / n sum g / (g + kappa) rises where it is positive
            kappa = np.sqrt(low * high)
            above = kappa - kappa / n * np.sum(g / (g + kappa[..., None]), axis=2) > r
            low, high = np.where(above, low, kappa), np.where(above, kappa, high)
        kappa = np.sqrt(low * high)[..., None]
        share = np.sum((g / (g + kappa)) ** 2, axis=2) / n
        bias = np.sum(kappa**2 * g * signal / (g + kappa) ** 2, axis=2)
        excess = (bias + self.outside * share) / (1 - share)
        return float((self.approximation[:, 0] + excess.min(axis=1)).mean())


def theory_of(task: TaskFacts, features: int, error: Callable[[SketchedProblem, float], float]) -> Theory | None:
    """The curve of ``error`` in n; None unless inputs are ``gaussian-power-law``, the target ``linear``."""
    if (task.inputs, task.target) != ("gaussian-power-law", "linear") or task.noise_variance is None:
        return None
    problem = sketched_problem(task.input_options["a"], task.options["decay"], task.d, features, task.noise_variance)
    return Theory(lambda n: error(problem, n), SOURCE)


@lru_cache(maxsize=32)
def _stage(problem: SketchedProblem, rate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues (K, M, 1) and eigenvectors (K, M, M) of a step of the recursion at gamma tr G = rate, and its inflow.

    The inflow is gamma^2 g_k outside, (K, M, 1).
    """
    g = problem.g
    gamma = rate / g.sum(axis=1, keepdims=True)
    step = gamma[..., None] ** 2 * g[:, :, None] * g[:, None, :]
    diagonal = np.arange(g.shape[1])
    step[:, diagonal, diagonal] += 1 - 2 * gamma * g * (1 - gamma * g)
    values, vectors = np.linalg.eigh(step)
    return values[..., None], vectors, (gamma**2 * g * problem.outside)[..., None]


@lru_cache(maxsize=64)
def sketched_problem(a: float, decay: float, d: int, features: int, noise: float) -> SketchedProblem:
    """The problem of a spectrum i^-a and of coefficients i^-decay in size, with noise of this share of the variance."""
    i = np.arange(1.0, d + 1)
    h, square = i**-a, i ** (-2 * decay)  # E w_i^2
    variance = float(h @ square)
    draws = []
    for k in range(SKETCHES):
        s = draw_sketch(stream("sketched theory", k), features, d)
        g, u = np.linalg.eigh((s * h) @ s.T)
        positive = g > g[-1] * features * np.finfo(float).eps  # at most d of them for M > d
        g = np.where(positive, g, 0.0)
        signal = np.where(positive, ((u.T @ s * h) ** 2) @ square / np.where(positive, g, 1.0) ** 2, 0.0) / variance
        draws.append((g, signal, max(1 - float(g @ signal), 0.0)))
    gs, signals, rest = zip(*draws, strict=True)
    approximation = np.array(rest)[:, None]
    return SketchedProblem(np.array(gs), np.array(signals), approximation, approximation + noise)
