"""The contract between the framework and a learner: what it is given, what it returns.

Shapes: n training points, m points to predict, d input dimension.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeAlias

from typing_extensions import TypeVar  # typing.TypeVar has defaults from Python 3.13 on

from bfc_bench.config import Settings
from bfc_bench.errors import BenchError, Diverged, UsageError

if TYPE_CHECKING:
    import numpy as np

Array: TypeAlias = Any
"""A NumPy array, a torch tensor or a JAX array: what ``Capabilities.arrays`` names first.

That is known at run time only, so to type checkers it is anything; a learner annotates the kind that it asks for.
"""

ArrayKind: TypeAlias = Literal["numpy", "torch", "jax"]
LabelKind: TypeAlias = Literal["real", "binary", "class"]
"""What labels y (n,) are: real numbers; -1 or +1; or the number of a class, 0 ... C - 1, of C >= 3."""
Precision: TypeAlias = Literal["float64", "float32", "float64 or float32"]
Work: TypeAlias = Literal["products", "steps", "other"]
"""What most of a fit's flops are, which says how fast they go: products and factors of large matrices in float64, steps
of training, whose matrices are small, or neither."""
FailureStatus: TypeAlias = Literal["failed", "diverged", "out-of-memory"]

L_co = TypeVar("L_co", bound="Learner", default="Learner", covariant=True)
"""The class of a job's learner."""


@dataclass(frozen=True)
class Capabilities:
    """What a learner can do. The framework skips a cell, with a reason, that asks for more."""

    labels: frozenset[LabelKind] = frozenset({"real"})
    """Label kinds it fits: ``real`` numbers, ``binary`` in {-1, +1} (its prediction's sign is the class), ``class`` in
    {0, ..., C - 1} (it predicts a score for each class, of which the largest is the class)."""
    arrays: tuple[ArrayKind, ...] = ("numpy",)
    """Array libraries it accepts, the preferred one first."""
    devices: frozenset[str] = frozenset({"cpu"})
    """Devices it runs on, of ``cpu`` and ``cuda``."""
    max_n: int | None = None
    """The largest training set it is meant for, or None."""
    precision: Precision | None = None
    """The floating-point type in which it trains, both where its options choose one; None: that of the arrays it gets.
    Those are float64, whatever is said here, and of JAX float32 unless the process has x64 enabled."""
    oracle: frozenset[str] = frozenset()
    """Facts about the target it can be told (``alphas``); ``Learner.oracle`` says which its options ask for."""
    libraries: frozenset[str] = frozenset()
    """Distributions that every fit imports (``jax``, ``xgboost``), besides the one of its arrays;
    ``Learner.libraries`` adds those that some options need."""

    @property
    def required(self) -> frozenset[str]:
        """``libraries`` with that of the arrays: what has to be installed whatever the options are."""
        return self.libraries | {self.arrays[0]} - {"numpy"}


@dataclass(frozen=True)
class DataSpec:
    """What is known of a training set before it is generated."""

    sample: str
    """Identity of the nested sample: two sets with one identity are prefixes of one sequence of (x, y) pairs."""
    n: int
    d: int
    kind: LabelKind = "real"
    classes: int = 0
    """C, the number of classes, where labels are of kind ``class``; 0 elsewhere."""
    shape: tuple[int, ...] = ()
    """(channels, height, width) where a row of x is an image, in that order; else (d,)."""

    def __post_init__(self) -> None:
        if not self.shape:
            object.__setattr__(self, "shape", (self.d,))


@dataclass(frozen=True)
class Data(DataSpec):
    """A training set."""

    x: Array = field(default=None, repr=False)
    """Inputs, (n, d)."""
    y: Array = field(default=None, repr=False)
    """Labels, (n,). Classes are given as floating-point numbers too."""


@dataclass(frozen=True)
class Context:
    """What a learner may know besides its training points."""

    seed: int = 0
    device: str = "cpu"
    square_mean: np.ndarray | None = field(default=None, repr=False)
    """E[x_i^2] under the input law, (d,), float64; None where no law is known (use the training mean then)."""
    unlabeled: Array = field(default=None, repr=False)
    """Inputs without labels, (n_0, d), where the task offers them."""
    margin_column: int | None = None
    """For binary labels sgn(x_c + G*(x)) the column c of x that is added, as it is, to a function of the other columns
    before the sign is taken; None where labels are not made so, or the column is not known. Predictions are margins:
    they contain x_c."""
    oracle: Mapping[str, Any] = field(default_factory=dict)
    """The facts that ``Learner.oracle()`` asked for, nothing else."""
    seconds: float | None = None
    """Wall time this fit may take."""
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Job(Generic[L_co]):
    """One fit: a learner with its options, its training set, its context."""

    learner: L_co
    train: Data
    ctx: Context


@dataclass(frozen=True)
class Failure:
    """What ``fit_batch`` returns in the place of a predictor for a job that failed."""

    status: FailureStatus
    reason: str
    """What readers of the row are told. One that is no text, or an unknown status, is a failure of its own."""
    traceback: str = ""


@dataclass(frozen=True)
class Cost:
    """The resources of one fit, for planning, admission and chunking."""

    flops: float
    """The work of the fit by itself. A function of a number, such as exp, counts as what is done in its time."""
    bytes: float
    """Peak memory."""
    shared: Mapping[Any, float] = field(default_factory=dict)
    """The parts of ``flops`` that ``fit_batch`` does once for its jobs on one sample, each under a name of its own: of
    equal names in a batch the largest part counts, once. Whatever else must be equal for that belongs to the name."""

    work: Work = "other"
    """What most of ``flops`` are."""
    seconds: float = 0.0
    """CPU seconds of a core that flops do not tell: of many small calls, say."""

    @property
    def own(self) -> float:
        """Flops that no other job does."""
        return self.flops - sum(self.shared.values())


@dataclass(frozen=True)
class Theory:
    """What theory says of a learner on a task, without a parameter that is fitted to results."""

    nmse: Callable[[float], float]
    """The expected error at fresh points against the target itself, over its variance, at n > 0 training points."""
    source: str
    """Where it comes from, for readers of the results."""


class Predictor(ABC):
    """A fitted model. Holds all fitted state, so that a learner stays a description."""

    info: Mapping[str, Any] = {}
    """Plain facts of the fit: chosen hyper-parameters, final loss, oracle facts used. Stored as JSON: arrays as lists,
    what is not finite as null, other objects as their text."""

    @abstractmethod
    def predict(self, x: Array) -> Array:
        """Predictions at ``x`` (m, d), of the array kind that ``fit`` was given.

        (m,); for labels of kind ``class`` scores (m, C), of which the largest in a row is the class.
        """

    def probabilities(self, x: Array) -> Array | None:
        """Probabilities at ``x`` (m, d), or None where the model has none.

        Of the class +1, (m,), for binary labels; of each class, (m, C) with rows of sum 1, for those of kind ``class``.
        """
        return None

    def hidden(self, x: Array) -> Mapping[str, Array]:
        """Hidden features by layer, ``{"S2": (m, width), ...}``.

        Columns come in order of decreasing importance (the framework compares the first k_l of them with the target's
        k_l), scaled so that the layer's term in the prediction is the sum of their squares.
        """
        return {}

    @property
    def stages(self) -> Mapping[str, Predictor]:
        """Intermediate predictors in the order of training, by name; each is measured like the final one."""
        return {}

    def artifacts(self) -> Mapping[str, bytes]:
        """Small files to keep with the cell, by name: ``.png``, ``.npz``, ``.csv`` or ``.json``, at most 4 MB together.

        Asked for once, after errors have been measured, within the cell's limits of time and memory. Where it raises,
        the row keeps its errors and says so.
        """
        return {}


class Learner(Settings, ABC):
    """A learning algorithm with its options: the annotated fields are the options, unknown ones are errors.

    Only ``fit`` is required. Every other method has a default that is correct, and must agree with ``fit`` when given.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    """Raised whenever equal options begin to give other results: a changed default, a mended fault. Part of a cell's
    identity, so that results of different versions never mix."""
    capabilities: ClassVar[Capabilities] = Capabilities()
    smoke: ClassVar[Mapping[str, Any]] = {}
    """Options that make a fit take well under a second, for ``check_learner``."""
    example: ClassVar[str | None] = None
    """For a learner that is used through its variants only: the path of one that may stand for it."""
    search: ClassVar[Mapping[str, Sequence[Any]]] = {}
    """Values per option among which the framework chooses on a validation part, unless a suite says otherwise."""

    @abstractmethod
    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Fit to the n training points. Raise ``Diverged`` when training leaves the finite numbers."""

    def batch_key(self, train: DataSpec) -> Hashable:
        """Jobs with equal keys are handed to ``fit_batch`` together; None (the default) means never."""
        return None

    @classmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Fit jobs of one batch key; one result per job, in order. Where it raises, the jobs are fitted one by one."""
        return [job.learner.fit(job.train, job.ctx) for job in jobs]

    @classmethod
    def predict_batch(cls, predictors: Sequence[Predictor], xs: Sequence[Array]) -> Sequence[Array]:
        """Predictions of each predictor at its own inputs."""
        return [predictor.predict(x) for predictor, x in zip(predictors, xs, strict=True)]

    def cost(self, n: int, d: int) -> Cost | None:
        """Resources of one fit at this size, or None when unknown."""
        return None

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """The reason why this learner does not apply to the task at this size, or None."""
        return None

    def caution(self, task: TaskFacts, n: int) -> str | None:
        """What readers of a result on this task must know, such as a part of the target that no function of this
        learner has, or None. The cell is run; plan and run print it, and the row keeps it as its ``reason``.
        """
        return None

    def theory(self, task: TaskFacts) -> Theory | None:
        """The learning curve that theory gives for these options on the task, or None where there is none.

        It is drawn beside what is measured, and claims of kind ``follows`` are judged by it; no result depends on it.
        """
        return None

    def oracle(self) -> frozenset[str]:
        """Facts about the target that these options ask for; at most ``capabilities.oracle``. Shown in every row."""
        return frozenset()

    def libraries(self) -> frozenset[str]:
        """Distributions that a fit with these options imports, as they are named on PyPI.

        Where one is not installed, the cell is skipped, and its reason names the extra of bfc-bench that installs it.
        """
        return self.capabilities.required

    def supposes(self) -> Mapping[str, Any]:
        """What these options take for granted of the target's form and could not know, by the name of the target's
        fact (``depth``, ``skips``). Where the target's own fact is equal, a row says so beside the oracle's facts.
        """
        return {}

    @classmethod
    def variant(cls, path: str) -> type[Learner]:
        """The learner that the name ``<this learner's name>:<path>`` stands for. Raises ``UsageError``: none here."""
        raise UsageError(f"learner {cls.name!r} has no variants; write {cls.name!r} without ':{path}'.")

    def options(self) -> dict[str, Any]:
        """All options with their values, as plain data."""
        return self.plain()


class BatchLearner(Learner):
    """A learner that is written for batches: ``fit_batch`` is required, and ``fit`` is a batch of one."""

    @classmethod
    @abstractmethod
    def fit_batch(cls, jobs: Sequence[Job[Self]]) -> Sequence[Predictor | Failure]:
        """Fit jobs of one batch key, in order; each must come out as it would alone."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Fit to the n training points. Raises ``Diverged`` or, for any other ``Failure``, ``BenchError``."""
        (outcome,) = self.fit_batch([Job(self, train, ctx)])
        if isinstance(outcome, Failure):
            raise (Diverged if outcome.status == "diverged" else BenchError)(outcome.reason)
        return outcome


@dataclass(frozen=True)
class TaskFacts:
    """What a learner may know of a task when it decides whether it applies."""

    name: str
    inputs: str
    target: str
    labels: str
    kind: LabelKind
    d: int
    unlabeled: int
    degrees: tuple[int, ...] = ()
    """Degrees >= 1 of the spherical harmonics that make up the target on the sphere; empty where none are declared."""
    shares: tuple[float, ...] = ()
    """Share of each of ``degrees`` in the target's variance; empty where it is not known."""
    noise_variance: float | None = None
    """Variance, over the target's, of the independent noise in the labels; None where labels are made otherwise."""
    classes: int = 0
    """C, the number of classes, where labels are of kind ``class``; 0 elsewhere."""
    shape: tuple[int, ...] = ()
    """(channels, height, width) where a row of x is an image; else (d,)."""
    data: str = ""
    """The kind of data set where points exist already; then no law of inputs and no target function is known, and
    ``inputs`` and ``target`` are empty."""

    def __post_init__(self) -> None:
        if not self.shape:
            object.__setattr__(self, "shape", (self.d,))


Register: TypeAlias = Callable[..., None]
