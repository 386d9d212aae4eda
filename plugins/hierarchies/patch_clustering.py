"""Clusters the patches of a sequence by their correlation with the label, level by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from bfc_plugins.hierarchies.tree import TreeLearner
from pydantic import Field

from bfc_bench.learner import Capabilities, Context, Cost, Data, LabelKind, Predictor
from bfc_bench.seeds import stream


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
    capabilities: ClassVar[Capabilities] = Capabilities(labels=frozenset({"binary", "class"}))
    smoke: ClassVar[Mapping[str, Any]] = {"alphabet": 3}

    starts: Annotated[int, Field(ge=1)] = 20
    """Number of random starts of k-means, of which the best is kept."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Cluster the patches of each level and read the class off the top."""
        v, s, levels = self.alphabet, self.branching, self.levels(train.d)
        rng = stream(ctx.seed, self.name)
        labels = train.y[:, None] if train.kind == "binary" else np.eye(train.classes)[train.y.astype(int)]
        centred = labels - labels.mean(axis=0)
        symbols = symbols_of(train.x, v)
        tables = []
        for _ in range(levels - 1):
            codes = patch_codes(symbols, v, s)
            means, counts = mean_labels(codes, centred, v**s)
            total = counts.sum(axis=1)
            weights = np.sqrt(counts / np.maximum(total[:, None], 1))  # a mean is as precise as its count is large
            vectors = (means * weights[:, :, None]).reshape(len(means), -1)
            table = np.zeros(v**s, dtype=int)
            seen = total > 0
            table[seen] = k_means(rng, vectors[seen], total[seen], v, self.starts)
            tables.append(table)
            symbols = table[codes]
        means, _ = mean_labels(patch_codes(symbols, v, s), centred, v**s)
        return PatchPredictor(tables, means[:, 0] + labels.mean(axis=0), v, s, train.kind)

    def cost(self, n: int, d: int) -> Cost:
        """Sums over patches, and k-means on v^s vectors."""
        codes, positions = self.alphabet**self.branching, d / self.alphabet
        k_means = 2.0 * self.starts * 20 * codes * self.alphabet * positions
        bytes = 40.0 * n * positions + 16.0 * codes * positions
        return Cost(20.0 * n * positions + self.levels(d) * k_means, bytes, work="steps", seconds=0.05)


class PatchPredictor(Predictor):
    """The tables of the levels, and the mean label of each code at the top."""

    def __init__(
        self, tables: Sequence[np.ndarray], top: np.ndarray, alphabet: int, branching: int, kind: LabelKind
    ) -> None:
        self.tables, self.top, self.alphabet, self.branching, self.kind = tables, top, alphabet, branching, kind

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Mean labels (m,), or scores (m, C), of the codes at the top."""
        values = self.top[patch_codes(self._symbols(x)[-1], self.alphabet, self.branching)[:, 0]]
        return np.asarray(values[:, 0] if self.kind == "binary" else values)

    def hidden(self, x: np.ndarray) -> Mapping[str, np.ndarray]:
        """The clusters of each level as one-hot vectors, {"S2": (m, s^(L-1) v), ...}."""
        found = self._symbols(x)[1:]
        return {
            f"S{level}": np.eye(self.alphabet)[symbols].reshape(len(x), -1) for level, symbols in enumerate(found, 2)
        }

    def _symbols(self, x: np.ndarray) -> list[np.ndarray]:
        found = [symbols_of(x, self.alphabet)]
        for table in self.tables:
            found.append(table[patch_codes(found[-1], self.alphabet, self.branching)])
        return found


def symbols_of(x: np.ndarray, alphabet: int) -> np.ndarray:
    """The symbols (m, positions) of one-hot rows (m, positions v)."""
    return np.asarray(x.reshape(len(x), -1, alphabet).argmax(axis=2))


def patch_codes(symbols: np.ndarray, alphabet: int, branching: int) -> np.ndarray:
    """The number of each patch, (m, positions / s), below v^s.

    Args:
        symbols: Symbols of points, (m, positions).
        alphabet: v, the number of symbols.
        branching: s, the number of symbols in a patch.
    """
    patches = symbols.reshape(len(symbols), -1, branching)
    return np.asarray(patches @ alphabet ** np.arange(branching - 1, -1, -1))


def mean_labels(codes: np.ndarray, labels: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean label of each code at each position, (number, positions, c), and the counts (number, positions).

    Args:
        codes: The codes of points, (m, positions).
        labels: Labels of the points, (m, c).
        number: Number of codes. One that a position does not have has mean 0 there.
    """
    positions = codes.shape[1]
    sums, counts = np.zeros((number, positions, labels.shape[1])), np.zeros((number, positions))
    for position in range(positions):
        np.add.at(sums[:, position], codes[:, position], labels)
        counts[:, position] = np.bincount(codes[:, position], minlength=number)
    return sums / np.maximum(counts, 1)[:, :, None], counts


def k_means(
    rng: np.random.Generator, vectors: np.ndarray, weights: np.ndarray, clusters: int, starts: int
) -> np.ndarray:
    """The cluster of each vector, (codes,), of the best of several runs of Lloyd's algorithm.

    Args:
        rng: The random stream of the starts, which are those of k-means++.
        vectors: (codes, p).
        weights: Weight of each vector, (codes,).
        clusters: Number of clusters; each vector has its own if there are no more of them.
        starts: Number of runs.
    """
    if len(vectors) <= clusters:
        return np.arange(len(vectors))
    runs = [_lloyd(vectors, weights, _spread(rng, vectors, weights, clusters)) for _ in range(starts)]
    return min(runs, key=lambda run: run[1])[0]


def _spread(rng: np.random.Generator, vectors: np.ndarray, weights: np.ndarray, clusters: int) -> np.ndarray:
    """Centres (clusters, p): vectors drawn with probabilities in proportion to squared distances from those before."""
    centres = [vectors[rng.choice(len(vectors), p=weights / weights.sum())]]
    nearest = np.full(len(vectors), np.inf)
    for _ in range(clusters - 1):
        nearest = np.minimum(nearest, ((vectors - centres[-1]) ** 2).sum(axis=1))
        odds = weights * nearest
        p = odds / odds.sum() if odds.sum() > 0 else weights / weights.sum()
        centres.append(vectors[rng.choice(len(vectors), p=p)])
    return np.array(centres)


def _lloyd(vectors: np.ndarray, weights: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, float]:
    """Clusters (codes,) and the weighted sum of squared distances, when no vector changes its cluster."""
    chosen = np.full(len(vectors), -1)
    while True:
        distances = ((vectors[:, None] - centres) ** 2).sum(axis=2)
        nearest = distances.argmin(axis=1)
        if np.array_equal(nearest, chosen):
            return chosen, float(weights @ distances.min(axis=1))
        chosen = nearest
        member = np.eye(len(centres))[chosen] * weights[:, None]
        total = member.sum(axis=0)
        kept = total > 0  # an empty cluster keeps its centre
        centres = np.where(kept[:, None], member.T @ vectors / np.maximum(total, 1e-300)[:, None], centres)
