"""Makes a kernel by its name."""

from typing import Literal, TypeAlias

from bfc_bench.toolkit.kernels.arccos import ReluNetwork
from bfc_bench.toolkit.kernels.base import Kernel
from bfc_bench.toolkit.kernels.closed_forms import Harmonic, Laplace, Polynomial, Rbf

KernelName: TypeAlias = Literal["rbf", "laplace", "poly", "harmonic", "ntk", "nngp"]


def make_kernel(
    name: KernelName, gamma: float, *, depth: int = 1, degree: int = 2, bias_variance: float = 0.0, dimension: int = 2
) -> Kernel:
    """The kernel called ``name``; options of other kernels are ignored.

    Args:
        name: Which kernel.
        gamma: Inverse squared length, > 0.
        depth: Hidden layers of ``ntk`` and ``nngp``.
        degree: Degree of ``poly`` and ``harmonic``.
        bias_variance: Variance of the biases of ``ntk`` and ``nngp``.
        dimension: Number of input features, for ``harmonic``.
    """
    if name == "rbf":
        return Rbf(gamma)
    if name == "laplace":
        return Laplace(gamma)
    if name == "harmonic":
        return Harmonic(gamma, degree, dimension)
    if name == "poly":
        return Polynomial(gamma, degree)
    return ReluNetwork(gamma, depth, bias_variance, tangent=name == "ntk")
