"""Requirements of the parts of a task: inputs, targets, joint laws, labels, data sets and metrics.

All of them turn a random stream into numbers, so that all have the same requirements. ``EXAMINED`` says for each kind
which numbers these are.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, get_args

import numpy as np

from bfc_bench.config import Settings
from bfc_bench.learner import LabelKind
from bfc_bench.tasks.base import DataSet, Drawn, Family, InputLaw, Inputs, JointLaw, Labelling, Labels, Target
from bfc_bench.tasks.data_task import DataTask
from bfc_bench.tasks.inputs import INPUTS
from bfc_bench.tasks.inputs.uniform import Uniform
from bfc_bench.tasks.labels.pointwise import Clean
from bfc_bench.tasks.load_data import digest_of, frozen, read
from bfc_bench.tasks.metrics import Metric, TargetValues
from bfc_bench.testing.examples import CLASSES, TARGET, example_values, rng
from bfc_bench.testing.global_state import preserved
from bfc_bench.testing.requirement import require, require_json, requirement, skip

M, MANY, D = 40, 20_000, 6
CLOSE = 1e-9
"""Largest difference, relative to the largest value, of numbers that must be equal."""
DEVIATIONS = 6.0
"""Number of standard errors by which the mean of a sample may differ from the true one."""
OTHERS = "State others in example_d or example_inputs of the class"


@dataclass(frozen=True)
class Draw:
    """Numbers that a part draws: m rows from a random stream."""

    what: str
    of: Callable[[np.random.Generator, int], np.ndarray]
    row: tuple[int, ...] = ()
    """Shape of a row."""
    allowed: frozenset[float] = frozenset()
    """Values that are allowed; empty for all."""
    random: bool = False
    """Whether another stream must give other numbers."""
    nested: bool = False
    """Whether fewer rows are the first of more rows, because a row does not depend on others."""
    constant: bool = False
    """Whether all numbers may be equal."""


Mean: TypeAlias = tuple[str, Any, np.ndarray]
"""What it is the mean of, the declared expectation, and values (m, ...) whose mean it must be."""


@dataclass(frozen=True)
class Examined:
    """What a part gives on the kit's example."""

    draws: Sequence[Draw]
    means: Callable[[], Sequence[Mean]] = tuple
    m: int = M
    """Number of rows to draw."""


@dataclass
class PartTrial:
    """A tested part."""

    part: Any

    @cached_property
    def examined(self) -> Examined:
        """What it gives."""
        examine = next(examine for base, examine in EXAMINED.items() if isinstance(self.part, base))
        return examine(self.part)

    def numbers(self, draw: Draw, m: int, *purpose: object) -> np.ndarray:
        """What is drawn for m rows from one stream."""
        return draw.of(rng(draw.what, *purpose), m)


@requirement()
def options_survive_json(trial: PartTrial) -> None:
    """Options mean the same after they were stored or sent to a worker as JSON."""
    if not isinstance(trial.part, Settings):
        skip("it has no options")
    require_json(trial.part, type(trial.part).plain)


@requirement()
def applies_somewhere(trial: PartTrial) -> None:
    """``check`` accepts one of ``example_d``, and files of data are there."""
    require(bool(trial.examined.draws), "it gives no numbers")


@requirement(applies_somewhere)
def numbers_have_their_shape_and_range(trial: PartTrial) -> None:
    """Arrays are float64 of the declared shape, finite, in range and not all equal; arguments are not written to."""
    for draw in trial.examined.draws:
        for m in (1, trial.examined.m):
            values, what = trial.numbers(draw, m), f"{draw.what} for m = {m}"
            require(isinstance(values, np.ndarray), f"{what} must be a NumPy array. Got {type(values).__name__}")
            shape = (m, *draw.row)
            require(values.shape == shape, f"{what} must have shape {shape}. Got {values.shape}")
            require(values.dtype == np.float64, f"{what} must be float64. Got {values.dtype}")
            require(bool(np.isfinite(values).all()), f"{what} must be finite")
            wrong = sorted(set(values.ravel().tolist()) - draw.allowed)[:3] if draw.allowed else []
            require(not wrong, f"{draw.what} must be among {sorted(draw.allowed)}. Got {wrong}")
        require(draw.constant or np.ptp(values) > 0, f"{draw.what}: all {values.size} numbers are equal")


@requirement(numbers_have_their_shape_and_range)
def the_stream_decides(trial: PartTrial) -> None:
    """Equal streams give equal numbers, others give other samples, and the global generators are not used."""
    for draw in trial.examined.draws:
        what, m = draw.what, trial.examined.m
        with preserved() as moved:
            first, again = (trial.numbers(draw, m) for _ in range(2))
        require(not moved, f"{what}: draws from the global generator {', '.join(moved)}; draw from the one passed in")
        same = np.array_equal(first, again, equal_nan=True)
        require(
            same, f"{what}: two equal streams give different numbers; all randomness must come from the one passed in"
        )
        differ = not draw.random or not np.array_equal(first, trial.numbers(draw, m, 1))
        require(differ, f"{what}: two different streams give the same numbers")


@requirement(numbers_have_their_shape_and_range)
def fewer_points_are_the_first_of_more(trial: PartTrial) -> None:
    """A value depends on its own point alone, and a smaller sample of a data set is a prefix of a larger one."""
    nested = [draw for draw in trial.examined.draws if draw.nested]
    if not nested:
        skip("the framework draws it in blocks")
    for draw in nested:
        more, fewer = (trial.numbers(draw, m) for m in (trial.examined.m, trial.examined.m // 4))
        close = np.allclose(fewer, more[: len(fewer)], rtol=0, atol=CLOSE * np.max(np.abs(more)))
        require(close, f"{draw.what}: a point has another value alone than among others")


@requirement(numbers_have_their_shape_and_range)
def declared_means_are_those_of_a_sample(trial: PartTrial) -> None:
    """``square_mean`` and ``expected`` agree with a large sample, and a metric of perfect predictions is 0."""
    means = trial.examined.means()
    if not means:
        skip("it declares no mean")
    for what, expected, values in means:
        sampled = values.mean(axis=0)
        allowed = DEVIATIONS * values.std(axis=0) / np.sqrt(len(values)) + CLOSE
        error = np.ravel(np.abs(sampled - expected) / allowed)
        worst = int(np.argmax(error))
        declared = np.broadcast_to(expected, np.shape(sampled)).flat[worst]
        message = f"{what} must be {declared:.4g}. {len(values)} points have {np.ravel(sampled)[worst]:.4g}"
        require(bool(error[worst] <= 1), message)


def first_dimension(part: Inputs | Family, tried: Sequence[int]) -> int:
    """The first dimension in which a part exists. Fails if there is none, or if its rows have another size."""
    reasons = {d: part.check(d) for d in tried}
    allowed = [d for d, reason in reasons.items() if reason is None]
    listed = ", ".join(map(str, tried))
    require(bool(allowed), f"check(d) refuses d = {listed}: {reasons[tried[0]]}. {OTHERS}")
    d, shape = allowed[0], part.row_shape(allowed[0])
    require(not shape or math.prod(shape) == d, f"the product of row_shape({d}) must be {d}. Got {shape}")
    return d


def hidden_layers(drawn: Drawn, x: np.ndarray) -> list[Draw]:
    """The hidden features of what was drawn, at the first m of points (M, d)."""
    return [
        Draw(layer, lambda stream, m, layer=layer: drawn.hidden(x[:m])[layer], features.shape[1:], nested=True)  # type: ignore[misc]
        for layer, features in drawn.hidden(x).items()
    ]


def errors_in_parts(drawn: Drawn, x: np.ndarray, values: np.ndarray) -> list[Mean]:
    """The errors of a target's own values (m,) in its parts, which must be 0."""
    errors = drawn.part_errors(x, values)
    return [(f"the error of G* itself in {part!r}", 0.0, np.array([error])) for part, error in errors.items()]


def examined_inputs(inputs: Inputs) -> Examined:
    """Points of the law, and points of laws that are drawn anew."""
    d = first_dimension(inputs, inputs.example_d)
    law = inputs.law(rng("law"), d)
    draws = [
        Draw("sample", law.sample, (d,), random=True),
        Draw("law", lambda stream, m: inputs.law(stream, d).sample(rng("points"), m), (d,)),
    ]
    return Examined(draws, lambda: [("square_mean", law.square_mean, law.sample(rng("many"), MANY) ** 2)])


def law_for(target: Target) -> InputLaw:
    """An input law and a dimension that go with a target."""
    first_dimension(target, target.example_d)
    candidates = target.example_inputs or [
        kind() for kind in INPUTS if not any(option.is_required() for option in kind.model_fields.values())
    ]
    for inputs in candidates:
        for d in target.example_d:
            if target.check_inputs(inputs) is None and target.check(d) is None and inputs.check(d) is None:
                return inputs.law(rng("law"), d)
    raise AssertionError(f"check and check_inputs refuse every input law and dimension that is tried. {OTHERS}")


def examined_target(target: Target) -> Examined:
    """Values of teachers that are drawn anew."""
    law = law_for(target)
    x = frozen(law.sample(rng("points"), M))
    classes = frozenset(map(float, range(target.class_count)))
    teacher = target.draw(rng("teacher"), law)
    draw = Draw("draw", lambda stream, m: target.draw(stream, law)(x[:m]), allowed=classes, nested=True)
    draws = [draw, *hidden_layers(teacher, x)]
    return Examined(draws, lambda: [] if classes else errors_in_parts(teacher, x, teacher(x)))


def examined_law(law: JointLaw) -> Examined:
    """Points of a member of the family, and of members that are drawn anew."""
    d = first_dimension(law, law.example_d if law.dimension is None else (law.dimension,))
    classes = frozenset(map(float, range(law.class_count)))
    source = law.draw(rng("source"), d)
    x, y = map(frozen, source.sample(rng("many"), MANY))
    draws = [
        Draw("x of sample", lambda stream, m: source.sample(stream, m)[0], (d,), random=True),
        Draw("y of sample", lambda stream, m: source.sample(stream, m)[1], allowed=classes),
        Draw("x of draw", lambda stream, m: law.draw(stream, d).sample(rng("points"), m)[0], (d,)),
    ]
    draws += hidden_layers(source, x[:M])
    known = source.expected(x[:1].copy()) is not None
    if known:
        at = source.expected
        draws.append(Draw("expected", lambda stream, m: np.asarray(at(x[:m])), allowed=classes, nested=True))

    def means() -> list[Mean]:
        found: list[Mean] = [] if source.square_mean is None else [("square_mean", source.square_mean, x**2)]
        if known and not classes:
            expected = np.asarray(source.expected(x))
            found.append(("the mean of y - expected(x)", 0.0, y - expected))
            found.append(("the mean of (y - expected(x)) G*", 0.0, (y - expected) * (expected - expected.mean())))
            found += errors_in_parts(source, x, expected)
        return found

    return Examined(draws, means)


def examined_labels(labels: Labels) -> Examined:
    """Labels of a quadratic network on uniform inputs, or of three classes, and what the learner sees."""
    law = Uniform().law(rng("law"), D)
    x = frozen(law.sample(rng("points"), M))
    taken: LabelKind = "real" if "real" in labels.takes else "class"
    values = frozen(example_values(law, x, taken))
    classes = CLASSES if taken == "class" else 0
    rule = Labelling(labels, law, 0.0, 1.0, labels.draw(rng("rule"), law, TARGET), classes)
    kind = labels.kind_of(taken)
    allowed = {"binary": frozenset({-1.0, 1.0}), "class": frozenset(map(float, range(CLASSES)))}.get(kind, frozenset())
    seen = frozen(rule.add_columns(rng("show"), x))
    draws = [
        Draw("add_columns", lambda stream, m: rule.add_columns(stream, x[:m]), (D + labels.columns,)),
        Draw("label", lambda stream, m: rule.label(stream, seen[:m], values[:m]), allowed=allowed),
    ]
    return Examined(draws)


def examined_data(data: DataSet) -> Examined:
    """Training points of a task on the data set, which is read again each time."""
    if (missing := data.missing_files()) is not None:
        skip(missing)

    def task() -> DataTask:
        digest = digest_of(read(data, type(data).__name__))
        require(digest == first, "load gives other contents when it is called again; fix its seeds and its order")
        return DataTask("check", data, digest=digest, labels=Clean())

    def train(m: int) -> Any:
        return (now := task()).problem(0, now.dimension, 0, 100).train(m)

    contents = read(data, type(data).__name__)
    first = digest_of(contents)
    nested = not data.standardize and data.whiten == "none" and contents.table is None
    width = train(1).d
    draws = [
        Draw("x", lambda stream, m: train(m).x, (width,), nested=nested),
        Draw("y", lambda stream, m: train(m).y, nested=nested, constant=True),
    ]
    return Examined(draws, m=min(M, len(contents.points) // 2, task().pool(100)))


def examined_metric(metric: Metric) -> Examined:
    """Values for good and for bad predictions of each kind of labels."""
    kinds = get_args(LabelKind)
    fine = isinstance(metric.labels, (set, frozenset)) and bool(metric.labels) and metric.labels <= {*kinds}
    require(fine, f"labels must be a set of some of {', '.join(kinds)}. Got {metric.labels!r}")
    require(
        not (metric.of == "probabilities" and "real" in metric.labels),
        "real labels have no probabilities; leave 'real' out of labels",
    )

    def values(share: float) -> np.ndarray:
        """The metric for each kind of labels, where predictions are random up to ``share``."""
        return np.array([_value(metric, kind, share) for kind in sorted(metric.labels)])

    draw = Draw("measure", lambda stream, m: np.array([values((k + 1) / m) for k in range(m)]), (len(metric.labels),))
    return Examined([draw], lambda: [("measure of perfect predictions", 0.0, values(0.0))])


def _value(metric: Metric, kind: LabelKind, share: float) -> float:
    """The metric of predictions that are the truth but for a share of random numbers."""
    classes = CLASSES if kind == "class" else 0
    noise = rng("noise").dirichlet(np.ones(CLASSES), M) if classes else rng("noise").random(M)
    law = Uniform().law(rng("law"), D)
    target = example_values(law, law.sample(rng("points"), M), kind)
    perfect = np.eye(CLASSES)[target.astype(int)] if classes else target
    if kind == "binary" and metric.of == "probabilities":
        perfect = (target + 1) / 2
    truth = TargetValues(frozen(target))
    value: Any = metric.measure(frozen((1 - share) * perfect + share * noise), truth)
    require(np.ndim(value) == 0, f"measure must return a number. Got {type(value).__name__}")
    inside = not value < 0 and not value > metric.largest * (1 + CLOSE)
    require(inside, f"measure must be from 0 to {metric.largest:g}. Got {value}")
    return float(value)


EXAMINED: Mapping[type, Callable[[Any], Examined]] = {
    Inputs: examined_inputs,
    Target: examined_target,
    JointLaw: examined_law,
    Labels: examined_labels,
    DataSet: examined_data,
    Metric: examined_metric,
}
"""What a part of each kind gives, by its base class."""
