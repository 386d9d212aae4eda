"""Input distributions."""

from __future__ import annotations

from bfc_bench.tasks.base import Inputs
from bfc_bench.tasks.inputs.gaussian import Gaussian, GaussianDropped, GaussianPowerLaw
from bfc_bench.tasks.inputs.gaussian_correlated import GaussianMixture, GaussianNonspherical
from bfc_bench.tasks.inputs.hypercube import Hypercube
from bfc_bench.tasks.inputs.sphere import Sphere
from bfc_bench.tasks.inputs.uniform import Uniform

INPUTS: tuple[type[Inputs], ...] = (
    *(Gaussian, GaussianDropped, GaussianMixture, GaussianNonspherical, GaussianPowerLaw),
    *(Hypercube, Sphere, Uniform),
)
"""The built-in input distributions."""
