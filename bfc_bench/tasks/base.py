"""What an input law, a target and a labelling are. A task is one of each; every kind is one file.

Shapes: m points, d input dimension, k_l width of the target's layer l. All arrays are NumPy float64.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bfc_bench.config import Settings
from bfc_bench.errors import UsageError
from bfc_bench.learner import LabelKind

Float = np.ndarray


class Inputs(Settings, ABC):
    """A distribution of inputs in d dimensions. Its annotated fields are its options in a suite."""

    kind: ClassVar[str]

    def check(self, d: int) -> str | None:
        """Why this law does not exist in d dimensions, or None."""
        return None

    def law(self, rng: np.random.Generator, d: int) -> InputLaw:
        """One law in d dimensions; ``rng`` draws what the law itself leaves open (a covariance, say)."""
        return InputLaw(self, d)

    @abstractmethod
    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> Float:
        """m independent points, (m, d)."""

    def square_mean(self, law: InputLaw) -> Float:
        """E[x_i^2], (d,)."""
        return np.ones(law.d)

    @property
    def independent(self) -> bool:
        """Whether coordinates are independent, of mean 0: a product of different ones is orthogonal to all others."""
        return False


class InputLaw:
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
    swept: ClassVar[frozenset[str]] = frozenset()
    """Options that change nothing of what is drawn, alphas say: tasks that share a teacher may differ in them."""

    @property
    def degrees(self) -> tuple[int, ...]:
        """Degrees >= 1, ascending, of the spherical harmonics that make up the target on the sphere, where known.

        Learners may see them when they say whether they apply (``TaskFacts.degrees``), never when they fit.
        """
        return ()

    @property
    def shares(self) -> tuple[float, ...]:
        """Share of each of ``degrees`` in the variance on the sphere, sum 1, where it is the same for every teacher."""
        return ()

    def check(self, d: int) -> str | None:
        """Why this target does not exist in d dimensions (a width above d, say), or None."""
        return None

    def check_inputs(self, inputs: Inputs) -> str | None:
        """Why this target does not go with an input law (a function of the sphere on other inputs, say), or None."""
        return None

    def check_teacher(self, other: Self) -> str | None:
        """Why ``draw`` does not give the weights that ``other``, of the same kind, gets from equal streams, or None."""
        mine, its = self.plain(), other.plain()
        if different := [name for name in mine if mine[name] != its[name] and name not in self.swept]:
            may = f"; only {' and '.join(sorted(self.swept))} may differ" if self.swept else ""
            return f"both need the same {' and '.join(different)} of {self.kind!r}{may}"
        return None

    @abstractmethod
    def draw(self, rng: np.random.Generator, law: InputLaw) -> Teacher:
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

        In the notation of the paper these are sqrt(alpha_l) S*_l. Where a target reads a layer's units with signs, its
        term is the sum of their squares with those signs. Empty for a target that has none.
        """
        return {}

    def part_errors(self, x: Float, prediction: Float) -> Mapping[str, float]:
        """Errors of predictions (m,) at x (m, d) in named parts of G*, each over its part's variance.

        Unbiased estimates, which are averaged as they are: they need not be positive. Empty for a target without parts.
        """
        return {}


class ScaledTeacher(Teacher):
    """``factor`` times another target function, factor > 0. Hidden features and ``alphas`` follow."""

    def __init__(self, teacher: Teacher, factor: float) -> None:
        self.teacher, self.factor = teacher, factor
        self.facts = dict(teacher.facts)
        if isinstance(alphas := self.facts.get("alphas"), Sequence):
            self.facts["alphas"] = [factor * alpha for alpha in alphas]

    def __call__(self, x: Float) -> Float:
        """factor G*(x), (m,), for x (m, d)."""
        return self.factor * self.teacher(x)

    def hidden(self, x: Float) -> Mapping[str, Float]:
        """sqrt(factor) times the hidden features."""
        return {layer: sqrt(self.factor) * s for layer, s in self.teacher.hidden(x).items()}

    def part_errors(self, x: Float, prediction: Float) -> Mapping[str, float]:
        """Relative errors, which the factor does not change."""
        return self.teacher.part_errors(x, prediction / self.factor)


class Labels(Settings, ABC):
    """How labels are made from target values. Its annotated fields are its options in a suite.

    A labelling may show the learner other inputs than the target's: ``columns`` more of them, mixed as it likes.
    """

    kind: ClassVar[str]
    takes: ClassVar[frozenset[LabelKind]] = frozenset({"real"})
    """Kinds of values that it labels: a target's are ``real``, a data set's may be classes."""
    label_kind: ClassVar[LabelKind] = "real"
    """What it makes of real values."""
    unit_variance: ClassVar[bool] = False
    """Whether the target is first divided by its standard deviation."""
    columns: ClassVar[int] = 0
    """How many columns the learner sees besides the target's d."""

    @property
    def margin_column(self) -> int | None:
        """The column seen whose value is added to G* before the sign is taken, where the learner may know it."""
        return None

    @property
    def facts(self) -> Mapping[str, object]:
        """Plain facts; ``opt`` = E(G* - Y)^2 / Var G* where real labels Y differ from the target."""
        return {}

    @property
    def noise_variance(self) -> float | None:
        """Variance, over the target's, of noise that is independent of the inputs; None for labels made otherwise."""
        return None

    def kind_of(self, values: LabelKind) -> LabelKind:
        """What it makes of values of a kind that it takes: ``label_kind`` of real ones, of classes the same classes."""
        return self.label_kind if values == "real" else values

    def check_values(self, values: LabelKind) -> str | None:
        """Why this labelling does not go with values of a kind, or None."""
        if values in self.takes:
            return None
        return f"labels of kind {self.kind!r} are made from {' or '.join(sorted(self.takes))} values, not {values} ones"

    def check_inputs(self, inputs: Inputs) -> str | None:
        """Why this labelling does not go with an input law, or None."""
        return None

    def check_data(self) -> str | None:
        """Why this labelling does not go with a data set, which has no law of inputs and no target, or None."""
        return f"labels of kind {self.kind!r} need a law of inputs" if self.columns else None

    def draw(self, rng: np.random.Generator, law: InputLaw, target: Target) -> Mapping[str, Any]:
        """What the labelling itself leaves open (a direction, say), by name."""
        return {}

    def show(self, rng: np.random.Generator, x: Float, rule: Labelling) -> Float:
        """The inputs (m, d + columns) as the learner sees them, from the target's inputs x (m, d)."""
        return x

    @abstractmethod
    def label(self, rng: np.random.Generator, seen: Float, values: Float, rule: Labelling) -> Float:
        """Labels (m,) of the inputs ``seen`` (m, d + columns) with target values (m,)."""

    def square_mean(self, rule: Labelling) -> Float | None:
        """E[x_i^2] of the inputs as the learner sees them, (d + columns,); None where they have no law."""
        return None if rule.law is None else rule.law.square_mean


@dataclass(frozen=True)
class Labelling:
    """A labelling with everything drawn: labelling points needs only a stream of its own."""

    labels: Labels
    law: InputLaw | None
    """None for points of a data set."""
    mean: float
    """E[G*]; for data, the mean of the training pool's values."""
    deviation: float
    """The standard deviation of G*; for data, that of the training pool's values."""
    drawn: Mapping[str, Any]
    classes: int = 0
    """C, where values are numbers of classes."""

    def show(self, rng: np.random.Generator, x: Float) -> Float:
        """The inputs (m, d + columns) as the learner sees them, from the target's inputs x (m, d)."""
        return self.labels.show(rng, x, self)

    def label(self, rng: np.random.Generator, seen: Float, values: Float) -> Float:
        """Labels (m,) of the inputs ``seen`` (m, d + columns) with target values (m,)."""
        return self.labels.label(rng, seen, values, self)

    @property
    def square_mean(self) -> Float | None:
        """E[x_i^2] of the inputs as the learner sees them, (d + columns,); None where they have no law."""
        return self.labels.square_mean(self)


@dataclass(frozen=True, eq=False)
class LabelledPoints:
    """N points of a data set."""

    x: Float
    """(N, d), of any real type: points are taken as float64 when they are drawn."""
    y: Float
    """(N,): real values, or the numbers 0 ... C - 1 of classes."""

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, eq=False)
class DataSetContents:
    """What a data set holds."""

    points: LabelledPoints
    """To train on; where there are no others, to test on as well."""
    test: LabelledPoints | None = None
    """The data set's own test part."""
    classes: tuple[str, ...] = ()
    """Names of the C >= 2 classes; empty for real values."""
    shape: tuple[int, ...] = ()
    """(channels, height, width) of an image that a row of x holds in that order; else empty."""
    columns: tuple[str, ...] = ()
    """Names of the d columns, where they have some."""
    divisor: float = 1.0
    """By which x is divided when points are drawn: 255 for images of bytes."""

    @property
    def tested(self) -> LabelledPoints:
        """The points to test on."""
        return self.test or self.points


class DataSet(Settings, ABC):
    """Points and labels that exist already. Its annotated fields are its options in a suite.

    An option called ``path``, or something that ends in ``_path``, names a file, relative to the folder of the suite's
    file; it does not tell cells apart, which the contents do.
    """

    kind: ClassVar[str]
    standardize: bool | Literal["pool"] = False
    """Whether each column, or each channel of images, is brought to mean 0 and deviation 1: ``true`` by the n training
    points alone, ``"pool"`` by the whole training pool, so that smaller samples stay prefixes of larger ones."""
    whiten: Literal["none", "zca"] = "none"
    """``zca``: columns are made uncorrelated, with variance 1, by the map that changes points least, fitted to the n
    training points alone, after they were standardised where that is asked for."""
    stratify: bool = False
    """Whether the first n points have each class's share of the pool, as far as whole points can."""

    @abstractmethod
    def load(self) -> DataSetContents:
        """All points, the same at every call. Raises ``UsageError`` that names the file and says what is wrong."""

    @classmethod
    def variant(cls, path: str) -> type[DataSet]:
        """The data set that the kind ``<this kind>:<path>`` stands for. Raises ``UsageError``: none here."""
        raise UsageError(f"data set {cls.kind!r} has no variants; write {cls.kind!r} without ':{path}'.")

    def missing(self) -> str | None:
        """What to type before ``load`` finds what it needs, or None where it is there."""
        return None

    def get(self) -> str:
        """Fetch what ``load`` needs, and say where it lies. Raises ``UsageError`` for what cannot be fetched."""
        raise UsageError(f"data set {self.kind!r} is not one that can be fetched; it reads what is there.")

    @staticmethod
    def is_path(option: str) -> bool:
        """Whether an option names a file."""
        return option == "path" or option.endswith("_path")
