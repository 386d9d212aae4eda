"""The features of one training: K_l, which is distilled from W_l, gains rows and is cut, and R_l with it.

Shapes: as in ``net.py``, and n training points.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from bfc_plugins.algorithm_1.distill import initial_distill, leading_directions, missing_feature, second_moment, worths
from bfc_plugins.algorithm_1.labels import TrainingLabels, half_curvature
from bfc_plugins.algorithm_1.net import DistilledNet
from bfc_plugins.algorithm_1.options import Algorithm1Options
from bfc_plugins.algorithm_1.printed import printed_distill
from bfc_plugins.algorithm_1.sgd import Training, TrainingSample
from bfc_plugins.quadratic.net import Params

from bfc_bench.seeds import stream

LEARNED = 0.1
"""A layer counts as learned when its term is worth this: the root of the term's mean square over the mean loss."""


@dataclass
class LayerFeatures:
    """K_l and R_l of every layer of ``training``, which it changes, and their ranks."""

    learner: Algorithm1Options
    net: DistilledNet
    training: Training
    sample: TrainingSample
    labels: TrainingLabels
    ranks: dict[int, int] = field(default_factory=dict)
    """k_l of the layers whose K_l has joined."""
    worth: dict[int, np.ndarray] = field(default_factory=dict)
    """Worths of the leading features of every layer at the cut."""

    @property
    def params(self) -> Params:
        """All parameters, trained and fixed."""
        return {**self.training.params, **self.training.fixed}

    def feeds(self) -> dict[int, np.ndarray]:
        """feed_l, (q_l, n), of every layer at the training points."""
        return self.net.forward(self.params, self.sample.x.T)[1]

    def set_kernel(self, layer: int, kernel: np.ndarray) -> None:
        """Set K_l (k_l, q_l), which is padded by rows of zeros."""
        self.ranks[layer] = len(kernel)
        self.training.params[f"K{layer}"] = np.pad(kernel, ((0, self.net.rank - len(kernel)), (0, 0)))

    def distill(self, layer: int, *, whole: bool) -> None:
        """Line 10: compute k_l and K_l from W_l, and draw R_l, whose shape depends on k_l.

        ``whole`` gives K_l the largest rank.
        """
        learner, feed = self.learner, self.feeds()[layer]
        w, last, threshold = self._weights_of(layer), self.net.last(layer), learner.rank_threshold
        if learner.ranks == "printed":
            kernel = printed_distill(w, last, threshold, learner.max_rank)
        else:
            threshold = 0.0 if whole else threshold
            kernel = initial_distill(w, last, second_moment(feed), threshold, learner.max_rank)
        self.set_kernel(layer, kernel)
        if layer < learner.depth:
            self._expand(layer, kernel, feed, 0, learner.expansion * math.comb(len(kernel) + 1, 2), "R", layer)

    def add_feature(self) -> int | None:
        """Add a feature of W_l to K_l in the lowest layer l that lacks one, without changing F; None if none does.

        After the cut, the layer whose missing feature was worth most at the cut comes first. R_l gains a column, zero
        in the rows it has, and rows for the products with the new feature, whose weights in the layers above are zero.
        """
        feeds = self.feeds()
        for layer in sorted(self.ranks, key=self._left_out, reverse=True):
            k = self.ranks[layer]
            filled = int(self.training.fixed[f"R{layer}"].any(axis=1).sum()) if layer < self.learner.depth else 0
            if k == self.net.rank or filled == self.net.expansion:
                continue
            feed = feeds[layer]
            worth = self._worths(layer, feed)
            if len(worth) <= k or worth[k] < self.learner.growth_worth:
                continue
            kernel = self._kernel(layer)
            row = missing_feature(self._weights_of(layer), kernel, self.net.last(layer), second_moment(feed))
            kernel = np.vstack([kernel, row])
            self.set_kernel(layer, kernel)
            if layer < self.learner.depth:
                rows = min(self.learner.expansion * (k + 1), self.net.expansion - filled)
                self._expand(layer, kernel, feed, filled, rows, "R", layer, k + 1)
            return layer
        return None

    def cut(self) -> None:
        """Reduce every K_l to the features above ``cut_worth``."""
        feeds = self.feeds()
        for layer, k in self.ranks.items():
            feed = feeds[layer]
            worth = self._worths(layer, feed)
            self.worth[layer] = worth[: self.net.rank]
            count = min(max(int(np.sum(worth >= self.learner.cut_worth)), 1), k)
            kernel = self._kernel(layer)
            q = leading_directions(kernel, self.net.last(layer), second_moment(feed), count)
            self.set_kernel(layer, q.T @ kernel)
            self.training.velocity[f"K{layer}"] = np.zeros_like(self.training.params[f"K{layer}"])
            if layer < self.learner.depth:
                expansion = self.training.fixed[f"R{layer}"][:, :k] @ q
                self.training.fixed[f"R{layer}"] = np.pad(expansion, ((0, 0), (0, self.net.rank - count)))

    def _weights_of(self, layer: int) -> np.ndarray:
        return np.asarray(self.training.params[f"W{layer}"], np.float64)

    def _kernel(self, layer: int) -> np.ndarray:
        """K_l without padding, (k_l, q_l)."""
        return np.asarray(self.training.params[f"K{layer}"], np.float64)[: self.ranks[layer]]

    def _expand(self, layer: int, kernel: np.ndarray, feed: np.ndarray, filled: int, rows: int, *key: object) -> None:
        """Draw ``rows`` rows of R_l for K_l = ``kernel`` below the first ``filled`` ones, from the stream ``key``."""
        rng, moment = stream(self.sample.seed, self.learner.name, *key), self.learner.feature_moment
        if moment == "printed":
            drawn = rng.standard_normal((rows, len(kernel))) / len(kernel)
        else:
            # R_l is never drawn again. If S_l is still as small as its noise, an R_l scaled to it would let F_{l+1},
            # which is of fourth order in S_l, explode as soon as S_l grows.
            term = np.mean(self._weights() * np.sum((kernel @ feed) ** 2, axis=0) ** 2)
            learned = float(self._over_loss(term)) / LEARNED**2
            if 0 < learned < 1:
                moment *= learned
            drawn = random_expansion(rng, rows, kernel, feed, self.learner.feature_floor, moment)
        expansion = np.array(self.training.fixed[f"R{layer}"])
        expansion[filled : filled + rows, : len(kernel)] = drawn
        self.training.fixed[f"R{layer}"] = expansion

    def _left_out(self, layer: int) -> float:
        """Worth, at the cut, of the best feature that K_l lacks; 0 before the cut."""
        return float(max(self.worth.get(layer, np.zeros(0))[self.ranks[layer] :], default=0.0))

    def _worths(self, layer: int, feed: np.ndarray) -> np.ndarray:
        """Worths q_i of the features of W_l, largest first: the root of their variance over the mean loss."""
        variances = worths(self._weights_of(layer), self.net.last(layer), feed, self._weights())
        return np.asarray(np.sqrt(self._over_loss(variances)))

    def _over_loss(self, squares: np.ndarray) -> np.ndarray:
        """Mean squares of terms of F, divided by the mean loss."""
        return np.asarray(squares / self.sample.unit / max(self.training.loss, np.finfo(float).tiny))

    def _weights(self) -> np.ndarray:
        """The weights (n,) of squared errors of F at the training points.

        Without a known x_c nothing fixes the scale of the margins, so a squared error is weighted by what it adds to
        the cross entropy at the current ones.
        """
        if not self.net.linear or self.net.unread is not None:
            return self.labels.weights
        margins = self.net(self.params, self.sample.x.T)
        return half_curvature(self.learner.v * margins) * self.learner.v**2


def random_expansion(
    rng: np.random.Generator, rows: int, kernel: np.ndarray, feed: np.ndarray, floor: float, moment: float
) -> np.ndarray:
    """Draw R (rows, k) for features S = K feed such that E[(R S)^4] = ``moment``.

    R is a multiple of N C^{-1/2}, with N standard normal and C = E[S S^T], whose eigenvalues are raised to at least
    ``floor`` times the largest, so that 1 makes C a multiple of the identity. The inverse root keeps weak features
    visible beside strong ones.
    """
    expansion = rng.standard_normal((rows, len(kernel)))
    if floor < 1:
        s = kernel @ feed
        values, vectors = np.linalg.eigh(s @ s.T / s.shape[1])
        if values[-1] > 0:
            expansion = expansion @ ((vectors / np.sqrt(np.maximum(values, floor * values[-1]))) @ vectors.T)
    fourth = float(np.mean((expansion @ kernel @ feed) ** 4)) or 1.0
    return np.asarray((moment / fourth) ** 0.25 * expansion)
