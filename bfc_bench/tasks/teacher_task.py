"""A task with a target function: inputs x target x labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt
from types import MappingProxyType
from typing import ClassVar

from bfc_bench.errors import UsageError
from bfc_bench.learner import TaskFacts
from bfc_bench.seeds import BLOCK
from bfc_bench.tasks.base import Float, InputLaw, Inputs, Labelling, Target, Teacher
from bfc_bench.tasks.drawn_problem import DrawnProblem, Part, moments
from bfc_bench.tasks.inputs.uniform import Sphere
from bfc_bench.tasks.task import Task


@dataclass(frozen=True)
class TeacherTask(Task):
    """An input law, a target and a labelling under one name, with ``unlabeled`` extra inputs for the learner.

    ``teacher`` names another task whose random streams this one uses. The target's weights, the inputs, the test points
    and the random parts of the labelling are then those of that task.
    """

    source: ClassVar[str] = "a target"
    inputs: Inputs = field(hash=False)
    target: Target = field(hash=False)

    @property
    def value_classes(self) -> int:
        """The target's number of classes; 0 for real values."""
        return self.target.class_count

    def shape(self, d: int) -> tuple[int, ...]:
        """The structure that the target or the input law gives to a row, if the labelling adds no columns."""
        return () if self.labels.columns else self.target.row_shape(d) or self.inputs.row_shape(d)

    def check(self, d: int) -> str | None:
        """Why this task does not exist in d dimensions, or None."""
        return (
            self.inputs.check(d)
            or self.target.check(d)
            or self.target.check_inputs(self.inputs)
            or self._check_values(d)
            or self.labels.check_inputs(self.inputs)
        )

    def facts(self, d: int) -> TaskFacts:
        """What a learner may know when it decides whether it applies."""
        spherical = isinstance(self.inputs, Sphere) and not self.labels.columns
        return replace(
            super().facts(d),
            inputs=self.inputs.kind,
            target=self.target.kind,
            degrees=self.target.degrees if spherical else (),
            shares=self.target.shares if spherical else (),
            noise_variance=self.labels.noise_variance if self.kind == "real" else None,
            options=MappingProxyType(self.target.plain()),
            input_options=MappingProxyType(self.inputs.plain()),
        )

    def problem(self, seed: int, d: int, replicate: int, test_size: int) -> TeacherProblem:
        """See ``Task.problem``."""
        return TeacherProblem(self, seed, d, replicate, test_size)


class TeacherProblem(DrawnProblem):
    """One teacher with its points."""

    task: TeacherTask

    @cached_property
    def law(self) -> InputLaw:
        """The law of the target's inputs."""
        return self.task.inputs.law(self._stream("law"), self.d)

    @cached_property
    def drawn(self) -> Teacher:
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
        random_parts = labels.draw(self._stream("labelling"), self.law, self.task.target)
        return Labelling(labels, self.law, *self._moments(self.drawn), random_parts, self.task.classes)

    def _inputs(self, part: Part, block: int) -> Float:
        purpose = "unlabeled" if part == "unlabeled" else f"{part}-inputs"
        return self.law.sample(self._stream(purpose, block), BLOCK)

    def _points(self, part: Part, block: int) -> tuple[Float, Float]:
        x = self._inputs(part, block)
        return x, self.task.coded(self.drawn(x))

    def _moments(self, teacher: Teacher) -> tuple[float, float]:
        return moments(lambda block: self.task.coded(teacher(self._inputs("test", block))))


class ScaledTeacher(Teacher):
    """Another target function times ``factor`` > 0, with hidden features and ``alphas`` scaled accordingly."""

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
        """Relative errors, which do not depend on the factor."""
        return self.teacher.part_errors(x, prediction / self.factor)
