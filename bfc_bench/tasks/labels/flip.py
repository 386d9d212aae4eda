"""Labels of classes, some of them wrong."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from bfc_bench.learner import LabelKind
from bfc_bench.tasks.base import Float, Labelling, Labels


class Flip(Labels):
    """The class of a point, or with probability ``rate`` one of the others, each equally likely.

    Only training labels are flipped: predictions are compared with the class in the data set, or that of the target or
    joint law.
    """

    kind: ClassVar[str] = "flip"
    takes: ClassVar[frozenset[LabelKind]] = frozenset({"binary", "class"})
    rate: Annotated[float, Field(ge=0, lt=1)]
    """Probability that a training label is another class."""

    def label(self, rng: np.random.Generator, seen: Float, values: Float, labelling: Labelling) -> Float:
        """-1.0 or +1.0, or numbers of classes, (m,)."""
        wrong, step = rng.random(len(values)) < self.rate, rng.random(len(values))
        if not labelling.classes:
            return np.where(wrong, -values, values)
        others = (values + 1 + np.floor(step * (labelling.classes - 1))) % labelling.classes
        return np.where(wrong, others, values)
