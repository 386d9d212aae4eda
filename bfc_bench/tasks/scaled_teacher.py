"""A target function of another size, for labels that need unit variance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

from bfc_bench.tasks.base import Float, Teacher


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
