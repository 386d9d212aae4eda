"""Requirements of a target."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bfc_bench.tasks.base import InputLaw, Target, Teacher
from bfc_bench.tasks.inputs import INPUTS
from bfc_bench.testing.assertions import require_keyed, require_layers, require_numbers, rng
from bfc_bench.testing.global_state import preserved
from bfc_bench.testing.requirement import require, requirement, skip

DIMS = (6, 8, 12, 16, 32, 4, 2, 1)
M = 200
CLOSE = 1e-9
"""Largest difference between the values of a point alone and among others, relative to the largest value."""


@dataclass
class TargetTrial:
    """A tested target, on the first built-in input law that it accepts."""

    target: Target

    @cached_property
    def law(self) -> InputLaw:
        """The input law, in a dimension in which the target exists."""
        dims = [d for d in DIMS if self.target.check(d) is None]
        require(bool(dims), f"check(d) refuses d = {', '.join(map(str, DIMS))}: {self.target.check(DIMS[0])}")
        candidates = [kind() for kind in INPUTS if not any(f.is_required() for f in kind.model_fields.values())]
        accepted = [inputs for inputs in candidates if self.target.check_inputs(inputs) is None]
        require(bool(accepted), "check_inputs refuses every built-in input law")
        d = next((d for d in dims if accepted[0].check(d) is None), dims[0])
        return accepted[0].law(rng("law"), d)

    @cached_property
    def x(self) -> np.ndarray:
        """Points (M, d)."""
        return self.law.sample(rng("points"), M)

    def teacher(self) -> Teacher:
        """A member of the family, always drawn from the same stream."""
        with preserved():
            return self.target.draw(rng("teacher"), self.law)


@requirement()
def exists_in_some_dimension(trial: TargetTrial) -> None:
    """``check`` accepts some d, and ``check_inputs`` accepts some built-in input law."""
    require(trial.law.d > 0, "check(d) must give None or a reason")


@requirement(exists_in_some_dimension)
def values_have_their_shape(trial: TargetTrial) -> None:
    """``draw`` gives a ``Teacher``, whose values at x (m, d) are (m,), finite float64."""
    teacher = trial.teacher()
    require(isinstance(teacher, Teacher), f"draw must return a bfc_bench.Teacher. Got {type(teacher).__name__}")
    for m in (1, M):
        require_numbers(teacher(trial.x[:m].copy()), (m,), f"the values of {m} points")


@requirement(values_have_their_shape)
def the_teacher_comes_from_its_stream(trial: TargetTrial) -> None:
    """Equal streams give equal teachers; neither ``draw`` nor the teacher uses a global generator."""
    require_keyed(lambda stream: trial.target.draw(stream, trial.law)(trial.x.copy()), "draw")


@requirement(values_have_their_shape)
def a_value_depends_on_its_point_alone(trial: TargetTrial) -> None:
    """A value is the same alone, among other points, and when it is computed again."""
    teacher = trial.teacher()
    together = teacher(trial.x.copy())
    require(np.array_equal(together, teacher(trial.x.copy())), "a second call of the teacher gives other values")
    alone = np.concatenate([teacher(trial.x[k : k + 1].copy()) for k in range(10)])
    error = np.max(np.abs(alone - together[:10])) / np.max(np.abs(together))
    require(bool(error <= CLOSE), f"a point alone has another value than among others: relative difference {error:.1e}")


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
    teacher = trial.teacher()
    values = teacher(trial.x.copy())
    errors = teacher.part_errors(trial.x.copy(), values)
    if not errors:
        skip("part_errors() is not given")
    for part, error in errors.items():
        require(bool(abs(error) <= CLOSE), f"the error of G* itself in {part!r} must be 0. Got {error!r}")


@requirement()
def swept_options_exist(trial: TargetTrial) -> None:
    """``swept`` names options of the class."""
    unknown = sorted(trial.target.swept - set(type(trial.target).model_fields))
    require(not unknown, f"swept names {', '.join(unknown)}, which is no option")
    if not trial.target.swept:
        skip("swept names no option")
