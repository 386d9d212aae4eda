"""Labels that depend on the value of a point alone: clean, noisy, of flipped classes, and the sign."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, FiniteFloat

from bfc_bench.learner import LabelKind
from bfc_bench.tasks.base import Float, Labelling, Labels


class Clean(Labels):
    """y = G*(x), or the label in a data set."""

    kind: ClassVar[str] = "clean"
    takes: ClassVar[frozenset[LabelKind]] = frozenset({"real", "binary", "class"})
    noise_variance: ClassVar[float] = 0.0

    def label(self, rng: np.random.Generator, seen: Float, values: Float, labelling: Labelling) -> Float:
        """The target values, (m,)."""
        return values


class Noise(Labels):
    """y = G*(x) + e with Gaussian e, independent of x, whose standard deviation is ``sd`` times the target's."""

    kind: ClassVar[str] = "noise"
    sd: Annotated[FiniteFloat, Field(ge=0)]
    """Standard deviation of e over that of the target."""

    @property
    def facts(self) -> Mapping[str, object]:
        """``opt`` = sd^2."""
        return {"opt": self.sd**2}

    @property
    def noise_variance(self) -> float:
        """sd^2."""
        return self.sd**2

    def label(self, rng: np.random.Generator, seen: Float, values: Float, labelling: Labelling) -> Float:
        """The noisy target values, (m,)."""
        return values + self.sd * labelling.deviation * rng.standard_normal(len(values))


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


class Sign(Labels):
    """y = sgn(G*(x) - E G*) in {-1, +1}, +1 at 0: classification for the logistic and hinge losses of NR section 2.

    The mean is subtracted so that the classes have similar sizes for a target that is not centred, such as a monomial
    of even degree.
    """

    kind: ClassVar[str] = "sign"
    label_kind: ClassVar[LabelKind] = "binary"

    def label(self, rng: np.random.Generator, seen: Float, values: Float, labelling: Labelling) -> Float:
        """-1.0 or +1.0, (m,)."""
        return np.where(values >= labelling.mean, 1.0, -1.0)
