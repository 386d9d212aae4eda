"""Labels at a given distance from the target: agnostic learning."""

from collections.abc import Mapping
from math import sqrt
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, FiniteFloat

from bfc_bench.tasks.base import Float, InputLaw, Labelling, Labels, Target

PROBES = 16384
"""Number of points on which the adversary's median is estimated."""


class Agnostic(Labels):
    """E(G* - Y)^2 = OPT, with OPT = ``opt`` Var G*. BFC Theorem 3 (lines 333-348) and B.4 (lines 1069-1083).

    A learner should reach E(F - Y)^2 <= (1 + gamma) OPT + eps^2.

    ``noise = "gaussian"``: Y = G* + e with e ~ N(0, OPT) independent of x.

    ``noise = "adversarial"``: Y = G* + sqrt(OPT) s(x), where s is the sign of another teacher of the target's family,
    less its median. The perturbation is bounded by sqrt(OPT) and a function of x alone. It is as complex as the target,
    so learners of such targets follow it in part, and their distance from G* does not fall to 0 with more points.
    """

    kind: ClassVar[str] = "agnostic"
    opt: Annotated[FiniteFloat, Field(gt=0)]
    """OPT / Var G*."""
    noise: Literal["gaussian", "adversarial"] = "gaussian"
    """Whether the perturbation is independent of the inputs (``gaussian``) or a function of them (``adversarial``)."""

    @property
    def facts(self) -> Mapping[str, object]:
        """``opt``."""
        return {"opt": self.opt}

    @property
    def noise_variance(self) -> float | None:
        """``opt`` for Gaussian noise."""
        return self.opt if self.noise == "gaussian" else None

    def check_data(self) -> str | None:
        """The adversary comes from a target's family."""
        return "noise = 'adversarial' needs a target; take 'gaussian'" if self.noise == "adversarial" else None

    def draw(self, rng: np.random.Generator, law: InputLaw, target: Target) -> Mapping[str, Any]:
        """The ``adversary`` and its ``median``, or nothing for Gaussian noise."""
        if self.noise == "gaussian":
            return {}
        adversary = target.draw(rng, law)
        return {"adversary": adversary, "median": float(np.median(adversary(law.sample(rng, PROBES))))}

    def label(self, rng: np.random.Generator, seen: Float, values: Float, labelling: Labelling) -> Float:
        """The target values with their perturbation, (m,)."""
        size = sqrt(self.opt) * labelling.deviation
        if self.noise == "gaussian":
            return values + size * rng.standard_normal(len(values))
        above = labelling.drawn["adversary"](seen) > labelling.drawn["median"]
        return values + size * np.where(above, 1.0, -1.0)
