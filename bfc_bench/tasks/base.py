"""Base classes of the parts of a task: input laws, targets, joint laws, labellings and data sets.

A task is an input law, a target and a labelling, or a joint law and a labelling, or a data set and a labelling.

Shapes: m points, d input dimension, k_l width of the target's layer l. All arrays are NumPy float64.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from bfc_bench.config import Settings
from bfc_bench.errors import UsageError
from bfc_bench.learner import Column, LabelKind

Float: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


class Inputs(Settings, ABC):
    """A distribution of inputs in d dimensions. Its annotated fields are its options in a suite."""

    kind: ClassVar[str]
    example_d: ClassVar[tuple[int, ...]] = (6, 8, 12, 2, 1)
    """Dimensions that ``bfc-bench check`` tries."""

    def check(self, d: int) -> str | None:
        """Why this law does not exist in d dimensions, or None."""
        return None

    def row_shape(self, d: int) -> tuple[int, ...]:
        """Structure of a point in d dimensions, which learners are told as ``shape``; empty if it has none.

        (channels, height, width) for an image, (length, alphabet) for a sequence. The numbers of the first channel, or
        of the first position, come first in a point; the product of the shape is d.
        """
        return ()

    def law(self, rng: np.random.Generator, d: int) -> InputLaw:
        """One law in d dimensions; ``rng`` draws its random parts, for example a covariance."""
        return InputLaw(self, d)

    @abstractmethod
    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> Float:
        """m independent points, (m, d).

        Args:
            rng: The random stream of these points.
            m: Number of points.
            law: What ``self.law`` returned.
        """

    def square_mean(self, law: InputLaw) -> Float:
        """E[x_i^2], (d,)."""
        return np.ones(law.d)

    @property
    def independent(self) -> bool:
        """Whether coordinates are independent with mean 0: then products of different ones are orthogonal."""
        return False


class InputLaw:
    """An input law whose random parts are drawn: sampling it needs only a stream of its own."""

    def __init__(self, inputs: Inputs, d: int, **drawn: Float) -> None:
        self.inputs, self.d, self.drawn = inputs, d, drawn

    def sample(self, rng: np.random.Generator, m: int) -> Float:
        """m independent points, (m, d)."""
        return self.inputs.sample(rng, m, self)

    @property
    def square_mean(self) -> Float:
        """E[x_i^2], (d,)."""
        return self.inputs.square_mean(self)


class Family(Settings, ABC):
    """What targets and joint laws have in common: a task draws one member of the family for each replicate."""

    kind: ClassVar[str]
    swept: ClassVar[frozenset[str]] = frozenset()
    """Options that do not change what is drawn, such as ``alphas``; tasks that share a teacher may differ in them."""
    example_d: ClassVar[tuple[int, ...]] = (6, 8, 12, 16, 32, 4, 2, 1)
    """Dimensions that ``bfc-bench check`` tries."""

    @property
    def class_count(self) -> int:
        """C, if values are the numbers 0 ... C - 1 of classes; 0 for real values.

        It is read from ``classes``, a class variable, a property or an option: the number C >= 2. Leave it out for
        real values.
        """
        # No attribute of this class, since pydantic warns of an option that would shadow it.
        return int(getattr(self, "classes", 0))

    def check(self, d: int) -> str | None:
        """Why no member of the family exists in d dimensions, or None: for example, a width is above d."""
        return None

    def row_shape(self, d: int) -> tuple[int, ...]:
        """Structure of a point, see ``Inputs.row_shape``; empty if the family does not decide it."""
        return ()

    def check_teacher(self, other: Self) -> str | None:
        """Why equal streams draw different members for this family and ``other``, of the same kind, or None."""
        mine, its = self.plain(), other.plain()
        if different := [name for name in mine if mine[name] != its[name] and name not in self.swept]:
            may = f"; only {' and '.join(sorted(self.swept))} may differ" if self.swept else ""
            return f"both need the same {' and '.join(different)} of {self.kind!r}{may}"
        return None


class Target(Family):
    """A family of target functions. Its annotated fields are its options in a suite."""

    example_inputs: ClassVar[tuple[Inputs, ...]] = ()
    """Input laws that ``bfc-bench check`` tries; empty: the built-in ones."""

    @property
    def degrees(self) -> tuple[int, ...]:
        """Degrees >= 1, ascending, of the spherical harmonics that make up the target on the sphere, where known.

        Learners may use them to decide whether they apply (``TaskFacts.degrees``), never in a fit.
        """
        return ()

    @property
    def shares(self) -> tuple[float, ...]:
        """Share of each of ``degrees`` in the variance on the sphere, sum 1, if it is the same for every teacher."""
        return ()

    def check_inputs(self, inputs: Inputs) -> str | None:
        """Why this target does not go with an input law, or None: for example, it needs the sphere."""
        return None

    @abstractmethod
    def draw(self, rng: np.random.Generator, law: InputLaw) -> Teacher:
        """Draw one member of the family from ``rng``, for inputs of ``law``."""


class JointLaw(Family):
    """A family of distributions of (x, y), for tasks whose y is no function of x, or whose x is made from y.

    It replaces an input law and a target. Its annotated fields are its options in a suite.
    """

    @property
    def dimension(self) -> int | None:
        """The dimension d of x if the options determine it, so that a suite may leave d out; else None."""
        return None

    @abstractmethod
    def draw(self, rng: np.random.Generator, d: int) -> PointSource:
        """Draw one member of the family from ``rng``, in d dimensions."""


class Drawn:
    """What a teacher and a point source have in common."""

    facts: Mapping[str, object] = MappingProxyType({})
    """Plain facts that a learner may ask for, such as ``alphas``."""

    def hidden(self, x: Float) -> Mapping[str, Float]:
        """Hidden features {"S2": (m, k_2), ...} at x (m, d), sqrt(alpha_l) S*_l in the paper's notation; may be empty.

        The sum of their squares is the layer's term in G*, with the signs of the read-out where it has some.
        """
        return {}

    def part_errors(self, x: Float, prediction: Float) -> Mapping[str, float]:
        """Errors of predictions (m,) at x (m, d) in named parts of G*, each over its part's variance.

        The estimates are unbiased and averaged as they are, so they may be negative. Empty for a target without parts.
        It is called for real values only.
        """
        return {}


class Teacher(Drawn, ABC):
    """One target function G*: R^d -> R, or R^d -> {0, ..., C - 1} for a target with classes."""

    @abstractmethod
    def __call__(self, x: Float) -> Float:
        """G*(x), (m,), for x (m, d); numbers of classes are floating-point numbers too."""


class PointSource(Drawn, ABC):
    """One distribution of (x, y)."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, m: int) -> tuple[Float, Float]:
        """m independent points from the stream ``rng``: x (m, d) and y (m,), real numbers or numbers of classes."""

    def expected(self, x: Float) -> Float | None:
        """G*(x) = E[y | x], (m,), for x (m, d), or the number of the likeliest class; None if it is not known.

        Errors are measured against it. Without it they are measured against the y of the test points.
        """
        return None

    @property
    def square_mean(self) -> Float | None:
        """E[x_i^2], (d,), or None if it is not known."""
        return None


class Labels(Settings, ABC):
    """How labels are made from target values. Its annotated fields are its options in a suite.

    The learner may see other inputs than the target: a labelling may add ``columns`` of its own and mix all columns.
    """

    kind: ClassVar[str]
    takes: ClassVar[frozenset[LabelKind]] = frozenset({"real"})
    """Kinds of values that it can label: real numbers, or classes of a target, a joint law or a data set."""
    label_kind: ClassVar[LabelKind] = "real"
    """Kind of the labels that it makes from real values."""
    unit_variance: ClassVar[bool] = False
    """Whether the target is divided by its standard deviation first."""
    columns: ClassVar[int] = 0
    """Number of columns that the learner sees besides the target's d."""

    @property
    def margin_column(self) -> int | None:
        """The column whose value is added to G* before the sign is taken, where the learner may know it."""
        return None

    @property
    def facts(self) -> Mapping[str, object]:
        """Plain facts; ``opt`` = E(G* - Y)^2 / Var G* where real labels Y differ from the target."""
        return {}

    @property
    def noise_variance(self) -> float | None:
        """Variance of noise independent of the inputs, over the target's; None for labels made otherwise."""
        return None

    def kind_of(self, values: LabelKind) -> LabelKind:
        """Kind of the labels made from ``values``: ``label_kind`` for real values; classes stay what they are."""
        return self.label_kind if values == "real" else values

    def check_values(self, values: LabelKind) -> str | None:
        """Why this labelling does not go with values of this kind, or None."""
        if values in self.takes:
            return None
        return f"labels of kind {self.kind!r} are made from {' or '.join(sorted(self.takes))} values, not {values} ones"

    def check_inputs(self, inputs: Inputs) -> str | None:
        """Why this labelling does not go with an input law, or None."""
        return None

    def check_data(self) -> str | None:
        """Why this labelling does not go with a data set or a joint law, which have no input law, or None."""
        return f"labels of kind {self.kind!r} need a law of inputs" if self.columns else None

    def draw(self, rng: np.random.Generator, law: InputLaw, target: Target) -> Mapping[str, Any]:
        """The random parts of the labelling itself, by name, for example a direction.

        Args:
            rng: The random stream of the labelling.
            law: The law of the target's inputs.
            target: The target, before a teacher is drawn.
        """
        return {}

    def add_columns(self, rng: np.random.Generator, x: Float, labelling: Labelling) -> Float:
        """The inputs as the learner sees them, (m, d + columns).

        Args:
            rng: The random stream of these points' additional columns.
            x: The target's inputs, (m, d).
            labelling: This labelling with its random parts.
        """
        return x

    @abstractmethod
    def label(self, rng: np.random.Generator, seen: Float, values: Float, labelling: Labelling) -> Float:
        """Labels, (m,).

        Args:
            rng: The random stream of these labels.
            seen: The inputs as the learner sees them, (m, d + columns).
            values: The target's values, (m,).
            labelling: This labelling with its random parts.
        """

    def square_mean(self, labelling: Labelling) -> Float | None:
        """E[x_i^2] of the inputs that the learner sees, (d + columns,); None if they have no law."""
        return None if labelling.law is None else labelling.law.square_mean


@dataclass(frozen=True)
class Labelling:
    """A labelling whose random parts are drawn: labelling points needs only a stream of its own."""

    labels: Labels
    law: InputLaw | None
    """None for a data set and for a joint law."""
    mean: float
    """E[G*]; for a data set the mean of the values in the training pool."""
    deviation: float
    """Standard deviation of G*; for a data set that of the values in the training pool."""
    drawn: Mapping[str, Any]
    """What ``Labels.draw`` returned."""
    classes: int = 0
    """C if values are numbers of classes, else 0."""

    def add_columns(self, rng: np.random.Generator, x: Float) -> Float:
        """See ``Labels.add_columns``."""
        return self.labels.add_columns(rng, x, self)

    def label(self, rng: np.random.Generator, seen: Float, values: Float) -> Float:
        """See ``Labels.label``.

        Args:
            rng: The random stream of these labels.
            seen: The inputs as the learner sees them, (m, d + columns).
            values: The target's values, (m,).
        """
        return self.labels.label(rng, seen, values, self)


@dataclass(frozen=True, eq=False)
class LabelledPoints:
    """N points of a data set."""

    x: np.ndarray
    """(N, d), of any real type; converted to float64 when points are drawn."""
    y: np.ndarray
    """(N,): real values, or the numbers 0 ... C - 1 of classes."""

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True)
class TableColumns:
    """Columns of x that are encoded when points are drawn, because some hold categories or may have gaps."""

    columns: tuple[Column, ...]
    """The k columns. x has the numbers of a category's levels, and NaN for a missing value."""
    keep_categories: bool = False
    """Whether learners that take frames get categories as they are."""
    fill: Literal["median", "mean", "keep"] = "median"
    """What missing numbers become: statistics of the n training points; ``keep`` for the median, but as they are for
    learners that take frames."""


@dataclass(frozen=True, eq=False)
class DataSetContents:
    """The points of a data set and what is known about them."""

    points: LabelledPoints
    """Points to train on, and to test on if ``test`` is None."""
    test: LabelledPoints | None = None
    """The data set's own test part."""
    classes: tuple[str, ...] = ()
    """Names of the C >= 2 classes; empty for real values."""
    shape: tuple[int, ...] = ()
    """(channels, height, width), in this order, if a row of x is an image; else empty."""
    columns: tuple[str, ...] = ()
    """Names of the d columns, if they have names."""
    divisor: float = 1.0
    """Number by which x is divided when points are drawn, for example 255 for images of bytes."""
    table: TableColumns | None = None
    """The columns of x if they are encoded when points are drawn; x may then have NaN for missing values."""
    groups: np.ndarray | None = None
    """Number of each point's group, (N,), where no group may be on both sides; then there is no test part."""
    times: np.ndarray | None = None
    """Time of each point, (N,), where the last ones are tested on; then there is no test part."""

    @property
    def tested(self) -> LabelledPoints:
        """The points to test on."""
        return self.test or self.points


class DataSet(Settings, ABC):
    """Points and labels that exist already. Its annotated fields are its options in a suite.

    An option named ``path`` or ``..._path`` is a file, relative to the folder of the suite file. Cells are identified
    by the contents of the file, not by its path.
    """

    kind: ClassVar[str]
    reading: ClassVar[frozenset[str]] = frozenset()
    """Options that only say how a file is read. Contents identify cells, so these do not."""
    standardize: bool = False
    """Whether each column, or each channel of images, is brought to mean 0 and deviation 1 by the n training points
    alone."""
    whiten: Literal["none", "zca"] = "none"
    """``zca`` makes columns uncorrelated with variance 1 by the map that changes points least, fitted to the n training
    points alone, after any standardisation."""
    stratify: bool = False
    """Whether the first n points contain each class in its share of the pool, up to whole points."""

    @abstractmethod
    def load(self) -> DataSetContents:
        """All points, the same at every call. Raises ``UsageError`` that names the file and says what is wrong."""

    def missing_files(self) -> str | None:
        """What to type to get what ``load`` needs, or None if it is there."""
        return None

    def get(self) -> str:
        """Fetch what ``load`` needs and return where it lies. Raises ``UsageError`` if it cannot be fetched."""
        raise UsageError(f"data set {self.kind!r} is not one that can be fetched; it reads files of yours.")

    @staticmethod
    def is_path(option: str) -> bool:
        """Whether an option names a file."""
        return option == "path" or option.endswith("_path")
