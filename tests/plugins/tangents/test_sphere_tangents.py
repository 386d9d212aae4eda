"""Tangent kernels on the sphere: closed forms, Monte Carlo and neural-tangents."""

import numpy as np
import pytest
import torch
from bfc_plugins.tangents.sphere_tangents import SphereTangent
from fit_samples import on_sphere

from bfc_bench.toolkit import neural_tangents as tangents
from bfc_bench.toolkit.kernels.arccos import k0, k1
from bfc_bench.toolkit.libraries import missing

RHO = torch.linspace(-0.99, 0.99, 41, dtype=torch.float64)


def kernel(represented):
    return SphereTangent("test", represented)


def test_raw_kernel_is_that_of_the_paper():
    """c k1(c) at c = (1 + rho)/2, scaled to 1 at rho = 1."""
    c = (1 + RHO) / 2
    assert torch.allclose(kernel(represented=False).at(RHO), 2 * c * k1(c), rtol=1e-13, atol=1e-15)


def test_neural_kernel_is_h_inf_of_the_paper():
    """H_inf = k1(2 s) s / 2 with s = k0((1 + rho)/2), whose diagonal is 1/8."""
    s = k0((1 + RHO) / 2)
    assert torch.allclose(kernel(represented=True).at(RHO), 8 * k1(2 * s) * s / 2, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("represented", [False, True])
def test_equal_points_give_one_exactly(represented):
    x = on_sphere(300)
    k = kernel(represented=represented)
    prepared = k.points(x)
    gram = k.gram(prepared)
    assert torch.equal(gram.diagonal(), torch.ones(300, dtype=gram.dtype))
    assert torch.equal(k.matrix(prepared, k.points(x.clone())).diagonal(), gram.diagonal())
    assert torch.allclose(gram, gram.T, rtol=1e-13, atol=0)
    assert torch.linalg.eigvalsh(gram)[0] > -1e-12


@pytest.mark.skipif((reason := missing({"jax", "neural-tangents"})) is not None, reason=str(reason))
@pytest.mark.parametrize("represented", [False, True])
def test_neural_tangents_agrees(represented):
    """Between two sets of points, to 1e-6.

    Its kernel is that of all layers; the read-out's part of it is the NNGP kernel. An inner layer, which it would
    train, is given to it as features with its covariance.
    """
    import jax

    stax = tangents.neural_tangents().stax
    x = on_sphere(7)
    cosine = (1 + x @ x.T) / 2
    if represented:
        cosine = 2 * k0(cosine)
    cosine.fill_diagonal_(1)
    features = torch.linalg.cholesky(cosine + 1e-13 * torch.eye(7, dtype=x.dtype))
    at_one = 3 / 8  # E[s(u)^2] of s = relu^2/2
    gain = at_one**-0.5 / 2  # its monomial is not halved
    with jax.enable_x64(True):
        evaluate = stax.serial(stax.Dense(1), stax.RectifiedMonomial(2), stax.Dense(1, W_std=gain))[2]
        left, right = (7**0.5 * features.numpy()[rows] for rows in (slice(3), slice(3, 7)))
        found = evaluate(left, right, ("ntk", "nngp"))
        theirs = torch.tensor(np.asarray(found.ntk) - np.asarray(found.nngp))
    k = kernel(represented=represented)
    ours = k.matrix(k.points(x[:3]), k.points(x[3:]))
    assert torch.allclose(theirs * at_one * 2, ours, rtol=0, atol=1e-6)
