"""The Random Hierarchy Model (Cagnetta et al. 2023, arXiv 2307.02129): a random grammar of L levels.

Letters: v symbols, m synonyms, s symbols in a string, L levels, C classes.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Grammar:
    """The strings of each symbol, level by level from the classes to the sequence."""

    rules: tuple[np.ndarray, ...]
    """For each level the strings of its parents, (parents, m, s); there are C parents, then v."""
    vocabulary: int

    @classmethod
    def draw(
        cls, rng: np.random.Generator, *, vocabulary: int, synonyms: int, branching: int, levels: int, classes: int
    ) -> "Grammar":
        """Give each parent m strings among the v^s; no string has two parents."""
        rules = []
        for parents in (classes, *[vocabulary] * (levels - 1)):
            codes = rng.permutation(vocabulary**branching)[: parents * synonyms]
            digits = codes[:, None] // vocabulary ** np.arange(branching - 1, -1, -1) % vocabulary
            rules.append(digits.reshape(parents, synonyms, branching))
        return cls(tuple(rules), vocabulary)

    def sequences(self, rng: np.random.Generator, classes: np.ndarray) -> np.ndarray:
        """A random sequence (n, s^L) of each class (n,); each string of a parent is equally likely."""
        symbols = classes[:, None]
        for rule in self.rules:
            symbols = rule[symbols, rng.integers(rule.shape[1], size=symbols.shape)].reshape(len(symbols), -1)
        return symbols

    def class_of(self, sequences: np.ndarray) -> np.ndarray:
        """The class (n,) of each sequence (n, s^L); -1 where no class has it."""
        symbols = sequences
        for rule in reversed(self.rules):
            parents, _, branching = rule.shape
            weights = self.vocabulary ** np.arange(branching - 1, -1, -1)
            parent = np.full(self.vocabulary**branching + 1, -1)  # the last one stands for strings without a parent
            parent[rule @ weights] = np.arange(parents)[:, None]
            strings = symbols.reshape(len(symbols), -1, branching)
            codes = np.where((strings < 0).any(axis=2), len(parent) - 1, strings @ weights)
            symbols = parent[codes]
        return symbols[:, 0]

    @property
    def marginals(self) -> np.ndarray:
        """The probability of each symbol at each position, (s^L, v), for equally likely classes."""
        p = np.full((1, len(self.rules[0])), 1 / len(self.rules[0]))
        for rule in self.rules:
            given = (rule[..., None] == np.arange(self.vocabulary)).mean(axis=1)  # (parents, s, v)
            p = np.einsum("ip,psv->isv", p, given).reshape(-1, self.vocabulary)
        return p


def one_hot(sequences: np.ndarray, alphabet: int) -> np.ndarray:
    """(n, length * alphabet) for sequences (n, length) of letters."""
    return np.eye(alphabet)[sequences].reshape(len(sequences), -1)


def letters(x: np.ndarray, alphabet: int) -> np.ndarray:
    """The sequences (n, length) of one-hot rows (n, length * alphabet)."""
    return x.reshape(len(x), -1, alphabet).argmax(axis=2)
