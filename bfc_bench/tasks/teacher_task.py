"""A task with a target function: inputs x target x labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bfc_bench.errors import UsageError
from bfc_bench.learner import LabelKind, TaskFacts
from bfc_bench.seeds import BLOCK
from bfc_bench.tasks.base import Float, InputLaw, Inputs, Labelling, Labels, ScaledTeacher, Target, Teacher
from bfc_bench.tasks.inputs.sphere import Sphere
from bfc_bench.tasks.task import BlockwiseArrays, Problem, Task

SCALE_POINTS = 16 * BLOCK
"""Number of leading test points on which the target's mean and deviation are estimated, whatever the test size."""


@dataclass(frozen=True)
class TeacherTask(Task):
    """An input law, a target and a labelling under one name, with ``unlabeled`` extra inputs for the learner.

    ``teacher`` names another task whose random streams this one uses. The target's weights, the inputs, the test points
    and the random parts of the labelling are then those of that task.
    """

    name: str
    inputs: Inputs
    target: Target
    labels: Labels
    unlabeled: int = 0
    teacher: str = ""

    @property
    def kind(self) -> LabelKind:
        """Kind of its labels."""
        return self.labels.label_kind

    def check(self, d: int) -> str | None:
        """Why this task does not exist in d dimensions, or None."""
        return (
            self.inputs.check(d)
            or self.target.check(d)
            or self.target.check_inputs(self.inputs)
            or self.labels.check_values("real")
            or self.labels.check_inputs(self.inputs)
        )

    def check_teacher(self, other: Task) -> str | None:
        """Why this task cannot have the teacher and the inputs of another, or None."""
        if not isinstance(other, TeacherTask):
            return "both need a target; the other has data"
        if self.inputs != other.inputs:
            return "both need the same inputs"
        if type(self.target) is not type(other.target):
            return f"both need one kind of target, not {self.target.kind!r} and {other.target.kind!r}"
        return self.target.check_teacher(other.target)

    def definition(self) -> dict[str, Any]:
        """The task as plain data. Two tasks with equal definitions give equal samples."""
        return {
            "name": self.name,
            "inputs": _plain(self.inputs),
            "target": _plain(self.target),
            "labels": _plain(self.labels),
            "unlabeled": self.unlabeled,
            **({"teacher": self.teacher} if self.teacher else {}),
        }

    def identity(self) -> dict[str, Any]:
        """What identifies this task: its definition without options that have their defaults."""
        parts: dict[str, Inputs | Target | Labels]
        parts = {"inputs": self.inputs, "target": self.target, "labels": self.labels}
        named = {part: {"kind": value.kind, **value.changed()} for part, value in parts.items()}
        others = {"unlabeled": self.unlabeled, "teacher": self.teacher}
        return {"name": self.name, **named, **{key: value for key, value in others.items() if value}}

    def facts(self, d: int) -> TaskFacts:
        """What a learner may know when it decides whether it applies."""
        spherical = isinstance(self.inputs, Sphere) and not self.labels.columns
        return TaskFacts(
            name=self.name,
            inputs=self.inputs.kind,
            target=self.target.kind,
            labels=self.labels.kind,
            kind=self.kind,
            d=d + self.labels.columns,
            unlabeled=self.unlabeled,
            degrees=self.target.degrees if spherical else (),
            shares=self.target.shares if spherical else (),
            noise_variance=self.labels.noise_variance,
        )

    def problem(self, seed: int, d: int, replicate: int, test_size: int) -> TeacherProblem:
        """The problem of one replicate; nothing is drawn yet. Raises ``UsageError`` when ``check`` has a reason."""
        if reason := self.check(d):
            raise UsageError(f"task {self.name!r}: {reason}.")
        return TeacherProblem(self, seed, d, replicate, test_size)


class TeacherProblem(Problem):
    """One teacher with its points, drawn on first use from streams that depend on their purpose alone.

    Points come in blocks of ``seeds.BLOCK`` rows, each from its own stream, so that a smaller sample is a bitwise
    prefix of a larger one. For read-only arrays and shapes see ``Problem``.
    """

    task: TeacherTask

    def __init__(self, task: TeacherTask, seed: int, d: int, replicate: int, test_size: int) -> None:
        super().__init__(seed, d, replicate, test_size)
        self.task = task
        self._train = BlockwiseArrays(self._train_block)
        self._test = BlockwiseArrays(self._test_block)
        self._unlabeled = BlockwiseArrays(lambda b: (self._shown("unlabeled", b, self._inputs("unlabeled", b)),))

    @cached_property
    def law(self) -> InputLaw:
        """The law of the target's inputs."""
        return self.task.inputs.law(self._stream("law"), self.d)

    @cached_property
    def teacher(self) -> Teacher:
        """The target function, of unit variance if the labels need it. Raises ``UsageError`` if it is constant."""
        teacher = self.task.target.draw(self._stream("teacher"), self.law)
        if not self.task.labels.unit_variance:
            return teacher
        deviation = self._moments(teacher)[1]
        if not deviation > 0:
            raise UsageError(f"task {self.task.name!r}: the target is constant, so its labels are too.")
        return ScaledTeacher(teacher, 1 / deviation)

    @cached_property
    def labelling(self) -> Labelling:
        """How points are labelled."""
        labels = self.task.labels
        drawn = labels.draw(self._stream("labelling"), self.law, self.task.target)
        return Labelling(labels, self.law, *self._moments(self.teacher), drawn)

    @property
    def scale(self) -> float:
        """The teacher's standard deviation on the first ``SCALE_POINTS`` points of the test stream."""
        return self.labelling.deviation

    @property
    def square_mean(self) -> Float | None:
        """E[x_i^2] of the columns that learners see, (d',)."""
        return self.labelling.square_mean

    def training_points(self, n: int) -> tuple[Float, Float]:
        """The first n training points, (n, d') and (n,)."""
        x, y = self._train.first(n)
        return x, y

    @property
    def test_x(self) -> Float:
        """The test inputs, (test_size, d')."""
        return self._test.first(self.test_size)[0]

    @property
    def test_y(self) -> Float:
        """Clean target values at the test inputs, or labels if these are binary, (test_size,)."""
        return self.test_labels if self.task.kind == "binary" else self._test.first(self.test_size)[1]

    @property
    def test_labels(self) -> Float:
        """Labels at the test inputs, made as in training, (test_size,)."""
        return self._test.first(self.test_size)[2]

    @cached_property
    def test_hidden(self) -> Mapping[str, Float]:
        """The teacher's hidden features at the test inputs, {"S2": (test_size, k_2), ...}."""
        blocks = range(-(-self.test_size // BLOCK))
        parts = [self.teacher.hidden(self._inputs("test-inputs", block)) for block in blocks]
        return {layer: np.concatenate([part[layer] for part in parts])[: self.test_size] for layer in parts[0]}

    def part_errors(self, prediction: Float) -> Mapping[str, float]:
        """Errors of predictions (test_size,) at the test inputs in named parts of the target, if it has parts.

        These are unbiased estimates, each over its part's variance; one near 0 may be negative. Empty if labels are
        binary, or if the learner sees other inputs than the target.
        """
        labels = self.task.labels
        if labels.label_kind == "binary" or labels.columns:
            return {}
        return self.teacher.part_errors(self.test_x, prediction)

    def test_inputs(self, n: int) -> Float:
        """``test_x``, which does not depend on n."""
        return self.test_x

    def unlabeled_inputs(self, n: int) -> Float | None:
        """``unlabeled``, which does not depend on n."""
        return self.unlabeled

    @property
    def unlabeled(self) -> Float | None:
        """Inputs without labels, (n_0, d'), or None if the task offers none."""
        return self._unlabeled.first(self.task.unlabeled)[0] if self.task.unlabeled else None

    @property
    def target_facts(self) -> Mapping[str, object]:
        """The teacher's facts."""
        return self.teacher.facts

    @property
    def _what(self) -> str:
        return f"target {self.task.target.kind!r}"

    def _inputs(self, purpose: str, block: int) -> Float:
        return self.law.sample(self._stream(purpose, block), BLOCK)

    def _shown(self, purpose: str, block: int, x: Float) -> Float:
        return self.labelling.add_columns(self._stream(f"{purpose}-columns", block), x)

    def _moments(self, teacher: Teacher) -> tuple[float, float]:
        """Mean and standard deviation on the first ``SCALE_POINTS`` points of the test stream."""
        values = np.concatenate([teacher(self._inputs("test-inputs", b)) for b in range(SCALE_POINTS // BLOCK)])
        return float(np.mean(values)), float(np.std(values))

    def _train_block(self, block: int) -> tuple[Float, Float]:
        x = self._inputs("train-inputs", block)
        seen = self._shown("train", block, x)
        return seen, self.labelling.label(self._stream("train-labels", block), seen, self.teacher(x))

    def _test_block(self, block: int) -> tuple[Float, Float, Float]:
        x = self._inputs("test-inputs", block)
        seen, values = self._shown("test", block, x), self.teacher(x)
        return seen, values, self.labelling.label(self._stream("test-labels", block), seen, values)


def _plain(part: Inputs | Target | Labels) -> dict[str, Any]:
    return {"kind": part.kind, **part.plain()}
