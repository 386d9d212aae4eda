"""Laws of a labelling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bfc_bench.tasks.base import Labelling, Labels
from bfc_bench.tasks.inputs.uniform import Uniform
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet
from bfc_bench.testing.exceptions import require
from bfc_bench.testing.random_streams import require_keyed, require_numbers, rng
from bfc_bench.testing.requirement import law

D, M, CLASSES = 6, 200, 3


@dataclass
class LabelsTrial:
    """A labelling on trial: of a quadratic network on uniform inputs, or of three classes."""

    labels: Labels

    @property
    def real(self) -> bool:
        """Whether it labels real values."""
        return "real" in self.labels.takes

    @cached_property
    def x(self) -> np.ndarray:
        """Inputs (M, D) of the target."""
        return Uniform().law(rng("law"), D).sample(rng("points"), M)

    @cached_property
    def values(self) -> np.ndarray:
        """Values (M,): real ones of variance 1, or numbers of classes."""
        target = QuadraticDensenet(widths=[3], alphas=[1.0])
        values = target.draw(rng("teacher"), Uniform().law(rng("law"), D))(self.x)
        values = np.asarray((values - values.mean()) / values.std())
        if self.real:
            return values
        return np.searchsorted(np.quantile(values, [1 / 3, 2 / 3]), values).astype(np.float64)

    @cached_property
    def rule(self) -> Labelling:
        """With everything drawn."""
        law, target = Uniform().law(rng("law"), D), QuadraticDensenet(widths=[3], alphas=[1.0])
        drawn = self.labels.draw(rng("draw"), law, target)
        return Labelling(self.labels, law, 0.0, 1.0, drawn, 0 if self.real else CLASSES)

    def label(self, stream: np.random.Generator) -> np.ndarray:
        """Labels (M,)."""
        return self.rule.label(stream, self.seen().copy(), self.values.copy())

    def seen(self) -> np.ndarray:
        """What the learner sees, (M, D + columns)."""
        return self.rule.show(rng("show"), self.x.copy())


@law()
def inputs_are_shown_in_their_shape(trial: LabelsTrial) -> None:
    """``show`` gives (m, d + columns), finite float64."""
    require_numbers(trial.seen(), (M, D + trial.labels.columns), "what show gives")


@law(inputs_are_shown_in_their_shape)
def labels_have_their_shape_and_kind(trial: LabelsTrial) -> None:
    """(m,), finite; -1 and +1 where they are binary, numbers of classes where they were that."""
    labels = require_numbers(trial.label(rng("label")), (M,), "labels")
    kind = trial.labels.kind_of("real" if trial.real else "class")
    allowed = {"binary": {-1.0, 1.0}, "class": set(map(float, range(CLASSES)))}.get(kind)
    wrong = sorted(set(labels.tolist()) - allowed)[:3] if allowed else []
    require(not wrong, f"labels of kind {kind!r} must be {sorted(allowed or ())}. Got {wrong}")


@law(labels_have_their_shape_and_kind)
def labels_come_from_their_stream(trial: LabelsTrial) -> None:
    """Equal streams give equal labels, and no global generator is touched."""
    require_keyed(trial.label, "label")


@law(labels_have_their_shape_and_kind)
def inputs_and_values_are_not_changed(trial: LabelsTrial) -> None:
    """Both are lent."""
    seen, values = trial.seen(), trial.values.copy()
    kept = seen.copy(), values.copy()
    trial.rule.label(rng("label"), seen, values)
    require(np.array_equal(seen, kept[0]), "label writes into the inputs that it is given")
    require(np.array_equal(values, kept[1]), "label writes into the values that it is given")
