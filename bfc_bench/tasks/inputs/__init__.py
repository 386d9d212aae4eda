"""Input distributions."""

from bfc_bench.tasks.base import Inputs
from bfc_bench.tasks.inputs.gaussian import (
    ExponentialPower,
    Gaussian,
    GaussianDropped,
    GaussianMixture,
    GaussianNonspherical,
    GaussianPowerLaw,
)
from bfc_bench.tasks.inputs.uniform import Hypercube, Sphere, Uniform

INPUTS: tuple[type[Inputs], ...] = (
    *(ExponentialPower, Gaussian, GaussianDropped, GaussianMixture, GaussianNonspherical, GaussianPowerLaw),
    *(Hypercube, Sphere, Uniform),
)
"""The built-in input distributions."""
