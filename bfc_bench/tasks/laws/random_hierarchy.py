"""The Random Hierarchy Model, and its grammar of L levels in which every string has one parent.

Letters: v symbols, m synonyms, s symbols in a string, L levels, C classes. Level L has the class, level 0 the s^L
symbols of the sequence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from bfc_bench.tasks.base import Float, JointLaw, PointSource


def one_hot(symbols: np.ndarray, vocabulary: int) -> np.ndarray:
    """(n, positions * v) for symbols (n, positions); the symbol -1 gives zeros."""
    vectors = np.vstack([np.eye(vocabulary), np.zeros(vocabulary)])
    return np.asarray(vectors[symbols].reshape(len(symbols), -1))


def symbols_of(x: np.ndarray, vocabulary: int) -> np.ndarray:
    """The symbols (n, positions) of one-hot rows (n, positions * v)."""
    return np.asarray(x.reshape(len(x), -1, vocabulary).argmax(axis=2))


Count = Annotated[int, Field(ge=2)]


class RandomHierarchy(JointLaw):
    """The class y of a sequence x that a random grammar makes from y. Cagnetta et al. (2023), arXiv 2307.02129.

    Each class, and each of v symbols at L - 1 further levels, has m strings of s symbols; no string has two parents.
    The class is replaced by one of its strings, each symbol of it by one of its own, and so on L times. x has the s^L
    symbols of the last level as one-hot vectors. With ``zipf``, the m strings of a symbol at the last level are not
    equally likely (Cagnetta, Kang and Wyart 2025, arXiv 2505.07067).
    """

    kind: ClassVar[str] = "random-hierarchy"

    vocabulary: Count = 8
    """v, the number of symbols."""
    synonyms: Annotated[int, Field(ge=1)] = 2
    """m, the number of strings of a symbol."""
    branching: Count = 2
    """s, the number of symbols in a string."""
    levels: Annotated[int, Field(ge=1)] = 2
    """L."""
    classes: Count = 8
    """C."""
    zipf: Annotated[float, Field(ge=0, le=100)] | None = None
    """a, if the k-th of a symbol's m strings has a probability proportional to k^-(1+a) at level 1, which makes the
    sequence; without it all are equally likely."""

    @property
    def dimension(self) -> int:
        """v s^L."""
        return self.vocabulary * int(self.branching**self.levels)

    def row_shape(self, d: int) -> tuple[int, ...]:
        """(s^L, v)."""
        return self.branching**self.levels, self.vocabulary

    def check(self, d: int) -> str | None:
        """No string may have two parents."""
        parents = max(self.vocabulary, self.classes) if self.levels > 1 else self.classes
        if (used := self.synonyms * parents) > self.vocabulary**self.branching:
            return f"there are {self.vocabulary**self.branching} strings, fewer than the {used} that are needed"
        return None

    def draw(self, rng: np.random.Generator, d: int) -> Grammar:
        """One grammar."""
        return Grammar(rng, self)


class Grammar(PointSource):
    """The strings of each symbol and their probabilities, level by level; classes are equally likely."""

    def __init__(self, rng: np.random.Generator, law: RandomHierarchy) -> None:
        """Give each parent m strings among the v^s; no string has two parents."""
        v, m, s = law.vocabulary, law.synonyms, law.branching
        self.vocabulary = v
        self.rules: list[np.ndarray] = []
        """For each level, from the highest, the strings of its parents, (parents, m, s): C parents, then v."""
        for parents in (law.classes, *[v] * (law.levels - 1)):
            codes = rng.permutation(v**s)[: parents * m]
            digits = codes[:, None] // v ** np.arange(s - 1, -1, -1) % v
            self.rules.append(digits.reshape(parents, m, s))
        self.frequencies = [np.full(m, 1 / m)] * law.levels
        """For each level, from the highest, the probabilities of a parent's strings, (m,)."""
        if law.zipf is not None:
            weights = np.arange(1.0, m + 1) ** -(1 + law.zipf)
            self.frequencies[-1] = weights / weights.sum()

    def sample(self, rng: np.random.Generator, m: int) -> tuple[Float, Float]:
        """One-hot sequences x (m, s^L v) and their classes y (m,)."""
        y = rng.integers(len(self.rules[0]), size=m)
        symbols = y[:, None]
        for rule, frequency in zip(self.rules, self.frequencies, strict=True):
            chosen = rng.choice(len(frequency), size=symbols.shape, p=frequency)
            symbols = rule[symbols, chosen].reshape(m, -1)
        return one_hot(symbols, self.vocabulary), y.astype(float)

    def parse(self, x: Float) -> list[np.ndarray]:
        """The symbols of levels 1, ..., L of one-hot sequences x (m, d): (m, s^(L-1)), ..., (m, 1).

        A string without a parent has the symbol -1, and so has every string that contains a -1.
        """
        symbols, parsed = symbols_of(x, self.vocabulary), []
        for rule in reversed(self.rules):
            parents, _, branching = rule.shape
            weights = self.vocabulary ** np.arange(branching - 1, -1, -1)
            parent = np.full(self.vocabulary**branching + 1, -1)  # the last one stands for strings without a parent
            parent[rule @ weights] = np.arange(parents)[:, None]
            strings = symbols.reshape(len(symbols), -1, branching)
            codes = np.where((strings < 0).any(axis=2), len(parent) - 1, strings @ weights)
            symbols = parent[codes]
            parsed.append(symbols)
        return parsed

    def expected(self, x: Float) -> Float:
        """The class of each x (m, d), (m,); -1 for a sequence that the grammar does not make."""
        return np.asarray(self.parse(x)[-1][:, 0], float)

    def hidden(self, x: Float) -> Mapping[str, Float]:
        """The symbols of levels 1, ..., L - 1 as one-hot vectors, {"S2": (m, s^(L-1) v), ..., "SL": (m, s v)}.

        ``span_errors`` measure whether a layer determines them linearly; their scale has no meaning.
        """
        return {f"S{level}": one_hot(symbols, self.vocabulary) for level, symbols in enumerate(self.parse(x)[:-1], 2)}

    @property
    def square_mean(self) -> Float:
        """The probability of each symbol at each position, (d,)."""
        classes = len(self.rules[0])
        p = np.eye(classes)[:, None, :]  # of each symbol at each position, given the class
        for rule, frequency in zip(self.rules, self.frequencies, strict=True):
            probabilities = np.einsum("k,pksv->psv", frequency, rule[..., None] == np.arange(self.vocabulary))
            p = np.einsum("cip,psv->cisv", p, probabilities).reshape(classes, -1, self.vocabulary)
        return np.asarray(p.mean(axis=0)).ravel()
