"""Requirements of a metric, tested on made-up predictions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any, get_args

import numpy as np

from bfc_bench.learner import LabelKind
from bfc_bench.tasks.metrics import Invariance, Metric, TargetValues
from bfc_bench.testing.assertions import CLOSE, require_keyed, rng
from bfc_bench.testing.requirement import require, requirement, skip

M, CLASSES = 200, 3
ROUNDING = 1e-12
"""Largest difference from the declared value for perfect predictions."""


@dataclass(frozen=True)
class Case:
    """Predictions and the truth that they are compared with."""

    kind: LabelKind
    what: str
    """What the predictions are, in words."""
    prediction: np.ndarray
    """(m,) or (m, C)."""
    target: np.ndarray
    """(m,)."""

    @property
    def truth(self) -> TargetValues:
        """What ``measure`` is given beside the predictions."""
        return TargetValues(self.target.copy(), classes=CLASSES if self.kind == "class" else 0)

    @property
    def labelled(self) -> str:
        """The case in words."""
        return f"{self.what} of {self.kind} labels"


@dataclass
class MetricTrial:
    """A tested metric."""

    metric: Metric

    @cached_property
    def kinds(self) -> list[LabelKind]:
        """The label kinds that it applies to, in a fixed order."""
        return [kind for kind in get_args(LabelKind) if kind in self.metric.labels]

    @property
    def chances(self) -> bool:
        """Whether the metric is given probabilities."""
        return self.metric.of == "probabilities"

    def target(self, kind: LabelKind, m: int = M) -> np.ndarray:
        """Target values (m,)."""
        if kind == "real":
            return rng("truth").standard_normal(m) ** 3 + 2.0
        numbers = rng("truth").integers(CLASSES if kind == "class" else 2, size=m).astype(np.float64)
        return numbers if kind == "class" else 2 * numbers - 1

    def perfect(self, kind: LabelKind, target: np.ndarray) -> np.ndarray:
        """Predictions that equal the truth."""
        if kind == "class":
            return np.asarray(np.eye(CLASSES)[target.astype(int)])
        return (target + 1) / 2 if self.chances else target.copy()

    def noisy(self, kind: LabelKind, target: np.ndarray, noise: float) -> np.ndarray:
        """Predictions of target values that are wrong by about ``noise``.

        Args:
            kind: The label kind.
            target: Target values (m,).
            noise: Standard deviation of the error; for probabilities, its share is noise / (1 + noise).
        """
        perfect = self.perfect(kind, target)
        if not self.chances:
            return perfect + noise * rng("noise", kind).standard_normal(perfect.shape)
        share = noise / (1 + noise)
        other = (
            rng("noise", kind).dirichlet(np.ones(CLASSES), len(target))
            if kind == "class"
            else rng("noise", kind).random(len(target))
        )
        return np.asarray((1 - share) * perfect + share * other)

    def constant(self, kind: LabelKind, m: int) -> np.ndarray:
        """The same prediction at each of m points: equal probabilities, scores or values."""
        shape = (m, CLASSES) if kind == "class" else (m,)
        return np.full(shape, (1 / CLASSES if kind == "class" else 0.5) if self.chances else 0.0)

    def cases(self) -> Iterator[Case]:
        """Good, bad and constant predictions for every label kind."""
        for kind in self.kinds:
            target = self.target(kind)
            for what, noise in (("good predictions", 0.3), ("bad predictions", 3.0)):
                yield Case(kind, what, self.noisy(kind, target, noise), target)
            yield Case(kind, "constant predictions", self.constant(kind, M), target)

    def degenerate(self) -> Iterator[Case]:
        """Predictions of truths that are all equal, and of one point."""
        for kind in self.kinds:
            for m, what in ((M, "predictions of equal values"), (1, "one prediction")):
                target = np.full(m, self.target(kind)[0])
                yield Case(kind, what, self.noisy(kind, target, 0.3), target)

    def value(self, case: Case) -> float:
        """What ``measure`` gives; fails if that is no number or a warning is issued."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                value: Any = self.metric.measure(case.prediction.copy(), case.truth)
            except Warning as warning:
                raise AssertionError(f"{case.labelled}: measure warns: {warning}") from None
        number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        require(number, f"{case.labelled}: measure must return a number. Got {type(value).__name__}")
        return float(value)


@requirement()
def it_says_where_it_applies(trial: MetricTrial) -> None:
    """``labels`` are known label kinds; a metric of probabilities does not apply to real labels."""
    labels, known = trial.metric.labels, get_args(LabelKind)
    fine = isinstance(labels, (set, frozenset)) and bool(labels) and labels <= {*known}
    require(fine, f"labels must be a set of some of {', '.join(known)}. Got {labels!r}")
    require(not (trial.chances and "real" in labels), "real labels have no probabilities; leave 'real' out of labels")


@requirement(it_says_where_it_applies)
def values_are_in_range(trial: MetricTrial) -> None:
    """``measure`` gives a finite number from 0 to ``largest``, also for constant predictions."""
    for case in trial.cases():
        value = trial.value(case)
        require(
            0 <= value <= trial.metric.largest * (1 + CLOSE),
            f"{case.labelled}: the value must be from 0 to largest = {trial.metric.largest:g}. Got {value:g}"
            if isfinite(value)
            else f"{case.labelled}: the value must be finite. Got {value:g}",
        )


@requirement(values_are_in_range)
def perfect_predictions_have_the_declared_value(trial: MetricTrial) -> None:
    """Predictions that equal the truth give ``perfect``."""
    expected = trial.metric.perfect
    if expected is None:
        skip("perfect is None")
    for kind in trial.kinds:
        case = Case(kind, "perfect predictions", trial.perfect(kind, trial.target(kind)), trial.target(kind))
        value = trial.value(case)
        require(abs(value - expected) <= ROUNDING, f"{case.labelled} must give perfect = {expected:g}. Got {value:g}")


@requirement(values_are_in_range)
def perfect_predictions_have_the_smallest_value(trial: MetricTrial) -> None:
    """Good predictions have no smaller value than perfect ones, and bad predictions have a larger one."""
    for kind in trial.kinds:
        target = trial.target(kind)
        tried = [(noise, Case(kind, "predictions", trial.noisy(kind, target, noise), target)) for noise in (0, 0.3, 3)]
        values = [trial.value(case) for _, case in tried]
        require(
            values[0] <= values[1] and values[0] < values[2],
            f"{kind} labels: perfect predictions must have the smallest error. Got {values[0]:g} for perfect ones, "
            f"{values[1]:g} for good ones and {values[2]:g} for bad ones",
        )


@requirement(values_are_in_range)
def the_value_is_the_same_at_every_call(trial: MetricTrial) -> None:
    """A second call gives the same number, and no random number is drawn."""
    for case in trial.cases():
        require_keyed(lambda _, case=case: np.array([trial.value(case)]), "measure")  # type: ignore[misc]


@requirement(values_are_in_range)
def arguments_are_not_changed(trial: MetricTrial) -> None:
    """``measure`` writes neither into the predictions nor into the truth, which other metrics are given too."""
    for case in trial.cases():
        prediction, truth = case.prediction.copy(), case.truth
        trial.metric.measure(prediction, truth)
        require(np.array_equal(prediction, case.prediction), "measure writes into the predictions that it is given")
        require(np.array_equal(truth.target, case.target), "measure writes into truth.target")


@requirement(values_are_in_range)
def the_order_of_points_does_not_matter(trial: MetricTrial) -> None:
    """Points in another order give the same value."""
    for case in trial.cases():
        order = rng("order").permutation(M)
        other = Case(case.kind, case.what, case.prediction[order], case.target[order])
        _require_equal(trial, case, other, "points in another order")


@requirement(values_are_in_range)
def declared_invariances_hold(trial: MetricTrial) -> None:
    """What ``invariances`` names does not change the value."""
    declared, known = trial.metric.invariances, get_args(Invariance)
    unknown = sorted(set(declared) - {*known})
    require(not unknown, f"invariances must be some of {', '.join(known)}. Got {', '.join(map(repr, unknown))}")
    if not declared:
        skip("invariances names none")
    tried = set()
    for case in trial.cases():
        for name, other in _changed(trial, case).items():
            if name in declared:
                tried.add(name)
                _require_equal(trial, case, other, f"invariances names {name!r}; the change")
    idle = sorted(set(declared) - tried)
    require(not idle, f"invariances names {', '.join(idle)}, which cannot apply to its labels and what it measures")


@requirement(values_are_in_range)
def a_constant_truth_is_refused_or_measured(trial: MetricTrial) -> None:
    """Where all values are equal, and for one point, the value is finite, or ``ValueError`` says why there is none."""
    for case in trial.degenerate():
        try:
            value = trial.value(case)
        except ValueError as error:
            require(bool(str(error).strip()), f"{case.labelled}: the ValueError must say why there is no value")
            continue
        require(
            isfinite(value) and value >= 0,
            f"{case.labelled}: the value must be finite and >= 0, or a ValueError must say why there is none "
            f"(truth.constant says whether all values are equal). Got {value:g}",
        )


def _changed(trial: MetricTrial, case: Case) -> dict[Invariance, Case]:
    """The case after each change that makes sense for it."""
    prediction, target, kind = case.prediction, case.target, case.kind
    changed: dict[Invariance, Case] = {}
    if kind == "real":
        changed["shift"] = Case(kind, case.what, prediction + 3.0, target + 3.0)
        changed["scale"] = Case(kind, case.what, 7.0 * prediction, 7.0 * target)
    if not trial.chances:
        changed["increasing"] = Case(kind, case.what, prediction**3 + prediction, target)
    if kind == "binary":
        changed["classes"] = Case(kind, case.what, 1 - prediction if trial.chances else -prediction, -target)
    if kind == "class":
        changed["classes"] = Case(kind, case.what, np.roll(prediction, 1, axis=1), (target + 1) % CLASSES)
    return changed


def _require_equal(trial: MetricTrial, case: Case, other: Case, what: str) -> None:
    before, after = trial.value(case), trial.value(other)
    require(
        abs(before - after) <= CLOSE * max(abs(before), 1.0),
        f"{case.labelled}: {what} must not change the value. Got {before:g} and then {after:g}",
    )
