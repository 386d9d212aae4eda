"""A task with a joint law of (x, y)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar

from bfc_bench.learner import TaskFacts
from bfc_bench.seeds import BLOCK
from bfc_bench.tasks.base import Float, JointLaw, Labelling, PointSource
from bfc_bench.tasks.drawn_problem import DrawnProblem, Part, moments
from bfc_bench.tasks.task import Task


@dataclass(frozen=True)
class JointTask(Task):
    """A joint law and a labelling under one name, with ``unlabeled`` extra inputs for the learner.

    ``teacher`` names another task whose random streams this one uses.
    """

    source: ClassVar[str] = "a joint law"
    law: JointLaw = field(hash=False)

    @property
    def value_classes(self) -> int:
        """The law's number of classes; 0 for real values."""
        return self.law.class_count

    @property
    def dimension(self) -> int | None:
        """The input dimension d, if the law's options determine it."""
        return self.law.dimension

    def shape(self, d: int) -> tuple[int, ...]:
        """The structure that the law gives to a row."""
        return self.law.row_shape(d)

    def check(self, d: int) -> str | None:
        """Why this task does not exist in d dimensions, or None."""
        if self.dimension not in (None, d):
            return f"d must be {self.dimension}, as the options of {self.law.kind!r} say, or left out"
        return self.law.check(d) or self._check_values(d) or self.labels.check_data()

    def facts(self, d: int) -> TaskFacts:
        """What a learner may know when it decides whether it applies."""
        return replace(super().facts(d), law=self.law.kind, options=MappingProxyType(self.law.plain()))

    def problem(self, seed: int, d: int, replicate: int, test_size: int) -> JointProblem:
        """See ``Task.problem``."""
        return JointProblem(self, seed, d, replicate, test_size)


class JointProblem(DrawnProblem):
    """One member of a family of joint laws with its points."""

    task: JointTask

    @cached_property
    def drawn(self) -> PointSource:
        """The law of the points."""
        return self.task.law.draw(self._stream("law"), self.d)

    @cached_property
    def labelling(self) -> Labelling:
        """How points are labelled."""
        mean, deviation = moments(lambda block: self._points("test", block)[1])
        return Labelling(self.task.labels, None, mean, deviation, {}, self.task.classes)

    @property
    def square_mean(self) -> Float | None:
        """E[x_i^2], (d,), or None if the law does not say it."""
        return self.drawn.square_mean

    def _inputs(self, part: Part, block: int) -> Float:
        return self._points(part, block)[0]

    def _points(self, part: Part, block: int) -> tuple[Float, Float]:
        x, y = self.drawn.sample(self._stream(f"{part}-points", block), BLOCK)
        return x, self.task.coded(y)

    def _clean(self, x: Float, values: Float) -> Float:
        expected = self.drawn.expected(x)
        return values if expected is None else self.task.coded(expected)
