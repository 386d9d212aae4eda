"""Labels without noise."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bfc_bench.learner import LabelKind
from bfc_bench.tasks.base import Float, Labelling, Labels


class Clean(Labels):
    """y = G*(x), or the label in a data set."""

    kind: ClassVar[str] = "clean"
    takes: ClassVar[frozenset[LabelKind]] = frozenset({"real", "binary", "class"})

    @property
    def noise_variance(self) -> float:
        """0."""
        return 0.0

    def label(self, rng: np.random.Generator, seen: Float, values: Float, labelling: Labelling) -> Float:
        """The target values, (m,)."""
        return values
