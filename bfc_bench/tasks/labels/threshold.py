"""Binary labels that say on which side of a linear threshold the target is."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from bfc_bench.learner import LabelKind
from bfc_bench.tasks.base import Float, InputLaw, Inputs, Labelling, Labels, Target
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.orthonormal import orthonormal_rows


class BeyondThreshold(Labels):
    """y = sgn(x_0 + G*(x)) in {-1, +1}, for Var G* = 1 and x_0 ~ N(-E G*, 1). BFC 3.2 and Theorem 4 (lines 398-445).

    The learner sees x_0 too, d + 1 columns in all.

    ``form = "coordinate"``: it sees (x_0, x) and knows that column 0 is added to G* before the sign is taken.

    ``form = "direction"``: y = sgn(w.z + G*(P z) - E G*) for z ~ N(0, I) in d + 1 dimensions, an unknown direction w of
    norm 1, and P z the d coordinates of z orthogonal to w in a random basis (SLIDES, 1{<w,x> + G(P x) >= 0}). G* is
    centred here, since a mean of w.z would reveal w. Squares of z are not squares of P z, so take a target that does
    not build on x_i^2, such as ``slide-densenet``.
    """

    kind: ClassVar[str] = "threshold"
    label_kind: ClassVar[LabelKind] = "binary"
    unit_variance: ClassVar[bool] = True
    columns: ClassVar[int] = 1
    form: Literal["coordinate", "direction"] = "coordinate"
    """Whether x_0 is column 0 (``coordinate``) or lies along an unknown direction (``direction``)."""

    @property
    def margin_column(self) -> int | None:
        """Column 0 for ``coordinate``; unknown for ``direction``."""
        return 0 if self.form == "coordinate" else None

    def check_inputs(self, inputs: Inputs) -> str | None:
        """A direction is only hidden if the input law has no preferred direction."""
        if self.form == "direction" and not (isinstance(inputs, Gaussian) and inputs.mean == 0):
            return "form = 'direction' needs gaussian inputs of mean 0; take them or form = 'coordinate'"
        return None

    def draw(self, rng: np.random.Generator, law: InputLaw, target: Target) -> Mapping[str, Any]:
        """A random ``basis``, (d + 1, d + 1), whose first row is w; nothing for ``coordinate``."""
        return {"basis": orthonormal_rows(rng, law.d + 1, law.d + 1)} if self.form == "direction" else {}

    def add_columns(self, rng: np.random.Generator, x: Float, labelling: Labelling) -> Float:
        """(x_0, x), or z, (m, d + 1)."""
        extra = rng.standard_normal((len(x), 1))
        if self.form == "coordinate":
            return np.hstack([extra - labelling.mean, x])
        return np.asarray(np.hstack([extra, x]) @ labelling.drawn["basis"])

    def label(self, rng: np.random.Generator, seen: Float, values: Float, labelling: Labelling) -> Float:
        """-1.0 or +1.0, (m,)."""
        offset = seen[:, 0] if self.form == "coordinate" else seen @ labelling.drawn["basis"][0] - labelling.mean
        return np.where(offset + values >= 0, 1.0, -1.0)

    def square_mean(self, labelling: Labelling) -> Float | None:
        """E[x_i^2] of the columns seen, (d + 1,)."""
        first = 1 + labelling.mean**2 if self.form == "coordinate" else 1.0
        return None if labelling.law is None else np.concatenate([[first], labelling.law.square_mean])
