"""Two rules of Algorithm 1 exactly as the paper prints them, for ``schedule`` and ``ranks``."""

import numpy as np
from bfc_plugins.algorithm_1.schedule import LayerSchedule

GAP = 3.0


class PrintedSchedule(LayerSchedule):
    """The thresholds of (4.1) as printed, for the gap constant C = ``GAP``.

    W_l joins when Obj <= alpha_{l-1}^2 / d^{1 / (3 C^{l-1})}, K_l when Obj <= alpha_l^2 / d^{1 / (6 C^l)}.

    These use alpha of the layer below and of the layer itself, ``ThresholdSchedule`` uses the layer itself and the one
    above. The two agree for large d; for d of practical size K_2 joins before W_2 has learned anything.
    """

    def __init__(self, depth: int, alphas: tuple[float, ...], d: int) -> None:
        """``alphas`` are alpha_2..alpha_L."""
        super().__init__(depth)
        relative = [alpha / alphas[0] for alpha in alphas]
        self._levels: dict[str, float]
        self._levels = {f"K{layer}": a**2 * d ** (-1 / (6 * GAP**layer)) for layer, a in enumerate(relative, start=2)}
        below = enumerate(relative[:-1], start=3)
        self._levels |= {f"W{layer}": a**2 * d ** (-1 / (3 * GAP ** (layer - 1))) for layer, a in below}

    def ready(self, part: str, objective: float) -> bool:
        """Whether the threshold is met."""
        return objective <= self._levels[part]


def printed_distill(w: np.ndarray, last: np.ndarray, threshold: float, max_rank: int) -> np.ndarray:
    """K (k, q) exactly as in lines 21-23: K_◁ = Sigma^{1/2} U^T, K_{l-1} = Sigma^{1/2} V^T.

    A layer without ◁, which the paper does not cover, uses W^T W in the place of W_◁^T W_{l-1}. The threshold of
    the singular values is 1 / (10 kappa^2) in the paper.
    """
    u, s, vt = np.linalg.svd(w[:, last if last.all() else ~last].T @ w[:, last])
    k = min(max(int(np.sum(s >= threshold)), 1), max_rank)
    kernel = np.zeros((k, w.shape[1]))
    kernel[:, last] = np.sqrt(s[:k, None]) * vt[:k]
    if not last.all():
        kernel[:, ~last] = np.sqrt(s[:k, None]) * u[:, :k].T
    return kernel
