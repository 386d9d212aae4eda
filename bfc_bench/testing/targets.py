"""Requirements of a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bfc_bench.tasks.base import InputLaw, Inputs, Target, Teacher
from bfc_bench.tasks.inputs import INPUTS
from bfc_bench.testing.assertions import (
    require_alone,
    require_classes,
    require_keyed,
    require_layers,
    require_numbers,
    require_part_errors,
    require_row_shape,
    require_swept,
    rng,
)
from bfc_bench.testing.global_state import preserved
from bfc_bench.testing.requirement import require, requirement, skip

M = 200


@dataclass
class TargetTrial:
    """A tested target, on the first of its ``example_inputs`` that it accepts, or of the built-in input laws."""

    target: Target

    @cached_property
    def law(self) -> InputLaw:
        """The input law, in a dimension in which the target exists."""
        tried = self.target.example_d
        dims = [d for d in tried if self.target.check(d) is None]
        require(bool(dims), f"check(d) refuses {_listed(tried)}: {self.target.check(tried[0])}. {OTHERS}")
        candidates = self.target.example_inputs or [kind() for kind in INPUTS if not _has_required_options(kind)]
        accepted = [inputs for inputs in candidates if self.target.check_inputs(inputs) is None]
        which = "every one of example_inputs" if self.target.example_inputs else f"every built-in input law. {OTHERS}"
        require(bool(accepted), f"check_inputs refuses {which}")
        possible = [(inputs, d) for inputs in accepted for d in dims if inputs.check(d) is None]
        refused = f"the input law {accepted[0].kind!r} refuses {_listed(dims)}: {accepted[0].check(dims[0])}. {OTHERS}"
        require(bool(possible), refused)
        inputs, d = possible[0]
        return inputs.law(rng("law"), d)

    @cached_property
    def x(self) -> np.ndarray:
        """Points (M, d)."""
        return self.law.sample(rng("points"), M)

    def teacher(self) -> Teacher:
        """A member of the family, always drawn from the same stream."""
        with preserved():
            return self.target.draw(rng("teacher"), self.law)


OTHERS = "State others in example_d and example_inputs of the class"


def _listed(dims: Sequence[int]) -> str:
    return f"d = {', '.join(map(str, dims))}"


def _has_required_options(kind: type[Inputs]) -> bool:
    return any(option.is_required() for option in kind.model_fields.values())


@requirement()
def exists_in_some_dimension(trial: TargetTrial) -> None:
    """``check`` accepts one of ``example_d``, and ``check_inputs`` one of ``example_inputs``."""
    require(trial.law.d > 0, "check(d) must give None or a reason")


@requirement(exists_in_some_dimension)
def a_row_has_its_shape(trial: TargetTrial) -> None:
    """``row_shape(d)`` is empty, or its product is d."""
    require_row_shape(trial.target.row_shape(trial.law.d), trial.law.d)


@requirement(exists_in_some_dimension)
def values_have_their_shape(trial: TargetTrial) -> None:
    """``draw`` gives a ``Teacher``, whose values at x (m, d) are (m,), finite float64; class numbers for classes."""
    teacher = trial.teacher()
    require(isinstance(teacher, Teacher), f"draw must return a bfc_bench.Teacher. Got {type(teacher).__name__}")
    for m in (1, M):
        values = require_numbers(teacher(trial.x[:m].copy()), (m,), f"the values of {m} points")
        require_classes(values, trial.target.class_count, "values")


@requirement(values_have_their_shape)
def the_teacher_comes_from_its_stream(trial: TargetTrial) -> None:
    """Equal streams give equal teachers; neither ``draw`` nor the teacher uses a global generator."""
    require_keyed(lambda stream: trial.target.draw(stream, trial.law)(trial.x.copy()), "draw")


@requirement(values_have_their_shape)
def a_value_depends_on_its_point_alone(trial: TargetTrial) -> None:
    """A value is the same alone, among other points, and when it is computed again."""
    require_alone(trial.teacher(), trial.x, "the teacher")


@requirement(values_have_their_shape)
def points_are_not_changed(trial: TargetTrial) -> None:
    """The teacher does not write into its points."""
    x = trial.x.copy()
    trial.teacher()(x)
    require(np.array_equal(x, trial.x), "the teacher writes into the points that it is given")


@requirement(values_have_their_shape)
def there_is_something_to_learn(trial: TargetTrial) -> None:
    """The values are not constant."""
    require(bool(np.std(trial.teacher()(trial.x.copy())) > 0), f"all {M} values are equal")


@requirement(values_have_their_shape)
def hidden_features_have_a_row_per_point(trial: TargetTrial) -> None:
    """``hidden(x)`` is {"S2": (m, width), ...}."""
    hidden = trial.teacher().hidden(trial.x.copy())
    if not hidden:
        skip("hidden() is not given")
    require_layers(hidden, M)


@requirement(values_have_their_shape)
def parts_have_errors(trial: TargetTrial) -> None:
    """``part_errors`` is 0 in every part for the target itself."""
    if trial.target.class_count:
        skip("values are classes")
    teacher = trial.teacher()
    require_part_errors(teacher, trial.x.copy(), teacher(trial.x.copy()))


@requirement()
def swept_options_exist(trial: TargetTrial) -> None:
    """``swept`` names options of the class."""
    require_swept(trial.target)
