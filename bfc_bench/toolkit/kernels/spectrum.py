"""Spectra of rotation-invariant kernels on the unit sphere S^{d-1}.

With points uniform there, k(<x, z>) = sum_k lambda_k sum_i Y_ki(x) Y_ki(z) over orthonormal harmonics Y_ki of degree k,
B(d, k) of each degree (Funk-Hecke). By the addition theorem k(t) = sum_k B(d, k) lambda_k P_k(t) with the Legendre
polynomials P_k(1) = 1 in d dimensions, and lambda_k = E[k(t) P_k(t)] for t = <x, z>.

Shapes: K degrees, m nodes.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from bfc_bench.toolkit.kernels.base import Kernel
from bfc_bench.utils.legendre import harmonics_dimension, legendre_sequence

DEGREES = 40
"""The highest degree whose eigenvalue is computed."""
NODES = 2000
ROUNDING = 1e-14
"""Eigenvalues, and a tail, below this times k(1) are rounding of the quadrature."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues of a kernel under an input law, each with its multiplicity."""

    multiplicities: np.ndarray
    """(K,), B(d, k) on the sphere."""
    eigenvalues: np.ndarray
    """lambda_k, (K,), not negative; k is the degree on the sphere."""
    tail: float = 0.0
    """The sum of all other eigenvalues: what remains of the trace E k(x, x)."""


@lru_cache(maxsize=256)
def sphere_spectrum(kernel: Kernel, d: int) -> Spectrum:
    """lambda_0, ..., lambda_40 of a rotation-invariant kernel on S^{d-1}, d >= 2, by Gauss-Jacobi quadrature.

    Exact to rounding for polynomial kernels up to degree 40. Eigenvalues hidden by rounding are counted in the tail:
    their degrees have so many dimensions that their part of the trace may still be large.
    """
    nodes, weights = sphere_nodes(d)
    values, at_one = profile(kernel, nodes), float(profile(kernel, np.ones(1))[0])
    computed = np.array([weights @ (values * p) for p in legendre_sequence(d, DEGREES, nodes)])
    eigenvalues = np.where(computed > ROUNDING * at_one, computed, 0.0)
    multiplicities = np.array([float(harmonics_dimension(d, k)) for k in range(DEGREES + 1)])
    tail = at_one - float(multiplicities @ eigenvalues)
    return Spectrum(multiplicities, eigenvalues, tail if tail > ROUNDING * at_one else 0.0)


@lru_cache(maxsize=64)
def sphere_nodes(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes t (m,) and weights (m,) with sum 1 of the law of <x, z>, x and z uniform on S^{d-1}.

    Its density is proportional to (1 - t^2)^((d-3)/2).
    """
    from scipy.special import roots_jacobi

    nodes, weights = roots_jacobi(NODES, (d - 3) / 2, (d - 3) / 2)
    return nodes, weights / weights.sum()


def profile(kernel: Kernel, cosines: np.ndarray) -> np.ndarray:
    """k(t) at cosines t (m,) of unit vectors, computed on points of a plane, since k depends on t alone."""
    t = torch.from_numpy(np.asarray(cosines, dtype=np.float64))
    first = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    others = torch.stack([t, ((1 - t) * (1 + t)).clamp(min=0).sqrt()], dim=1)
    return kernel.matrix(kernel.points(first), kernel.points(others))[0].numpy()
