"""The contract between the framework and a learner: what a learner is given, and what it returns.

To write a learner, derive from ``Learner``, annotate its options as fields, and return a ``Predictor`` from ``fit``.

Shapes: n training points, m points to predict, d input dimension, C classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, SupportsIndex, TypeAlias

from typing_extensions import TypeVar  # typing.TypeVar has defaults from Python 3.13 on

from bfc_bench.config import Settings
from bfc_bench.errors import BenchError, Diverged, UsageError

if TYPE_CHECKING:
    import numpy as np

Array: TypeAlias = Any
"""A NumPy array, a torch tensor or a JAX array: the first kind in ``Capabilities.arrays``.

Type checkers see ``Any``, since the kind is only known at run time. Annotate the kind that your learner asks for.
"""

ArrayKind: TypeAlias = Literal["numpy", "torch", "jax"]
LabelKind: TypeAlias = Literal["real", "binary", "class"]
"""Kind of the labels y (n,): real numbers; -1 or +1; or the number of a class, 0 ... C - 1, with C >= 3."""
Precision: TypeAlias = Literal["float64", "float32", "float64 or float32"]
Work: TypeAlias = Literal["products", "steps", "other"]
"""The operations that dominate a fit, which determine its speed: ``products`` and factorisations of large float64
matrices, training ``steps`` on small matrices, or ``other``."""
FailureStatus: TypeAlias = Literal["failed", "diverged", "out-of-memory"]

L_co = TypeVar("L_co", bound="Learner", default="Learner", covariant=True)
"""The class of a job's learner."""


@dataclass(frozen=True)
class Capabilities:
    """What a learner can do. The framework skips a cell that needs more, and the row says why."""

    labels: frozenset[LabelKind] = frozenset({"real"})
    """Label kinds it fits: ``real`` numbers; ``binary``, -1 or +1, where the sign of a prediction is the class;
    ``class``, 0 ... C - 1, where a prediction is a score for each class and the largest is the class."""
    arrays: tuple[ArrayKind, ...] = ("numpy",)
    """Array libraries it accepts, the preferred one first."""
    devices: frozenset[Literal["cpu", "cuda"]] = frozenset({"cpu"})
    """Devices it runs on: ``cpu``, ``cuda`` or both."""
    max_n: int | None = None
    """The largest training set that it is meant for; None sets no limit."""
    precision: Precision | None = None
    """The floating-point type in which it trains, ``float64 or float32`` where an option chooses it; None: the type of
    its arrays. The arrays do not depend on this: they are float64, in JAX float32 unless the process has x64
    enabled."""
    oracle: frozenset[str] = frozenset()
    """Facts about the target that it can be told, such as ``alphas``; ``Learner.oracle`` returns those that its options
    ask for."""
    libraries: frozenset[str] = frozenset()
    """Distributions that every fit imports (``jax``, ``xgboost``), besides that of its arrays; ``Learner.libraries``
    adds those that only some options need. They are imported before a cell's clock starts."""
    one_pass: bool = False
    """Whether a fit goes once through the points in their order and draws its random numbers in that order, so that on
    the way to n points it passes through what it has learned from any m < n. Its stages named ``n<m>`` are then the
    fits to the first m points."""
    frames: bool = False
    """Whether x may be a pandas frame with names, categories and missing values, where a table keeps them;
    ``Learner.takes_frames`` may decide it by the options. Other learners get numbers, without gaps."""

    @property
    def required(self) -> frozenset[str]:
        """Distributions that every fit needs: ``libraries`` and the one of its arrays."""
        return self.libraries | {self.arrays[0]} - {"numpy"}


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    levels: tuple[str, ...] = ()
    """Names of its categories, in order; empty for numbers."""


@dataclass(frozen=True)
class DataSpec:
    """What is known of a training set before it is generated."""

    sample: str
    """Identity of the nested sample: two sets with the same identity are prefixes of one sequence of (x, y) pairs."""
    n: int
    d: int
    kind: LabelKind = "real"
    classes: int = 0
    """C for labels of kind ``class``; 0 for other labels."""
    shape: tuple[int, ...] = ()
    """Structure of a row of x: (channels, height, width), in this order, for an image; (length, alphabet) for a
    sequence, whose positions follow each other in the row, each with a number per letter; else (d,)."""
    columns: tuple[Column, ...] = ()
    """The d columns if x is a pandas frame, for learners that take frames; else empty."""

    def __post_init__(self) -> None:
        if not self.shape:
            object.__setattr__(self, "shape", (self.d,))


@dataclass(frozen=True)
class Data(DataSpec):
    """A training set."""

    x: Array = field(default=None, repr=False)
    """Inputs, (n, d); a pandas frame if there are ``columns``."""
    y: Array = field(default=None, repr=False)
    """Labels, (n,), always floating-point numbers."""


@dataclass(frozen=True)
class Context:
    """What a learner is told besides its training points."""

    seed: int = 0
    """Seed for all random numbers of the fit."""
    device: str = "cpu"
    """``cpu`` or ``cuda``."""
    square_mean: np.ndarray | None = field(default=None, repr=False)
    """E[x_i^2] under the input law, (d,), float64; None where no law is known (use the mean over the training
    inputs)."""
    unlabeled: Array = field(default=None, repr=False)
    """Inputs without labels, (n_0, d); None where the task offers none."""
    margin_column: int | None = None
    """For binary labels sgn(x_c + G*), where G* is a function of the other columns: the column c. None for other
    labels, or where c is not known. Predictions are margins: they include x_c."""
    oracle: Mapping[str, Any] = field(default_factory=dict)
    """The facts that ``Learner.oracle()`` asked for, by name."""
    seconds: float | None = None
    """Wall time, in seconds, that the fit may take; None if unlimited."""
    memory_bytes: int | None = None
    """Memory, in bytes, that the fit may take; None if unlimited."""


@dataclass(frozen=True)
class Job(Generic[L_co]):
    """One fit: a learner, its training set and its context."""

    learner: L_co
    train: Data
    ctx: Context


@dataclass(frozen=True)
class Failure:
    """What ``fit_batch`` returns in place of a predictor for a job that failed."""

    status: FailureStatus
    reason: str
    """Text that the row shows. A reason that is not a text, or an unknown status, is reported as a failure itself."""
    traceback: str = ""


@dataclass(frozen=True)
class Cost:
    """Estimated resources of one fit, used to plan runs, to check budgets, to form batches and to show error against
    compute."""

    flops: float
    """Work of the fit on its own: a product and a sum count as two operations. A function of a number, such as exp,
    counts as the operations that take as long."""
    bytes: float
    """Peak memory, in bytes."""
    work: Work = "other"
    """The operations that dominate ``flops``."""
    seconds: float = 0.0
    """CPU seconds on one core that flops do not account for, for example those of many small calls."""
    counted: float | None = None
    """Products and sums of the fit on its own, as libraries count them: without functions of numbers, and without work
    that only tuning needs. None: ``flops``. Rows have it as ``fit_flops``."""
    parameters: int | None = None
    """Numbers that the fit determines and the predictor keeps: the weights of a network, one coefficient per training
    point of a kernel method; None if unknown. Rows have it as ``parameters``."""
    note: str = ""
    """What may make a fit cost more or less, a sentence that ``plan`` prints beside its estimate."""

    @property
    def fit_flops(self) -> float:
        """The operations that rows report: ``counted``, or ``flops``."""
        return self.flops if self.counted is None else self.counted


@dataclass(frozen=True)
class Theory:
    """The learning curve that theory predicts, without parameters fitted to results."""

    nmse: Callable[[float], float]
    """Expected error on fresh points against the target itself, over the target's variance, at n > 0 training
    points."""
    source: str
    """The publication it comes from, for readers of the results."""


class Predictor(ABC):
    """A fitted model. It holds all fitted state; a learner only describes how to fit."""

    info: Mapping[str, Any] = MappingProxyType({})
    """Plain facts about the fit, such as chosen hyper-parameters, the final loss or the oracle facts used. Stored as
    JSON: arrays as lists, values that are not finite as null, other objects as their text."""
    stages: Mapping[str, Predictor] = MappingProxyType({})
    """Intermediate predictors by name, in the order of training; each is measured like the final one."""
    caution: str = ""
    """What readers of this result must know, such as that training ended too early. The row's ``reason`` has it."""

    @abstractmethod
    def predict(self, x: Array) -> Array:
        """Predictions (m,) at ``x`` (m, d); both are arrays of the kind that ``fit`` was given.

        For labels of kind ``class``: scores (m, C); the class of a row is its largest score.
        """

    def probabilities(self, x: Array) -> Array | None:
        """Class probabilities at ``x`` (m, d), or None where the model has none.

        For binary labels those of the class +1, (m,); for labels of kind ``class`` (m, C), with rows of sum 1.
        """
        return None

    def hidden(self, x: Array) -> Mapping[str, Array]:
        """Hidden features by layer, ``{"S2": (m, width), ...}``, at ``x`` (m, d).

        Order the columns by decreasing importance: the framework compares the first k_l of them with the k_l of the
        target. Scale them so that the sum of their squares is the layer's term in the prediction. Directions without a
        scale are allowed: ``span_errors`` depend on what the columns span alone, the other measures then mean nothing.
        """
        return {}

    def artifacts(self) -> Mapping[str, bytes]:
        """Small files to keep with the cell, by name: ``.png``, ``.npz``, ``.csv`` or ``.json``, at most 4 MB together.

        The framework calls this once, after it has measured errors and within the cell's limits of time and memory. If
        it raises, the row keeps its errors and reports the exception.
        """
        return {}


class Learner(Settings, ABC):
    """A learning algorithm with its options: the annotated fields are the options, unknown options are errors.

    Only ``fit`` is required. All other methods have correct defaults; those that you override must agree with ``fit``.
    """

    name: ClassVar[str]
    """The name by which suites call it."""
    version: ClassVar[int] = 1
    """Raise it when equal options begin to give other results, after a changed default or a corrected error. It is part
    of a cell's identity, so that results of different versions never mix."""
    capabilities: ClassVar[Capabilities] = Capabilities()
    smoke: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Options that make a fit take well under a second, for ``check_learner``."""
    example: ClassVar[str | None] = None
    """For a learner that is only used through its variants: the path of a variant that represents them."""
    search: ClassVar[Mapping[str, Sequence[Any]]] = MappingProxyType({})
    """Values per option from which the framework chooses on a validation part, unless a suite gives others."""

    @abstractmethod
    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Fit to the n training points. Raise ``Diverged`` when training produces values that are not finite."""

    def batch_key(self, train: DataSpec) -> Hashable:
        """Jobs with equal keys are passed to ``fit_batch`` together; with None, the default, jobs are fitted alone."""
        return None

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Fit jobs of one batch key; one result per job, in order. If this raises, the jobs are fitted one by one."""
        return [job.learner.fit(job.train, job.ctx) for job in jobs]

    @classmethod
    def predict_batch(cls, predictors: Sequence[Predictor], xs: Sequence[Array]) -> Sequence[Array]:
        """Predictions of each predictor at its own inputs, in order."""
        return [predictor.predict(x) for predictor, x in zip(predictors, xs, strict=True)]

    def cost(self, n: int, d: int) -> Cost | None:
        """Estimated resources of one fit at n points in d dimensions, or None when unknown."""
        return None

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """Why this learner does not apply to the task at n points, so that the cell is skipped, or None."""
        return None

    def caution(self, task: TaskFacts, n: int) -> str | None:
        """What readers of results on this task must know, such as a part of the target that it cannot express, or None.

        The cell is run. ``plan`` and ``run`` print the caution, and the row keeps it as its ``reason``.
        """
        return None

    def theory(self, task: TaskFacts) -> Theory | None:
        """The learning curve that theory predicts for these options on the task, or None where there is none.

        Reports draw it beside the measured curve, and claims of kind ``follows`` are judged by it. No result depends on
        it.
        """
        return None

    def oracle(self) -> frozenset[str]:
        """Facts about the target that these options ask for, among ``capabilities.oracle``. Every row shows them."""
        return frozenset()

    def libraries(self) -> frozenset[str]:
        """Distributions that a fit with these options imports, by their names on PyPI.

        If one is not installed, the cell is skipped, and its reason names the extra of bfc-bench that installs it.
        """
        return self.capabilities.required

    def takes_frames(self) -> bool:
        """Whether x may be a pandas frame, with the columns that the training set's ``columns`` describe.

        Categories have pandas' categorical type, and missing values are NaN.
        """
        return self.capabilities.frames

    def assumes(self) -> Mapping[str, Any]:
        """What these options assume about the target without being told, by the name of the target's fact (``depth``).

        Where the target's own fact is equal, the row lists it beside the oracle's facts.
        """
        return {}

    @classmethod
    def variant(cls, path: str) -> type[Learner]:
        """The learner named ``<this learner's name>:<path>``. Raises ``UsageError`` unless overridden."""
        raise UsageError(f"learner {cls.name!r} has no variants; write {cls.name!r} without ':{path}'.")

    def options(self) -> dict[str, Any]:
        """All options with their values, as plain data."""
        return self.plain()

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Pickles a variant by the class and the path that it was made from, since its own class has no module."""
        made_from: type[Any] = next(cls for cls in type(self).__mro__ if "variant" in vars(cls))
        reduced, is_variant = super().__reduce_ex__(protocol), made_from is not Learner and ":" in self.name
        return (
            (_blank, (made_from, self.name.removeprefix(f"{made_from.name}:")), *reduced[2:]) if is_variant else reduced
        )


def _blank(learner: type[Learner], path: str) -> Learner:
    """A learner of a variant, for pickle to fill with options."""
    return learner.variant(path).model_construct()


class BatchLearner(Learner):
    """A learner written for batches: ``fit_batch`` is required, and ``fit`` is a batch of one."""

    @classmethod
    @abstractmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Fit jobs of one batch key, in order; each result must be the one that the job gives alone."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Fit to the n training points. Raises ``Diverged``, or ``BenchError`` for any other ``Failure``."""
        (outcome,) = self.fit_batch([Job(self, train, ctx)])
        if isinstance(outcome, Failure):
            raise (Diverged if outcome.status == "diverged" else BenchError)(outcome.reason)
        return outcome


@dataclass(frozen=True)
class TaskFacts:
    """What a learner may know about a task when it decides whether it applies."""

    name: str
    inputs: str
    target: str
    labels: str
    kind: LabelKind
    d: int
    unlabeled: int
    """Number of inputs without labels that the task offers."""
    degrees: tuple[int, ...] = ()
    """Degrees >= 1 of the spherical harmonics that make up the target on the sphere; empty where not declared."""
    shares: tuple[float, ...] = ()
    """Share of each of ``degrees`` in the target's variance; empty where unknown."""
    noise_variance: float | None = None
    """Variance of the independent noise in the labels, over the target's variance; None for labels made otherwise."""
    classes: int = 0
    """C for labels of kind ``class``; 0 for other labels."""
    shape: tuple[int, ...] = ()
    """(channels, height, width) if a row of x is an image, (length, alphabet) if it is a sequence; else (d,)."""
    data: str = ""
    """Kind of the data set; empty for generated points. A data set has no known input law and no target function:
    ``inputs`` and ``target`` are then empty."""
    law: str = ""
    """Kind of the joint law of (x, y); ``inputs`` and ``target`` are then empty. Empty for other tasks."""
    options: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    """All options of the target or of the joint law, defaults included, as plain data; empty for data. Read-only."""
    input_options: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    """The same for the input law; empty where there is none."""

    def __post_init__(self) -> None:
        if not self.shape:
            object.__setattr__(self, "shape", (self.d,))
