"""Requirements of an input law."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bfc_bench.tasks.base import InputLaw, Inputs
from bfc_bench.testing.assertions import require_keyed, require_numbers, require_row_shape, rng
from bfc_bench.testing.requirement import require, requirement

M, MANY = 40, 20_000
DEVIATIONS = 6.0
"""Number of standard errors by which a mean over ``MANY`` points may differ."""


@dataclass
class InputsTrial:
    """A tested input law."""

    inputs: Inputs

    @cached_property
    def d(self) -> int:
        """The first of ``example_d`` in which it exists."""
        tried = self.inputs.example_d
        reasons = {d: self.inputs.check(d) for d in tried}
        allowed = [d for d, reason in reasons.items() if reason is None]
        others = "State others in example_d of the class"
        require(bool(allowed), f"check(d) refuses d = {', '.join(map(str, tried))}: {reasons[tried[0]]}. {others}")
        return allowed[0]

    def law(self, d: int) -> InputLaw:
        """The input law in d dimensions, always drawn from the same stream."""
        return self.inputs.law(rng("law", d), d)


@requirement()
def exists_in_some_dimension(trial: InputsTrial) -> None:
    """``check(d)`` accepts one of ``example_d``."""
    require(trial.d > 0, "check(d) must give None or a reason")


@requirement(exists_in_some_dimension)
def a_row_has_its_shape(trial: InputsTrial) -> None:
    """``row_shape(d)`` is empty, or its product is d."""
    require_row_shape(trial.inputs.row_shape(trial.d), trial.d)


@requirement(exists_in_some_dimension)
def points_have_their_shape(trial: InputsTrial) -> None:
    """``sample`` gives (m, d), finite float64, in each of ``example_d`` that ``check`` accepts."""
    for d in (d for d in trial.inputs.example_d if trial.inputs.check(d) is None):
        for m in (1, M):
            require_numbers(trial.law(d).sample(rng("points"), m), (m, d), f"sample of {m} points at d = {d}")


@requirement(points_have_their_shape)
def points_come_from_their_stream(trial: InputsTrial) -> None:
    """Equal streams give equal points, and the global generators are not used."""
    require_keyed(lambda stream: trial.law(trial.d).sample(stream, M), "sample")
    require_keyed(lambda stream: trial.inputs.law(stream, trial.d).sample(rng("points"), M), "law")


@requirement(points_have_their_shape)
def another_stream_gives_other_points(trial: InputsTrial) -> None:
    """Samples of two streams differ."""
    first, second = (trial.law(trial.d).sample(rng("points", number), M) for number in (0, 1))
    require(not np.array_equal(first, second), "two different streams give the same points")


@requirement(points_have_their_shape)
def square_mean_is_that_of_the_points(trial: InputsTrial) -> None:
    """``square_mean`` (d,) agrees with the mean of x_i^2 over a large sample."""
    drawn = trial.law(trial.d)
    declared = require_numbers(drawn.square_mean, (trial.d,), "square_mean")
    squares = drawn.sample(rng("many"), MANY) ** 2
    error = np.abs(squares.mean(axis=0) - declared)
    allowed = DEVIATIONS * squares.std(axis=0) / np.sqrt(MANY) + 1e-9
    worst = int(np.argmax(error / allowed))
    require(
        bool(error[worst] <= allowed[worst]),
        f"square_mean says {declared[worst]:.4g} for column {worst}; {MANY} points have {squares[:, worst].mean():.4g}",
    )
