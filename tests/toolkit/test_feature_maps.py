"""Random features: products converge to the kernel, and fewer features are a part of more."""

import math

import pytest
import torch

from bfc_bench.toolkit.feature_maps import make_map
from bfc_bench.toolkit.kernels.by_name import make_kernel

KERNELS = {"fourier": "rbf", "relu": "nngp", "polynomial": "poly"}
OPTIONS = [
    ("fourier", {}),
    ("relu", {}),
    ("polynomial", {"degree": 2, "coef0": 1.0}),
    ("polynomial", {"degree": 3, "coef0": 0.5}),
]


def points(m=6, p=4):
    z = torch.randn(m, p, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return 2 * z / z.norm(dim=1, keepdim=True)


@pytest.mark.parametrize(("name", "options"), OPTIONS)
@pytest.mark.parametrize("gamma", [0.1, 0.25])
def test_products_converge_to_the_kernel(name, options, gamma):
    """The mean over D features, within five of its standard errors as the features themselves show them."""
    z, count = points(), 40_000
    phi = make_map(name, count, 4, gamma, seed=0, like=z, **options)(z)
    products = count * phi[:, None] * phi[None]
    kernel = make_kernel(KERNELS[name], gamma, **options)
    wrong = products.mean(-1) - kernel.gram(kernel.points(z))
    assert (wrong.abs() <= 5 * products.std(-1) / math.sqrt(count)).all()
    assert products.std(-1).max() / math.sqrt(count) < 0.05
