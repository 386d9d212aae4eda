"""Clusters the patches of a sequence by their correlation with the label, level by level."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from bfc_plugins.hierarchies.tree import TreeLearner

from bfc_bench.learner import Capabilities, Context, Cost, Data, LabelKind, Predictor
from bfc_bench.seeds import seed_of

STARTS = 20
"""Number of random starts of k-means; the best one is kept."""


class PatchClustering(TreeLearner):
    """Learns the symbols of each level as clusters of patches that correlate equally with the label.

    A patch has one of v^s codes. At each level, and for each code, the mean of the centred label (one number per class
    but one) over the points that have the code at a position is a vector over positions. Synonyms have equal vectors,
    because the class depends on them through their parent alone, so k-means with v clusters finds the parents, which
    are the symbols of the next level. At the top the mean label of a code is the prediction. This is the algorithm
    behind the sample size n_c m^L of arXiv 2307.02129 and the layer-wise proof of arXiv 2601.19756. It is
    told that all positions of a level have the same rules.
    """

    name: ClassVar[str] = "patch-clustering"
    version: ClassVar[int] = 2
    """Version 2 clusters with scikit-learn."""
    capabilities: ClassVar[Capabilities] = Capabilities(
        labels=frozenset({"binary", "class"}), libraries=frozenset({"scikit-learn"})
    )
    smoke: ClassVar[Mapping[str, Any]] = {"alphabet": 3}

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Cluster the patches of each level and read the class off the top."""
        self.refuse(train)
        number = self.alphabet**self.branching
        labels = train.y[:, None] if train.kind == "binary" else np.eye(train.classes)[train.y.astype(int)]
        centred = labels - labels.mean(axis=0)
        symbols = self.symbols(train.x)
        tables = []
        for _ in range(self.levels(train.d) - 1):
            codes = self.codes(symbols)
            means, counts = mean_labels(codes, centred, number)
            total = counts.sum(axis=1)
            weights = np.sqrt(counts / np.maximum(total[:, None], 1))  # a mean is as precise as its count is large
            vectors = (means * weights[:, :, None]).reshape(len(means), -1)
            table = np.zeros(number, dtype=int)
            seen = total > 0
            table[seen] = clusters(vectors[seen], total[seen], self.alphabet, seed_of(ctx.seed, self.name))
            tables.append(table)
            symbols = table[codes]
        means, _ = mean_labels(self.codes(symbols), centred, number)
        return PatchPredictor(self, tables, means[:, 0] + labels.mean(axis=0), train.kind)

    def symbols(self, x: np.ndarray) -> np.ndarray:
        """The symbols (m, positions) of one-hot rows (m, positions v)."""
        return np.asarray(x.reshape(len(x), -1, self.alphabet).argmax(axis=2))

    def codes(self, symbols: np.ndarray) -> np.ndarray:
        """The number of each patch, (m, positions / s), below v^s, of points' symbols (m, positions)."""
        patches = symbols.reshape(len(symbols), -1, self.branching)
        return np.asarray(patches @ self.alphabet ** np.arange(self.branching - 1, -1, -1))

    def cost(self, n: int, d: int) -> Cost:
        """Sums over patches, and k-means on v^s vectors."""
        codes, positions = self.alphabet**self.branching, d / self.alphabet
        k_means = 2.0 * STARTS * 20 * codes * self.alphabet * positions
        bytes = 40.0 * n * positions + 16.0 * codes * positions
        return Cost(20.0 * n * positions + self.levels(d) * k_means, bytes, work="steps", seconds=0.05)


class PatchPredictor(Predictor):
    """The tables of the levels, and the mean label of each code at the top."""

    def __init__(
        self, learner: PatchClustering, tables: Sequence[np.ndarray], top: np.ndarray, kind: LabelKind
    ) -> None:
        self.learner, self.tables, self.top, self.kind = learner, tables, top, kind

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Mean labels (m,), or scores (m, C), of the codes at the top."""
        values = self.top[self.learner.codes(self._symbols(x)[-1])[:, 0]]
        return np.asarray(values[:, 0] if self.kind == "binary" else values)

    def hidden(self, x: np.ndarray) -> Mapping[str, np.ndarray]:
        """The clusters of each level as one-hot vectors, {"S2": (m, s^(L-1) v), ...}."""
        one_hot, levels = np.eye(self.learner.alphabet), self._symbols(x)[1:]
        return {f"S{level}": one_hot[symbols].reshape(len(x), -1) for level, symbols in enumerate(levels, 2)}

    def _symbols(self, x: np.ndarray) -> list[np.ndarray]:
        levels = [self.learner.symbols(x)]
        for table in self.tables:
            levels.append(table[self.learner.codes(levels[-1])])
        return levels


def mean_labels(codes: np.ndarray, labels: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean label of each code at each position, (number, positions, c), 0 if absent, and counts (number, positions)."""
    positions = codes.shape[1]
    sums, counts = np.zeros((number, positions, labels.shape[1])), np.zeros((number, positions))
    for position in range(positions):
        np.add.at(sums[:, position], codes[:, position], labels)
        counts[:, position] = np.bincount(codes[:, position], minlength=number)
    return sums / np.maximum(counts, 1)[:, :, None], counts


def clusters(vectors: np.ndarray, weights: np.ndarray, count: int, seed: int) -> np.ndarray:
    """The cluster of each weighted vector (codes, p), (codes,), of the best of several runs of k-means++."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    means = KMeans(min(count, len(vectors)), n_init=STARTS, tol=0.0, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # equal vectors, which are fewer than clusters
        return np.asarray(means.fit(vectors, sample_weight=weights).labels_)
