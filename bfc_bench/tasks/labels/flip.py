"""Labels of classes, some of them wrong."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from bfc_bench.learner import LabelKind
from bfc_bench.tasks.base import Float, Labelling, Labels


class Flip(Labels):
    """The class that a data set has, or with probability ``rate`` another one, each of the others as likely.

    Training labels alone: predictions are compared with the class that the data set has.
    """

    kind: ClassVar[str] = "flip"
    takes: ClassVar[frozenset[LabelKind]] = frozenset({"binary", "class"})
    rate: Annotated[float, Field(ge=0, lt=1)]
    """Probability that a training label is another class."""

    def label(self, rng: np.random.Generator, seen: Float, values: Float, rule: Labelling) -> Float:
        """-1.0 or +1.0, or numbers of classes, (m,)."""
        wrong, step = rng.random(len(values)) < self.rate, rng.random(len(values))
        if not rule.classes:
            return np.where(wrong, -values, values)
        others = (values + 1 + np.floor(step * (rule.classes - 1))) % rule.classes
        return np.where(wrong, others, values)
