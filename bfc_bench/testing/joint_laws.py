"""Requirements of a joint law of (x, y)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bfc_bench.tasks.base import JointLaw, PointSource
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
from bfc_bench.testing.inputs import DEVIATIONS
from bfc_bench.testing.requirement import require, requirement, skip

M, MANY = 200, 5000


@dataclass
class JointTrial:
    """A tested joint law."""

    law: JointLaw

    @cached_property
    def d(self) -> int:
        """The dimension that its options determine, or the first of ``example_d`` in which it exists."""
        tried = self.law.example_d if self.law.dimension is None else (self.law.dimension,)
        reasons = {d: self.law.check(d) for d in tried}
        allowed = [d for d, reason in reasons.items() if reason is None]
        others = "State others in example_d of the class"
        require(bool(allowed), f"check(d) refuses d = {', '.join(map(str, tried))}: {reasons[tried[0]]}. {others}")
        return allowed[0]

    def source(self) -> PointSource:
        """A member of the family, always drawn from the same stream."""
        with preserved():
            return self.law.draw(rng("law"), self.d)

    @cached_property
    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """x (MANY, d) and y (MANY,) of one stream."""
        return self.source().sample(rng("points"), MANY)


@requirement()
def exists_in_some_dimension(trial: JointTrial) -> None:
    """``check(d)`` accepts ``dimension``, or one of ``example_d``."""
    require(trial.d > 0, "check(d) must give None or a reason")


@requirement(exists_in_some_dimension)
def a_row_has_its_shape(trial: JointTrial) -> None:
    """``row_shape(d)`` is empty, or its product is d."""
    require_row_shape(trial.law.row_shape(trial.d), trial.d)


@requirement(exists_in_some_dimension)
def points_have_their_shape(trial: JointTrial) -> None:
    """``sample`` of what ``draw`` gives is x (m, d) and y (m,), finite float64; class numbers for classes."""
    source = trial.source()
    require(isinstance(source, PointSource), f"draw must return a bfc_bench.PointSource. Got {type(source).__name__}")
    for m in (1, M):
        x, y = source.sample(rng("points"), m)
        require_numbers(x, (m, trial.d), f"x of {m} points at d = {trial.d}")
        require_classes(require_numbers(y, (m,), f"y of {m} points"), trial.law.class_count, "y")


@requirement(points_have_their_shape)
def points_come_from_their_stream(trial: JointTrial) -> None:
    """Equal streams give equal points, and the global generators are not used."""

    def sampled(source: PointSource, stream: np.random.Generator) -> np.ndarray:
        x, y = source.sample(stream, M)
        return np.column_stack([x, y])

    require_keyed(lambda stream: sampled(trial.source(), stream), "sample")
    require_keyed(lambda stream: sampled(trial.law.draw(stream, trial.d), rng("points")), "draw")


@requirement(points_have_their_shape)
def another_stream_gives_other_points(trial: JointTrial) -> None:
    """Samples of two streams differ."""
    (first, _), (second, _) = (trial.source().sample(rng("points", number), M) for number in (0, 1))
    require(not np.array_equal(first, second), "two different streams give the same points")


@requirement(points_have_their_shape)
def there_is_something_to_learn(trial: JointTrial) -> None:
    """The y are not constant."""
    require(bool(np.ptp(trial.points[1]) > 0), f"all {MANY} y are equal")


@requirement(points_have_their_shape)
def square_mean_is_that_of_the_points(trial: JointTrial) -> None:
    """``square_mean`` (d,) agrees with the mean of x_i^2 over a sample."""
    declared = trial.source().square_mean
    if declared is None:
        skip("square_mean is not given")
    squares = trial.points[0] ** 2
    error = np.abs(squares.mean(axis=0) - require_numbers(declared, (trial.d,), "square_mean"))
    worst = int(np.argmax(error - _allowed(squares)))
    require(
        bool(error[worst] <= _allowed(squares)[worst]),
        f"square_mean says {declared[worst]:.4g} for column {worst}; {MANY} points have {squares[:, worst].mean():.4g}",
    )


@requirement(points_have_their_shape)
def what_is_expected_agrees_with_the_labels(trial: JointTrial) -> None:
    """``expected(x)`` is (m,), depends on its point alone, and is E[y | x], or the likeliest class, over a sample."""
    source, (x, y) = trial.source(), trial.points
    expected = source.expected(x.copy())
    if expected is None:
        skip("expected() is not given")
    require_numbers(expected, (MANY,), "expected(x)")
    require_classes(expected, trial.law.class_count, "expected(x)")
    require_alone(lambda x: np.asarray(source.expected(x)), x[:M], "expected")
    if trial.law.class_count:
        hits = expected == y
        chance = max(float(np.mean(y == number)) for number in range(trial.law.class_count))
        require(
            bool(hits.mean() + _allowed(hits) >= chance),
            f"expected(x) is y for {hits.mean():.3g} of {MANY} points; one class alone is it for {chance:.3g}",
        )
        return
    centred = expected - expected.mean()
    for what, residual in (
        ("mean of y - expected(x)", y - expected),
        ("mean of it times G*", (y - expected) * centred),
    ):
        error = abs(residual.mean())
        require(bool(error <= _allowed(residual)), f"the {what} must be 0. {MANY} points have {residual.mean():.3g}")


@requirement(points_have_their_shape)
def hidden_features_have_a_row_per_point(trial: JointTrial) -> None:
    """``hidden(x)`` is {"S2": (m, width), ...}."""
    hidden = trial.source().hidden(trial.points[0][:M].copy())
    if not hidden:
        skip("hidden() is not given")
    require_layers(hidden, M)


@requirement(points_have_their_shape)
def parts_have_errors(trial: JointTrial) -> None:
    """``part_errors`` is 0 in every part for ``expected(x)``."""
    if trial.law.class_count:
        skip("values are classes")
    x, source = trial.points[0][:M], trial.source()
    expected = source.expected(x.copy())
    if expected is None:
        skip("expected() is not given")
    require_part_errors(source, x.copy(), expected)


@requirement()
def swept_options_exist(trial: JointTrial) -> None:
    """``swept`` names options of the class."""
    require_swept(trial.law)


def _allowed(values: np.ndarray) -> np.ndarray:
    """How far a mean over the sample may lie from the true one."""
    return np.asarray(DEVIATIONS * np.std(values, axis=0) / np.sqrt(len(values)) + 1e-9)
