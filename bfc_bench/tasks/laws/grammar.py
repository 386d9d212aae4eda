"""A random grammar of L levels in which every string has one parent.

Letters: v symbols, m synonyms, s symbols in a string, L levels, C classes. Level L has the class, level 0 the s^L
symbols of the sequence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Grammar:
    """The strings of each symbol and their probabilities, level by level from the classes to the sequence."""

    rules: tuple[np.ndarray, ...]
    """For each level, from the highest, the strings of its parents, (parents, m, s): C parents, then v."""
    frequencies: tuple[np.ndarray, ...]
    """For each level, from the highest, the probabilities of a parent's strings, (m,)."""
    vocabulary: int

    @classmethod
    def draw(
        cls,
        rng: np.random.Generator,
        *,
        vocabulary: int,
        synonyms: int,
        branching: int,
        levels: int,
        classes: int,
        zipf: float | None = None,
        zipf_level: int = 1,
    ) -> Grammar:
        """Give each parent m strings among the v^s; no string has two parents."""
        rules = []
        for parents in (classes, *[vocabulary] * (levels - 1)):
            codes = rng.permutation(vocabulary**branching)[: parents * synonyms]
            digits = codes[:, None] // vocabulary ** np.arange(branching - 1, -1, -1) % vocabulary
            rules.append(digits.reshape(parents, synonyms, branching))
        frequencies = [np.full(synonyms, 1 / synonyms)] * levels
        if zipf is not None:
            weights = np.arange(1.0, synonyms + 1) ** -(1 + zipf)
            frequencies[levels - zipf_level] = weights / weights.sum()
        return cls(tuple(rules), tuple(frequencies), vocabulary)

    def sequences(self, rng: np.random.Generator, classes: np.ndarray) -> np.ndarray:
        """A random sequence (n, s^L) of each class (n,)."""
        symbols = classes[:, None]
        for rule, frequency in zip(self.rules, self.frequencies, strict=True):
            chosen = rng.choice(len(frequency), size=symbols.shape, p=frequency)
            symbols = rule[symbols, chosen].reshape(len(symbols), -1)
        return symbols

    def parse(self, sequences: np.ndarray) -> list[np.ndarray]:
        """The symbols of levels 1, ..., L of each sequence (n, s^L): (n, s^(L-1)), ..., (n, 1).

        A string without a parent has the symbol -1, and so has every string that contains a -1.
        """
        symbols, parsed = sequences, []
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

    def class_of(self, sequences: np.ndarray) -> np.ndarray:
        """The class (n,) of each sequence (n, s^L); -1 where no class has it."""
        return np.asarray(self.parse(sequences)[-1][:, 0])

    def given_class(self) -> list[np.ndarray]:
        """P(symbol at a position | class) of levels 0, ..., L - 1: (C, s^L, v), ..., (C, s, v)."""
        classes = len(self.rules[0])
        p, found = np.eye(classes)[:, None, :], []
        for rule, frequency in zip(self.rules, self.frequencies, strict=True):
            given = np.einsum("k,pksv->psv", frequency, rule[..., None] == np.arange(self.vocabulary))
            p = np.einsum("cip,psv->cisv", p, given).reshape(classes, -1, self.vocabulary)
            found.append(p)
        return found[::-1]

    def explained(self) -> list[float]:
        """R^2 of the class given one symbol of levels 0, ..., L - 1 alone, the mean over the level's positions.

        This is the squared correlation of a symbol, as one of v one-hot vectors, with the class, as one of C: the
        variance of P(class | symbol), summed over classes, over that of the class, 1 - 1 / C.
        """
        found = []
        for given in self.given_class():
            p = given.mean(axis=0)  # (positions, v)
            classes = len(given)
            posterior = np.divide(given / classes, p, out=np.zeros_like(given), where=p > 0)
            found.append(float(((posterior**2).sum(axis=0) * p).sum(axis=1).mean() - 1 / classes) / (1 - 1 / classes))
        return found

    @property
    def marginals(self) -> np.ndarray:
        """The probability of each symbol at each position of a sequence, (s^L, v), for equally likely classes."""
        return np.asarray(self.given_class()[0].mean(axis=0))


def one_hot(symbols: np.ndarray, vocabulary: int) -> np.ndarray:
    """(n, positions * v) for symbols (n, positions); the symbol -1 gives zeros."""
    vectors = np.vstack([np.eye(vocabulary), np.zeros(vocabulary)])
    return np.asarray(vectors[symbols].reshape(len(symbols), -1))


def symbols_of(x: np.ndarray, vocabulary: int) -> np.ndarray:
    """The symbols (n, positions) of one-hot rows (n, positions * v)."""
    return np.asarray(x.reshape(len(x), -1, vocabulary).argmax(axis=2))
