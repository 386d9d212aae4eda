"""Binary labels: the sign of the target."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bfc_bench.learner import LabelKind
from bfc_bench.tasks.base import Float, Labelling, Labels


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
