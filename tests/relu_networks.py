"""Kernel matrices of infinitely wide ReLU networks, in the convention of neural-tangents.

Shapes: m and n points, d input dimension.
"""

from torch import Tensor

from bfc_bench.toolkit.kernels.arccos import first_layer, relu_network, relu_network_diagonal


def nngp(x: Tensor, z: Tensor | None = None, depth: int = 1, bias_variance: float = 0.0) -> Tensor:
    """Covariance (m, n) of a wide random ReLU network's output at x (m, d) and z (n, d); z None means x, exactly."""
    return _network_kernel(x, z, depth, bias_variance, tangent=False)


def ntk(x: Tensor, z: Tensor | None = None, depth: int = 1, bias_variance: float = 0.0) -> Tensor:
    """Neural tangent kernel (m, n) of a wide ReLU network at x (m, d) and z (n, d); z None means x, exactly."""
    return _network_kernel(x, z, depth, bias_variance, tangent=True)


def _network_kernel(x: Tensor, z: Tensor | None, depth: int, bias_variance: float, tangent: bool) -> Tensor:
    left, left_scale = first_layer(x, 1 / x.shape[1], bias_variance)
    right, right_scale = (left, left_scale) if z is None else first_layer(z, 1 / x.shape[1], bias_variance)
    network = {"depth": depth, "bias_variance": bias_variance, "tangent": tangent}
    rho = left @ right.T
    kernel = relu_network(rho, left_scale, right_scale, rho.new_empty(3, *rho.shape), rho, **network)
    if z is None:
        kernel.diagonal().copy_(relu_network_diagonal(left_scale, **network))
    return kernel
