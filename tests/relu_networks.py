"""Kernel matrices of infinitely wide ReLU networks, in the convention of neural-tangents.

Shapes: m and n points, d input dimension.
"""

from bfc_bench.toolkit.kernels.arccos import ReluNetwork


def nngp(x, z=None, depth=1, bias_variance=0.0):
    """Covariance (m, n) of a wide random ReLU network's output at x (m, d) and z (n, d); z None means x, exactly."""
    return _network_kernel(x, z, depth, bias_variance, tangent=False)


def ntk(x, z=None, depth=1, bias_variance=0.0):
    """Neural tangent kernel (m, n) of a wide ReLU network at x (m, d) and z (n, d); z None means x, exactly."""
    return _network_kernel(x, z, depth, bias_variance, tangent=True)


def _network_kernel(x, z, depth, bias_variance, tangent):
    kernel = ReluNetwork(1 / x.shape[1], depth, bias_variance, tangent)
    points = kernel.points(x)
    return kernel.unit * (kernel.gram(points) if z is None else kernel.matrix(points, kernel.points(z)))
