"""Base classes of tasks, and of their problems: one for each seed, input dimension and replicate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np

from bfc_bench.config import plain_option
from bfc_bench.errors import UsageError, suggest
from bfc_bench.learner import Context, Data, DataSpec, LabelKind, TaskFacts
from bfc_bench.seeds import BLOCK, seed_of, stream
from bfc_bench.tasks.base import DataSet, Family, Float, Inputs, Labels
from bfc_bench.tasks.metrics import TargetValues
from bfc_bench.utils.plain_json import digest


@dataclass(frozen=True)
class Task(ABC):
    """What is to be learned, under one name."""

    source: ClassVar[str]
    """What its points come from, in words."""
    name: str
    _: KW_ONLY
    labels: Labels = field(hash=False)
    unlabeled: int = 0
    """Number of inputs without labels that learners are offered."""
    teacher: str = ""
    """The task whose random streams this one uses; empty for its own."""

    @property
    def where(self) -> str:
        """The task, for error messages."""
        return f"task {self.name!r}"

    @property
    def streams(self) -> str:
        """The name that keys every random stream of the task."""
        return self.teacher or self.name

    @property
    @abstractmethod
    def value_classes(self) -> int:
        """The number of classes of the values that are labelled; 0 for real values."""

    @property
    def values_kind(self) -> LabelKind:
        """Kind of the values that are labelled: -1 and +1 for two classes, class numbers for more."""
        classes = self.value_classes
        return "class" if classes > 2 else "binary" if classes else "real"

    def coded(self, values: Float) -> Float:
        """Values (m,) as labellings take them: those of two classes, 0 and 1, as -1 and +1; others unchanged.

        Raises ``UsageError`` for values that are not numbers of the classes.
        """
        classes = self.value_classes
        if not classes:
            return values
        wrong = values[(values != np.floor(values)) | (values < 0) | (values >= classes)]
        if len(wrong):
            raise UsageError(
                f"{self.where}: values must be the numbers 0 ... {classes - 1} of its classes. Got {wrong[0]:g}."
            )
        return 2 * values - 1 if classes == 2 else values

    @property
    def kind(self) -> LabelKind:
        """Kind of its labels."""
        return self.labels.kind_of(self.values_kind)

    @property
    def classes(self) -> int:
        """C for labels of kind ``class``; 0 for other labels."""
        return self.value_classes if self.kind == "class" else 0

    def shape(self, d: int) -> tuple[int, ...]:
        """Structure of a row of x as learners see it: image or sequence, see ``DataSpec``; empty for a vector."""
        return ()

    @property
    def dimension(self) -> int | None:
        """The input dimension d, if the task determines it."""
        return None

    @abstractmethod
    def check(self, d: int) -> str | None:
        """Why this task does not exist in d dimensions, or None."""

    def check_size(self, n: int, test_size: int) -> str | None:
        """Why it lacks n training points if the suite asks for ``test_size`` test points, or None."""
        return None

    def _check_values(self, d: int) -> str | None:
        """Why the labelling does not go with the values, or the shape of a row with d dimensions, or None."""
        if self.value_classes == 1:
            return "there must be 2 classes or more, or real values. Got 1 class"
        if (shape := self.shape(d)) and prod(shape) != d:
            return f"a row of shape {shape} has {prod(shape)} numbers, not d = {d}"
        return self.labels.check_values(self.values_kind)

    def check_teacher(self, other: Task) -> str | None:
        """Why this task cannot have the teacher and the inputs of another, or None: equal streams draw other things."""
        if not isinstance(other, type(self)):
            return f"both need {self.source}; the other has {other.source}"
        for key, part in self.parts.items():
            named = other.parts[key]
            if isinstance(part, Family) and type(part) is type(named):
                return part.check_teacher(named)
            if isinstance(part, Family):
                return f"both need one kind of {key}, not {part.kind!r} and {named.kind!r}"
            if part != named and not isinstance(part, Labels):
                return f"both need the same {key}"
        return None

    @property
    def parts(self) -> Mapping[str, Inputs | Family | DataSet | Labels]:
        """What it consists of, by the table of a suite that says it."""
        return {key: part for key, part in vars(self).items() if isinstance(part, Inputs | Family | DataSet | Labels)}

    def identity(self) -> dict[str, Any]:
        """The task as plain data, without options that have their defaults. Equal tasks give equal samples."""
        others = {"unlabeled": self.unlabeled, "teacher": self.teacher}
        return {
            "name": self.name,
            **{key: {"kind": part.kind, **part.changed()} for key, part in self.parts.items()},
            **{key: value for key, value in others.items() if value},
        }

    def facts(self, d: int) -> TaskFacts:
        """What a learner may know when it decides whether it applies."""
        return TaskFacts(
            name=self.name,
            inputs="",
            target="",
            labels=self.labels.kind,
            kind=self.kind,
            d=d + self.labels.columns,
            unlabeled=self.unlabeled,
            classes=self.classes,
            shape=self.shape(d),
        )

    @abstractmethod
    def problem(self, seed: int, d: int, replicate: int, test_size: int) -> Problem:
        """The problem of one replicate; nothing is drawn yet."""

    def test_points(self, test_size: int) -> int:
        """Number of test points if the suite asks for ``test_size``."""
        return test_size


class Problem(ABC):
    """The points of one replicate, drawn on first use from streams that depend on their purpose alone.

    All arrays are float64 and read-only: every learner of the problem sees the same ones. In shapes, d is the task's
    input dimension; learners see d' = d + ``task.labels.columns`` columns.
    """

    task: Task

    def __init__(self, task: Task, seed: int, d: int, replicate: int, test_size: int) -> None:
        if reason := task.check(d):
            raise UsageError(f"{task.where}: {reason}.")
        self.task, self.seed, self.d, self.replicate, self.test_size = task, seed, d, replicate, test_size

    @cached_property
    def sample(self) -> str:
        """Identity of the nested training sample: a digest of everything that determines it."""
        return digest([self.seed, self.task.identity(), self.d, self.replicate])

    @property
    def square_mean(self) -> Float | None:
        """E[x_i^2] of the columns that learners see, (d',); None if inputs have no law."""
        return None

    @property
    def test_pool(self) -> int | None:
        """Number of points from which the test points of all replicates are drawn; None if each draws new ones."""
        return None

    @property
    def framed(self) -> Problem:
        """This problem for learners that take frames; itself unless its points are a table that keeps its columns."""
        return self

    def spec(self, n: int) -> DataSpec:
        """What is known of the first n training points before they are drawn."""
        task = self.task
        return DataSpec(self.sample, n, self.d + task.labels.columns, task.kind, task.classes, task.shape(self.d))

    def train(self, n: int) -> Data:
        """The first n training points: x (n, d'), y (n,)."""
        x, y = self.training_points(n)
        return Data(**vars(self.spec(n)), x=x, y=y)

    def context(self, n: int) -> Context:
        """What every learner is told besides the first n training points."""
        square_mean = self.square_mean
        return Context(
            seed=learner_seed(self.seed, self.task.streams, self.d, self.replicate),
            square_mean=None if square_mean is None else np.array(square_mean),
            unlabeled=self.unlabeled_inputs(n),
            margin_column=self.task.labels.margin_column,
        )

    @abstractmethod
    def training_points(self, n: int) -> tuple[Float, Float]:
        """The first n training points, (n, d') and (n,)."""

    @abstractmethod
    def test_inputs(self, n: int) -> Float:
        """The test inputs as seen by a learner with n training points, (test_size, d')."""

    @property
    @abstractmethod
    def test_y(self) -> Float:
        """Clean target values at the test inputs, or labels if these are classes, (test_size,)."""

    @property
    @abstractmethod
    def test_labels(self) -> Float:
        """Labels at the test inputs, made as in training, (test_size,)."""

    @cached_property
    def truth(self) -> TargetValues:
        """``test_y``, to measure errors against."""
        return TargetValues(self.test_y)

    @property
    def test_hidden(self) -> Mapping[str, Float]:
        """The target's hidden features at the test inputs, {"S2": (test_size, k_2), ...}, or empty."""
        return {}

    def part_errors(self, prediction: Float) -> Mapping[str, float]:
        """Errors of predictions (test_size,) at the test inputs in named parts of the target, if it has parts.

        These are unbiased estimates, each over its part's variance; one near 0 may be negative.
        """
        return {}

    def unlabeled_inputs(self, n: int) -> Float | None:
        """Inputs without labels, (n_0, d'), seen like the test inputs, or None if the task offers none."""
        return None

    @property
    def target_facts(self) -> Mapping[str, object]:
        """Plain facts of the target function, if there is one."""
        return {}

    def facts(self, keys: Collection[str]) -> dict[str, Any]:
        """Facts of target and labelling under ``keys``. Raises ``UsageError`` for a fact that they do not have."""
        available = {**self.target_facts, **self.task.labels.facts}
        for key in keys:
            if key not in available:
                what, part = next(item for item in self.task.parts.items() if item[0] not in ("inputs", "labels"))
                raise UsageError(
                    f"task {self.task.name!r}: {what} {part.kind!r} has no fact {key!r} for a learner that asks for it."
                    f"{suggest(key, available)}"
                )
        return {key: available[key] for key in keys}

    def known(self, supposed: Mapping[str, Any]) -> set[str]:
        """Names of the facts that a learner assumed correctly without being told."""
        if not supposed:
            return set()
        facts = plain_option(dict(self.target_facts))
        return {name for name, value in plain_option(dict(supposed)).items() if name in facts and facts[name] == value}

    def _stream(self, *purpose: object) -> np.random.Generator:
        return stream(self.seed, self.task.streams, self.d, self.replicate, *purpose)


def learner_seed(seed: int, streams: str, d: int, replicate: int) -> int:
    """The seed of all learners on a problem of the suite's ``seed`` and a task's ``streams``, paired over sizes.

    Tasks with the same teacher have the same one, so that nothing else differs between their fits.
    """
    return seed_of(seed, streams, d, replicate, "learner")


class BlockwiseArrays:
    """Arrays with one row per point, generated block by block when needed, and kept."""

    def __init__(self, generate: Callable[[int], tuple[Float, ...]]) -> None:
        self._generate = generate
        self._blocks = 0
        self._arrays: tuple[Float, ...] = ()

    def first(self, n: int) -> tuple[Float, ...]:
        """The first n rows of each array, as read-only views."""
        needed = max(-(-n // BLOCK), 1)
        if needed > self._blocks:
            new = [self._generate(block) for block in range(self._blocks, needed)]
            old = [self._arrays] if self._blocks else []
            self._arrays = tuple(np.concatenate(parts) for parts in zip(*old, *new, strict=True))
            for array in self._arrays:
                array.setflags(write=False)
            self._blocks = needed
        return tuple(array[:n] for array in self._arrays)
