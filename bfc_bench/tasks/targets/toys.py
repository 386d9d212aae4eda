"""The small examples of the paper and the talk, and the talk's DenseNet, whose first layer is trained too."""

from abc import abstractmethod
from math import sqrt
from typing import Annotated, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import Field, FiniteFloat

from bfc_bench.tasks.base import Float, InputLaw
from bfc_bench.tasks.targets.densenet_teacher import DensenetTeacher, draw_weights
from bfc_bench.tasks.targets.options import OfSquares, RandomDensenet

Weight: TypeAlias = Annotated[FiniteFloat, Field(gt=0)]
Layer: TypeAlias = dict[int, Float]
"""Weights of a layer by the layer that they read; 0 is x, 1 is x^2."""


class Toy(OfSquares):
    """A fixed small network of the first ``coordinates`` inputs."""

    swept: ClassVar[frozenset[str]] = frozenset({"alpha"})
    coordinates: ClassVar[int]
    alpha: Weight = 0.3
    """Weight of the higher layer."""

    @abstractmethod
    def layers(self, d: int) -> list[Layer]:
        """The weights of layers 2 and 3, as functions of d inputs."""

    def offset(self, law: InputLaw) -> Float:
        """What is subtracted from the squares, (d,)."""
        return np.zeros(law.d)

    def check(self, d: int) -> str | None:
        """Why there are too few coordinates, or None."""
        return f"{self.kind} needs d >= {self.coordinates}, not {d}" if d < self.coordinates else None

    def draw(self, rng: np.random.Generator, law: InputLaw) -> DensenetTeacher:
        """The network in d dimensions."""
        return DensenetTeacher(self.layers(law.d), (1.0, self.alpha), self.offset(law))


class SquaresToy(Toy):
    """A toy whose first layer is x_i^2 as the paper writes it, or x_i^2 - E[x_i^2], the G_1 of its section 2."""

    centred: bool = False
    """Whether x_i^2 - E[x_i^2] replaces x_i^2, which puts the toy exactly into the concept class of section 2."""

    def offset(self, law: InputLaw) -> Float:
        """What is subtracted from the squares, (d,)."""
        return law.square_mean if self.centred else super().offset(law)


class ToyOverfit(SquaresToy):
    """x_1^4 + 2 x_2^4 + alpha (x_1^4 + 2 x_2^4 + x_3^2)^2. BFC eq. (1.2), line 125, where alpha = .1.

    S_2 = (x_1^2, sqrt(2) x_2^2) and S_3 = x_1^4 + 2 x_2^4 + x_3^2, so J_2 = {1} and J_3 = {1, 2}. The best degree-4
    polynomial is not x_1^4 + 2 x_2^4: trained alone, layer 2 overfits to x_3^2.
    """

    kind: ClassVar[str] = "toy-overfit"
    coordinates: ClassVar[int] = 3
    alpha: Weight = 0.1
    """Weight of the higher layer."""

    def layers(self, d: int) -> list[Layer]:
        """Of (x_1, x_2, x_3)."""
        return [{1: np.diag([1.0, sqrt(2)]) @ np.eye(2, d)}, {1: np.eye(1, d, k=2), 2: np.ones((1, 2))}]


class ToyRich(SquaresToy):
    """x_1^4 + x_2^4 + alpha ((x_1^4 + x_3)^2 + (x_2^4 + x_4)^2). BFC section 6.1, lines 543-572.

    S_2 = (x_1^2, x_2^2) and S_3 = (x_1^4 + x_3, x_2^4 + x_4), so J_2 = {1} and J_3 = {0, 2}. Two units of layer 2 may
    represent x_1^4 + x_2^4 in a basis of which layer 3 cannot be made; three units in random directions suffice.
    """

    kind: ClassVar[str] = "toy-rich"
    coordinates: ClassVar[int] = 4

    def layers(self, d: int) -> list[Layer]:
        """Of (x_1, ..., x_4)."""
        return [{1: np.eye(2, d)}, {0: np.eye(2, d, k=2), 2: np.eye(2)}]


class SlideQuartic(Toy):
    """x_1^2 + x_2^2 + alpha (x_1^4 + x_2^4). SLIDES, "a super simple example", with d = 1000 and alpha = .3.

    Layers are counted as in ``slide-densenet``: S_2 = (x_1, x_2), S_3 = (x_1^2, x_2^2), J_2 = {0} and J_3 = {2}.
    """

    kind: ClassVar[str] = "slide-quartic"
    coordinates: ClassVar[int] = 2

    def layers(self, d: int) -> list[Layer]:
        """Of (x_1, x_2)."""
        return [{0: np.eye(2, d)}, {2: np.eye(2)}]


class SlideCorrection(Toy):
    """x_1^2 + x_2^2 + alpha ((x_1^2 + x_3)^2 + (x_2^2 + x_4)^2). SLIDES, the "correction" stage, d = 1000, alpha = .3.

    The talk has E[x_i] = 1 (``inputs = { kind = "gaussian", mean = 1.0 }``): only then is x_1^2 x_3 correlated with the
    product x_1 x_3, to which layer 1 alone overfits as (x_1 + alpha x_3)^2. Layers are counted as in
    ``slide-densenet``: S_2 = (x_1, x_2), S_3 = (x_1^2 + x_3, x_2^2 + x_4), J_2 = {0} and J_3 = {0, 2}.
    """

    kind: ClassVar[str] = "slide-correction"
    coordinates: ClassVar[int] = 4

    def layers(self, d: int) -> list[Layer]:
        """Of (x_1, ..., x_4)."""
        return [{0: np.eye(2, d)}, {0: np.eye(2, d, k=2), 2: np.eye(2)}]


class SlideDensenet(RandomDensenet):
    """G = sum_l alpha_l w_l . G_l, l = 1..L, of degree 2^L. SLIDES, "Target network" and "Regularity condition".

    G_1 = (W_{1,0} x)^2, G_l = (W_{l,0} x + sum_{j<l} W_{l,j} G_j)^2, w_l in {-1, 1}^{k_l}; 1 > alpha_2 > ... in the
    talk. Each W_{l,j} is drawn as for ``quadratic-densenet``. Facts and hidden features count layers as there, where
    layer 1 is x^2: what the talk calls layer l is layer l + 1 (``S2`` is W_{1,0} x), and no layer reads layer 1.
    """

    kind: ClassVar[str] = "slide-densenet"
    swept: ClassVar[frozenset[str]] = frozenset({"alphas"})
    signs: Literal["random", "positive"] = "random"
    """Whether entries of w_l are -1 or 1 with equal chance (``random``) or all 1 (``positive``), which a network of
    positive sums can express."""

    def draw(self, rng: np.random.Generator, law: InputLaw) -> DensenetTeacher:
        """One teacher."""
        skips = [[0, *range(2, layer)] for layer in range(2, len(self.widths) + 2)]
        weights = draw_weights(rng, law, self.widths, skips, self.kind)
        choices = [-1.0, 1.0] if self.signs == "random" else [1.0]
        readouts = [rng.choice(choices, size=width) for width in self.widths]
        return DensenetTeacher(weights, self.alphas, law.square_mean, readouts)
