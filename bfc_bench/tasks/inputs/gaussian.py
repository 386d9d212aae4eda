"""Standard Gaussian inputs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bfc_bench.tasks.base import Float, Inputs, Law


class Gaussian(Inputs):
    """x ~ N(0, I). BFC section 5."""

    kind: ClassVar[str] = "gaussian"

    def sample(self, rng: np.random.Generator, m: int, law: Law) -> Float:
        """m independent points, (m, d)."""
        return rng.standard_normal((m, law.d))
