"""Requirements of a labelling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bfc_bench.tasks.base import InputLaw, Labelling, Labels
from bfc_bench.tasks.inputs.uniform import Uniform
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet
from bfc_bench.testing.assertions import require_keyed, require_numbers, rng
from bfc_bench.testing.requirement import require, requirement

D, M, CLASSES = 6, 200, 3
TARGET = QuadraticDensenet(widths=[3], alphas=[1.0])


@dataclass
class LabelsTrial:
    """A tested labelling of a quadratic network on uniform inputs, or of three classes."""

    labels: Labels

    @property
    def real(self) -> bool:
        """Whether it labels real values; otherwise it labels classes."""
        return "real" in self.labels.takes

    @cached_property
    def law(self) -> InputLaw:
        """The input law of the target."""
        return Uniform().law(rng("law"), D)

    @cached_property
    def x(self) -> np.ndarray:
        """Inputs (M, D)."""
        return self.law.sample(rng("points"), M)

    @cached_property
    def values(self) -> np.ndarray:
        """Values (M,) of the target: real with variance 1, or class numbers."""
        values = TARGET.draw(rng("teacher"), self.law)(self.x)
        values = np.asarray((values - values.mean()) / values.std())
        if self.real:
            return values
        return np.searchsorted(np.quantile(values, [1 / 3, 2 / 3]), values).astype(np.float64)

    @cached_property
    def labelling(self) -> Labelling:
        """The labelling after everything random in it is drawn."""
        drawn = self.labels.draw(rng("draw"), self.law, TARGET)
        return Labelling(self.labels, self.law, 0.0, 1.0, drawn, 0 if self.real else CLASSES)

    def label(self, stream: np.random.Generator) -> np.ndarray:
        """Labels (M,) drawn from a stream."""
        return self.labelling.label(stream, self.seen().copy(), self.values.copy())

    def seen(self) -> np.ndarray:
        """The inputs (M, D + columns) as the learner sees them."""
        return self.labelling.add_columns(rng("show"), self.x.copy())


@requirement()
def inputs_are_shown_in_their_shape(trial: LabelsTrial) -> None:
    """``add_columns`` gives (m, d + columns), finite float64."""
    require_numbers(trial.seen(), (M, D + trial.labels.columns), "what add_columns returns")


@requirement(inputs_are_shown_in_their_shape)
def labels_have_their_shape_and_kind(trial: LabelsTrial) -> None:
    """Labels are (m,) and finite; binary ones are -1 or +1, and classes stay class numbers."""
    labels = require_numbers(trial.label(rng("label")), (M,), "labels")
    kind = trial.labels.kind_of("real" if trial.real else "class")
    allowed = {"binary": {-1.0, 1.0}, "class": set(map(float, range(CLASSES)))}.get(kind)
    wrong = sorted(set(labels.tolist()) - allowed)[:3] if allowed else []
    require(not wrong, f"labels of kind {kind!r} must be {sorted(allowed or ())}. Got {wrong}")


@requirement(labels_have_their_shape_and_kind)
def labels_come_from_their_stream(trial: LabelsTrial) -> None:
    """Equal streams give equal labels, and the global generators are not used."""
    require_keyed(trial.label, "label")


@requirement(labels_have_their_shape_and_kind)
def inputs_and_values_are_not_changed(trial: LabelsTrial) -> None:
    """``label`` does not write into its arguments."""
    seen, values = trial.seen(), trial.values.copy()
    before = seen.copy()
    trial.labelling.label(rng("label"), seen, values)
    require(np.array_equal(seen, before), "label writes into the inputs that it is given")
    require(np.array_equal(values, trial.values), "label writes into the values that it is given")
