"""Inputs from a mixture of correlated Gaussians."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import PositiveInt

from bfc_bench.tasks.base import Float, InputLaw, Inputs
from bfc_bench.tasks.inputs.gaussian_nonspherical import Condition, equal_row_factor


class GaussianMixture(Inputs):
    """x ~ N(0, Sigma_c Sigma_c^T) with c uniform over the components; all rows of all Sigma_c have norm 1.

    Therefore E[x_i^2] = 1 in every component, as BFC Proposition 5.1 requires.
    """

    kind: ClassVar[str] = "gaussian-mixture"
    components: PositiveInt = 3
    """Number of components."""
    condition: Condition = 2.0
    """Largest over smallest singular value of each Sigma_c."""

    def law(self, rng: np.random.Generator, d: int) -> InputLaw:
        """One Sigma per component, (components, d, d), named ``sigmas``."""
        return InputLaw(
            self, d, sigmas=np.stack([equal_row_factor(rng, d, self.condition) for _ in range(self.components)])
        )

    def sample(self, rng: np.random.Generator, m: int, law: InputLaw) -> Float:
        """m independent points, (m, d)."""
        component = rng.integers(self.components, size=m)
        x = rng.standard_normal((m, law.d))
        for c, sigma in enumerate(law.drawn["sigmas"]):
            x[component == c] = x[component == c] @ sigma.T
        return x
