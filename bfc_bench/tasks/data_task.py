"""A task on a data set, that is on points and labels that exist already."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bfc_bench.errors import UsageError
from bfc_bench.learner import DataSpec, TaskFacts
from bfc_bench.seeds import BLOCK
from bfc_bench.tasks.base import DataSet, DataSetContents, Float, LabelledPoints, Labelling
from bfc_bench.tasks.load_data import digest_of, frozen, read, read_planned
from bfc_bench.tasks.preprocessing import (
    Preprocessing,
    TableEncoding,
    frame_columns,
    matrix_columns,
    scaling_of,
    whitening_of,
)
from bfc_bench.tasks.row_splits import class_order, group_pool, group_split, time_split
from bfc_bench.tasks.task import BlockwiseArrays, Problem, Task
from bfc_bench.utils.plain_json import canonical_json

TEST_SHARE = 4
"""Where neither the data set nor the task says what to test on, one point in so many is."""


@dataclass(frozen=True)
class DataTask(Task):
    """A data set and a labelling under one name.

    Each replicate trains on the first n points of its own random order of the training pool, so that smaller samples
    are prefixes of larger ones. It tests on points drawn from the data set's test part; without such a part, on points
    drawn from all before the others are ordered. Inputs that are offered without labels are the last of that order.
    """

    source: ClassVar[str] = "data"
    data: DataSet = field(hash=False)
    test_size: int | None = None
    """Number of test points; None: the suite's number, at most the whole test part or a quarter of the points."""
    digest: str = ""
    """Digest that the contents must have; empty if it is not known yet."""

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: no points, but the digest that they must have where they are loaded again."""
        return vars(replace(self, digest=self.contents_digest))

    @property
    def where(self) -> str:
        """The task and its data, for error messages."""
        return f"task {self.name!r}: data {self.data.kind!r}"

    @cached_property
    def contents(self) -> DataSetContents:
        """The points. Raises ``UsageError`` if they are invalid, or have changed since the run was planned."""
        if self.digest:
            return read_planned(type(self.data), canonical_json(self.data.plain()), self.where, self.digest)
        return read(self.data, self.where)

    @cached_property
    def contents_digest(self) -> str:
        """Digest of the contents, 32 hexadecimal digits."""
        return self.digest or digest_of(self.contents)

    @property
    def value_classes(self) -> int:
        """The number of classes of the data set; 0 for real values."""
        return len(self.contents.classes)

    def shape(self, d: int) -> tuple[int, ...]:
        """The shape of images; empty for other rows."""
        return self.contents.shape

    @property
    def dimension(self) -> int:
        """The number of columns of the data, as numbers."""
        table = self.contents.table
        return int(self.contents.points.x.shape[1]) if table is None else len(matrix_columns(table))

    def check(self, d: int) -> str | None:
        """Why this task does not exist in d dimensions, or None."""
        if d != self.dimension:
            return f"d must be {self.dimension}, the number of columns of the data, or left out"
        limit = len(self.contents.tested) - (0 if self.contents.test else 2)
        if self.test_size is not None and self.test_size > limit:
            return f"test_size must be at most {limit}, as the data have no more points for it. Got {self.test_size}"
        if self.data.stratify and (self.contents.groups is not None or self.contents.times is not None):
            return "stratify and split exclude each other; leave out one of the two"
        if self.data.stratify and not self.contents.classes:
            advice = ", or set classes = true if they are names of classes" if hasattr(self.data, "classes") else ""
            return f"stratify needs classes, and the data have real values; leave it out{advice}"
        return self.labels.check_values(self.values_kind) or self.labels.check_data()

    def check_size(self, n: int, test_size: int) -> str | None:
        """Why it lacks n training points if the suite asks for ``test_size`` test points, or None."""
        tested = 0 if self.contents.test else self.test_points(test_size)
        pool = self.pool(test_size)
        if n + self.unlabeled <= pool:
            return None
        test_points = f" beside {tested} to test on" if tested else ""
        offered = f", {self.unlabeled} of which are offered without labels" if self.unlabeled else ""
        return f"n must be at most {pool - self.unlabeled}: there are {pool} points to train on{test_points}{offered}"

    def pool(self, test_size: int) -> int:
        """Number of points to train on in every replicate, if the suite asks for ``test_size`` test points."""
        contents, tested = self.contents, self.test_points(test_size)
        if contents.test:
            return len(contents.points)
        if contents.groups is not None:
            return max(group_pool(contents.groups, tested), 0)
        if contents.times is not None:
            return len(time_split(contents.times, tested)[1])
        return len(contents.points) - tested

    def check_teacher(self, other: Task) -> str | None:
        """See ``Task.check_teacher``: tasks that share an order of points test on as many."""
        if isinstance(other, DataTask) and self.test_size != other.test_size:
            return "both need the same test_size"
        return super().check_teacher(other)

    def identity(self) -> dict[str, Any]:
        """What identifies this task: the contents of its data, not their path."""
        whole, reading = super().identity(), self.data.reading
        data = {key: value for key, value in whole["data"].items() if not self.data.is_path(key) and key not in reading}
        size = {"test_size": self.test_size} if self.test_size else {}
        return {**whole, "data": data, "contents": self.contents_digest, **size}

    def facts(self, d: int) -> TaskFacts:
        """What a learner may know when it decides whether it applies."""
        return replace(super().facts(d), data=self.data.kind)

    def problem(self, seed: int, d: int, replicate: int, test_size: int) -> DataProblem:
        """See ``Task.problem``."""
        return DataProblem(self, seed, d, replicate, self.test_points(test_size))

    def test_points(self, test_size: int) -> int:
        """Number of test points if the suite asks for ``test_size``."""
        if self.test_size is not None:
            return self.test_size
        points = len(self.contents.tested)
        return min(test_size, points if self.contents.test else max(points // TEST_SHARE, 1))


class DataProblem(Problem):
    """A replicate's order of the points of a data set."""

    task: DataTask

    def __init__(self, task: DataTask, seed: int, d: int, replicate: int, test_size: int) -> None:
        super().__init__(task, seed, d, replicate, test_size)
        self._train_labels = BlockwiseArrays(
            lambda block: self._block("train-labels", block, task.contents.points, self._order)
        )
        self._test_labels = BlockwiseArrays(
            lambda block: self._block("test-labels", block, task.contents.tested, self._tested)
        )
        self._fitted: tuple[int, Preprocessing] | None = None
        self._frames = False

    @cached_property
    def labelling(self) -> Labelling:
        """How points are labelled."""
        pool = self._values(self.task.contents.points.y)
        return Labelling(self.task.labels, None, float(np.mean(pool)), float(np.std(pool)), {}, self.task.classes)

    @property
    def test_pool(self) -> int:
        """Number of points from which test points are drawn; the last ones in time are the same in all replicates."""
        contents = self.task.contents
        return len(contents.tested) if contents.times is None else self.test_size

    @cached_property
    def framed(self) -> Self:
        """This problem for learners that take frames: x is what the table keeps; itself if the table keeps nothing."""
        table = self.task.contents.table
        if self._frames or table is None or not (table.keep_categories or table.fill == "keep"):
            return self
        _ = self._order, self._tested  # drawn once for both
        framed = copy.copy(self)
        framed._frames = True
        return framed

    def spec(self, n: int) -> DataSpec:
        """What is known of the first n training points before they are drawn."""
        data, spec, table = self.task.data, super().spec(n), self.task.contents.table
        if self._frames and table:
            columns = frame_columns(table)
            sample = f"{self.sample}/{n}/frame"
            return DataSpec(sample, n, len(columns), spec.kind, spec.classes, columns=columns)
        # Otherwise smaller samples are prefixes of larger ones.
        own_scale = data.standardize or data.whiten != "none" or table is not None
        return replace(spec, sample=f"{self.sample}/{n}") if own_scale else spec

    def training_points(self, n: int) -> tuple[Float, Float]:
        """The first n training points, (n, d) and (n,). Raises ``UsageError`` where there are fewer."""
        if reason := self.task.check_size(n, self.test_size):
            raise UsageError(f"{self.task.where}: {reason}. Got {n}.")
        return self._seen(self._raw(self.task.contents.points, self._order[:n]), n), self._train_labels.first(n)[0]

    def test_inputs(self, n: int) -> Float:
        """The test inputs, (test_size, d), scaled like the first n training points."""
        return self._seen(self._raw(self.task.contents.tested, self._tested), n)

    def unlabeled_inputs(self, n: int) -> Float | None:
        """The last inputs of the pool, (n_0, d), or None if the task offers none."""
        if not self.task.unlabeled:
            return None
        return self._seen(self._raw(self.task.contents.points, self._order[-self.task.unlabeled :]), n)

    @cached_property
    def test_y(self) -> Float:
        """Values at the test points, (test_size,), or their labels if real values are made into classes."""
        if self.task.kind != self.task.values_kind:
            return self.test_labels
        return frozen(self._values(self.task.contents.tested.y[self._tested]))

    @property
    def test_labels(self) -> Float:
        """Labels at the test points, made as in training, (test_size,)."""
        return self._test_labels.first(self.test_size)[0]

    @cached_property
    def _split(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Rows to test on, in order, and rows to train on, where groups or time decide; None where chance does."""
        contents = self.task.contents
        if contents.groups is not None:
            return group_split(contents.groups, self.test_size, self._stream("test-points"))
        return None if contents.times is None else time_split(contents.times, self.test_size)

    @cached_property
    def _tested(self) -> np.ndarray:
        """Rows of the test points, (test_size,)."""
        if self._split:
            return self._split[0]
        return self._ordered(self.task.contents.tested.y, "test-points")[: self.test_size]

    @cached_property
    def _order(self) -> np.ndarray:
        """Rows of the training pool, (pool,), in the order in which samples take them."""
        contents = self.task.contents
        rows = self._split[1] if self._split else np.arange(len(contents.points))
        if not contents.test and not self._split:
            rows = np.setdiff1d(rows, self._tested)
        return np.asarray(rows[self._ordered(contents.points.y[rows], "order")])

    def _ordered(self, y: Float, purpose: str) -> np.ndarray:
        """A random order of the points; if stratified, each class has its share in every prefix."""
        rng = self._stream(purpose)
        order: np.ndarray = rng.permutation(len(y))
        if not (self.task.data.stratify and self.task.contents.classes):
            return order
        position = np.empty(len(y), int)
        class_at = class_order(np.bincount(y.astype(int), minlength=len(self.task.contents.classes)), rng)
        for label in range(len(self.task.contents.classes)):
            position[order[y[order] == label]] = np.flatnonzero(class_at == label)
        return np.argsort(position)

    def _block(self, purpose: str, block: int, part: LabelledPoints, order: np.ndarray) -> tuple[Float]:
        """Labels of a block of points, so that a label does not depend on how many points are taken."""
        rows = order[block * BLOCK : (block + 1) * BLOCK]
        seen, values = self._raw(part, rows), self._values(part.y[rows])
        return (self.labelling.label(self._stream(purpose, block), seen, values),)

    def _values(self, y: Float) -> Float:
        return self.task.coded(np.asarray(y, float))

    def _raw(self, part: LabelledPoints, rows: np.ndarray) -> Float:
        return np.asarray(part.x[rows], float) / self.task.contents.divisor

    def _seen(self, x: Float, n: int) -> Float:
        """Points (m, k) as learners with n training points see them, read-only."""
        if self._fitted is None or self._fitted[0] != n:  # the one for the last n asked for is kept
            self._fitted = n, self._fit(n)
        return frozen(self._fitted[1](x, self._frames))

    def _fit(self, n: int) -> Preprocessing:
        """Fitted to the first n training points."""
        contents, data = self.task.contents, self.task.data
        if not (contents.table or data.standardize or data.whiten != "none"):
            return Preprocessing()
        x = self._raw(contents.points, self._order[:n])
        encoding = TableEncoding.of(x, contents.table) if contents.table else None
        scaled = Preprocessing(encoding)
        if data.standardize:
            scaled = replace(scaled, scaling=scaling_of(scaled(x), contents.shape))
        return scaled if data.whiten == "none" else replace(scaled, whitening=whitening_of(scaled(x)))
