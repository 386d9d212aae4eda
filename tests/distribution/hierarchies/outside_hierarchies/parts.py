"""Joint laws, an input law and a target."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, PositiveFloat

from bfc_bench import InputLaw, Inputs, JointLaw, PointSource, Target, Teacher
from outside_hierarchies.grammar import Grammar, letters, one_hot

Count = Annotated[int, Field(ge=2)]


class RandomHierarchy(JointLaw):
    """The class y of a sequence x that a random grammar makes from y."""

    kind: ClassVar[str] = "outside-hierarchy"

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

    @property
    def dimension(self) -> int:
        """v s^L."""
        return self.vocabulary * self.branching**self.levels

    def row_shape(self, d: int) -> tuple[int, ...]:
        """(s^L, v)."""
        return self.branching**self.levels, self.vocabulary

    def check(self, d: int) -> str | None:
        """No string may have two parents."""
        if (used := self.synonyms * max(self.vocabulary, self.classes)) > self.vocabulary**self.branching:
            return f"there are {self.vocabulary**self.branching} strings, fewer than the {used} that are needed"
        return None

    def draw(self, rng: np.random.Generator, d: int) -> PointSource:
        """One grammar."""
        return Sentences(Grammar.draw(rng, **self.plain()))


class Sentences(PointSource):
    """The sequences of one grammar."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar

    def sample(self, rng: np.random.Generator, m: int) -> tuple[np.ndarray, np.ndarray]:
        y = rng.integers(len(self.grammar.rules[0]), size=m)
        return one_hot(self.grammar.sequences(rng, y), self.grammar.vocabulary), y.astype(float)

    def expected(self, x: np.ndarray) -> np.ndarray:
        return self.grammar.class_of(letters(x, self.grammar.vocabulary)).astype(float)

    @property
    def square_mean(self) -> np.ndarray:
        return self.grammar.marginals.ravel()


class HiddenCoin(JointLaw):
    """y = x_1 + ``size`` b with Gaussian x and a fair coin b = -1, +1 that no learner sees."""

    kind: ClassVar[str] = "hidden-coin"

    size: PositiveFloat = 0.5
    told: bool = True
    """Whether the framework is told E[y | x]."""
    swept: ClassVar[frozenset[str]] = frozenset({"size", "told"})

    def draw(self, rng: np.random.Generator, d: int) -> PointSource:
        return Coins(d, self.size, told=self.told)


class Coins(PointSource):
    """x_1 and a coin."""

    def __init__(self, d: int, size: float, *, told: bool) -> None:
        self.d, self.size, self.told = d, size, told

    def sample(self, rng: np.random.Generator, m: int) -> tuple[np.ndarray, np.ndarray]:
        x, coin = rng.standard_normal((m, self.d)), rng.choice([-1.0, 1.0], size=m)
        return x, x[:, 0] + self.size * coin

    def expected(self, x: np.ndarray) -> np.ndarray | None:
        return x[:, 0].copy() if self.told else None

    @property
    def square_mean(self) -> np.ndarray:
        return np.ones(self.d)


class Letters(Inputs):
    """Sequences of independent letters, each equally likely, as one-hot vectors."""

    kind: ClassVar[str] = "letters"
    example_d: ClassVar[tuple[int, ...]] = (16, 20)

    alphabet: Count = 4

    def check(self, d: int) -> str | None:
        return f"d must be a multiple of the alphabet, {self.alphabet}" if d % self.alphabet else None

    def row_shape(self, d: int) -> tuple[int, ...]:
        return d // self.alphabet, self.alphabet

    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> np.ndarray:
        return one_hot(rng.integers(self.alphabet, size=(m, law.d // self.alphabet)), self.alphabet)

    def square_mean(self, law: InputLaw) -> np.ndarray:
        return np.full(law.d, 1 / self.alphabet)


class Parse(Target):
    """The class of a sequence of letters in a grammar in which every string has a parent: m = v, s = 2, C = v."""

    kind: ClassVar[str] = "parse"
    example_d: ClassVar[tuple[int, ...]] = (16,)
    example_inputs: ClassVar[tuple[Inputs, ...]] = (Letters(alphabet=4),)

    alphabet: Count = 4

    @property
    def classes(self) -> int:
        return self.alphabet

    def check(self, d: int) -> str | None:
        length = d // self.alphabet
        whole = d % self.alphabet == 0 and length >= 2 and length & (length - 1) == 0
        return None if whole else f"d must be {self.alphabet} times a power of 2"

    def check_inputs(self, inputs: Inputs) -> str | None:
        same = isinstance(inputs, Letters) and inputs.alphabet == self.alphabet
        return None if same else f"'parse' needs inputs 'letters' with alphabet = {self.alphabet}"

    def draw(self, rng: np.random.Generator, law: InputLaw) -> Teacher:
        v, levels = self.alphabet, (law.d // self.alphabet).bit_length() - 1
        return Parser(Grammar.draw(rng, vocabulary=v, synonyms=v, branching=2, levels=levels, classes=v))


class Parser(Teacher):
    """One grammar as a function."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self.grammar.class_of(letters(x, self.grammar.vocabulary)).astype(float)
