"""Input distributions, one per file."""

from __future__ import annotations

from bfc_bench.tasks.base import Inputs
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.gaussian_dropped import GaussianDropped
from bfc_bench.tasks.inputs.gaussian_mixture import GaussianMixture
from bfc_bench.tasks.inputs.gaussian_nonspherical import GaussianNonspherical
from bfc_bench.tasks.inputs.gaussian_power_law import GaussianPowerLaw
from bfc_bench.tasks.inputs.hypercube import Hypercube
from bfc_bench.tasks.inputs.sphere import Sphere
from bfc_bench.tasks.inputs.uniform import Uniform

INPUTS: tuple[type[Inputs], ...] = (
    Gaussian,
    GaussianDropped,
    GaussianMixture,
    GaussianNonspherical,
    GaussianPowerLaw,
    Hypercube,
    Sphere,
    Uniform,
)
"""The built-in input distributions."""
