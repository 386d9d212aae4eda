"""What an input law, a target and a labelling are. A task is one of each; every kind is one file.

Shapes: m points, d input dimension, k_l width of the target's layer l. All arrays are NumPy float64.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from bfc_bench.config import Settings
from bfc_bench.learner import LabelKind

Float = np.ndarray


class Inputs(Settings, ABC):
    """A distribution of inputs in d dimensions. Its annotated fields are its options in a suite."""

    kind: ClassVar[str]

    def check(self, d: int) -> str | None:
        """Why this law does not exist in d dimensions, or None."""
        return None

    def law(self, rng: np.random.Generator, d: int) -> Law:
        """One law in d dimensions; ``rng`` draws what the law itself leaves open (a covariance, say)."""
        return Law(self, d)

    @abstractmethod
    def sample(self, rng: np.random.Generator, m: int, law: Law) -> Float:
        """m independent points, (m, d)."""

    def square_mean(self, law: Law) -> Float:
        """E[x_i^2], (d,)."""
        return np.ones(law.d)


class Law:
    """An input law with everything drawn: sampling it needs only a stream of its own."""

    def __init__(self, inputs: Inputs, d: int, **drawn: Float) -> None:
        self.inputs, self.d, self.drawn = inputs, d, drawn

    def sample(self, rng: np.random.Generator, m: int) -> Float:
        """m independent points, (m, d)."""
        return self.inputs.sample(rng, m, self)

    @property
    def square_mean(self) -> Float:
        """E[x_i^2], (d,)."""
        return self.inputs.square_mean(self)


class Target(Settings, ABC):
    """A family of target functions. Its annotated fields are its options in a suite."""

    kind: ClassVar[str]

    def check(self, d: int) -> str | None:
        """Why this target does not exist in d dimensions (a width above d, say), or None."""
        return None

    def check_inputs(self, inputs: Inputs) -> str | None:
        """Why this target does not go with an input law (a function of the sphere on other inputs, say), or None."""
        return None

    @abstractmethod
    def draw(self, rng: np.random.Generator, law: Law) -> Teacher:
        """One member of the family, drawn from ``rng``, on inputs of ``law``."""


class Teacher(ABC):
    """One target function G*: R^d -> R."""

    facts: Mapping[str, object] = {}
    """Plain facts that an oracle may be asked for, ``alphas`` for example."""

    @abstractmethod
    def __call__(self, x: Float) -> Float:
        """G*(x), (m,), for x (m, d)."""

    def hidden(self, x: Float) -> Mapping[str, Float]:
        """Hidden features {"S2": (m, k_2), ...}, scaled so that a layer's term in G* is the sum of their squares.

        In the notation of the paper these are sqrt(alpha_l) S*_l. Empty for a target that has none.
        """
        return {}


class Labels(Settings, ABC):
    """How labels are made from target values. Its annotated fields are its options in a suite."""

    kind: ClassVar[str]
    label_kind: ClassVar[LabelKind] = "real"

    @abstractmethod
    def label(self, rng: np.random.Generator, x: Float, values: Float, scale: float) -> Float:
        """Labels (m,) of points x (m, d) with target values (m,); ``scale`` is the target's standard deviation."""
