"""The Random Hierarchy Model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from bfc_bench.tasks.base import Float, JointLaw, PointSource
from bfc_bench.tasks.laws.grammar import Grammar, one_hot, symbols_of

Count = Annotated[int, Field(ge=2)]


class RandomHierarchy(JointLaw):
    """The class y of a sequence x that a random grammar makes from y. Cagnetta et al. (2023), arXiv 2307.02129.

    Each class, and each of v symbols at L - 1 further levels, has m strings of s symbols; no string has two parents.
    The class is replaced by one of its strings, each symbol of it by one of its own, and so on L times. x has the s^L
    symbols of the last level as one-hot vectors. With ``zipf``, the m strings of a symbol at one level are not equally
    likely (Cagnetta, Kang and Wyart 2025, arXiv 2505.07067).
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
    """a, if the k-th of a symbol's m strings has a probability proportional to k^-(1+a) at ``zipf_level``; without it
    all are equally likely."""
    zipf_level: Annotated[int, Field(ge=1)] = 1
    """The level to which ``zipf`` applies. Level 1, the lowest, makes the sequence, level L replaces the class."""

    @property
    def dimension(self) -> int:
        """v s^L."""
        return self.vocabulary * int(self.branching**self.levels)

    def row_shape(self, d: int) -> tuple[int, ...]:
        """(s^L, v)."""
        return self.branching**self.levels, self.vocabulary

    def check(self, d: int) -> str | None:
        """No string may have two parents, and the level of ``zipf`` must exist."""
        parents = max(self.vocabulary, self.classes) if self.levels > 1 else self.classes
        if (used := self.synonyms * parents) > self.vocabulary**self.branching:
            return f"there are {self.vocabulary**self.branching} strings, fewer than the {used} that are needed"
        if self.zipf is not None and self.zipf_level > self.levels:
            return f"zipf_level = {self.zipf_level} is above levels = {self.levels}"
        return None

    def draw(self, rng: np.random.Generator, d: int) -> SequenceSource:
        """One grammar."""
        return SequenceSource(Grammar.draw(rng, **self.plain()))


class SequenceSource(PointSource):
    """The sequences of one grammar, with equally likely classes."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        names = [f"S{level + 1}" for level in range(len(grammar.rules))]
        self.facts = {"explained": dict(zip(names, grammar.explained(), strict=True))}

    def sample(self, rng: np.random.Generator, m: int) -> tuple[Float, Float]:
        """One-hot sequences x (m, s^L v) and their classes y (m,)."""
        y = rng.integers(len(self.grammar.rules[0]), size=m)
        return one_hot(self.grammar.sequences(rng, y), self.grammar.vocabulary), y.astype(float)

    def expected(self, x: Float) -> Float:
        """The class of each x (m, d), (m,); -1 for a sequence that the grammar does not make."""
        return self.grammar.class_of(symbols_of(x, self.grammar.vocabulary)).astype(float)

    def hidden(self, x: Float) -> Mapping[str, Float]:
        """The symbols of levels 1, ..., L - 1 as one-hot vectors, {"S2": (m, s^(L-1) v), ..., "SL": (m, s v)}.

        ``span_errors`` measure whether a layer determines them linearly; their scale has no meaning.
        """
        parsed = self.grammar.parse(symbols_of(x, self.grammar.vocabulary))[:-1]
        return {f"S{level}": one_hot(symbols, self.grammar.vocabulary) for level, symbols in enumerate(parsed, 2)}

    @property
    def square_mean(self) -> Float:
        """The probability of each symbol at each position, (d,)."""
        return self.grammar.marginals.ravel()
