"""Tangent kernels on the sphere: closed forms, Monte Carlo and neural-tangents."""

from math import factorial

import numpy as np
import pytest
import torch
from bfc_plugins.tangents.rectified import ORDER
from bfc_plugins.tangents.sphere_tangents import DUALS, SphereTangent
from fit_samples import on_sphere

from bfc_bench.toolkit import neural_tangents as tangents
from bfc_bench.toolkit.kernels.arccos import k0, k1, k2
from bfc_bench.toolkit.libraries import missing

ACTIVATIONS = ("relu", "relu2", "relu3")
INNERS = (None, "indicator", "relu", "relu2", "relu3")
RHO = torch.linspace(-0.99, 0.99, 41, dtype=torch.float64)


def kernel(**options) -> SphereTangent:
    return SphereTangent("test", **options)


@pytest.mark.parametrize(
    ("activation", "k", "at_one"), [("relu", k0, 1 / 2), ("relu2", k1, 1 / 2), ("relu3", k2, 3 / 8)]
)
def test_raw_kernels_are_those_of_the_paper(activation, k, at_one):
    """rho k(rho), and c k(c) at c = (1 + rho)/2 with a bias, scaled to 1 at rho = 1."""
    plain, biased = (kernel(activation=activation, bias=bias).at(RHO) for bias in (False, True))
    c = (1 + RHO) / 2
    assert torch.allclose(plain, RHO * k(RHO) / at_one, rtol=1e-13, atol=1e-15)
    assert torch.allclose(biased, c * k(c) / at_one, rtol=1e-13, atol=1e-15)


def test_neural_kernel_is_h_inf_of_the_paper():
    """H_inf = k1(2 s) s / 2 with s = k0((1 + rho)/2), whose diagonal is 1/8."""
    s = k0((1 + RHO) / 2)
    assert torch.allclose(kernel(inner="indicator").at(RHO), 8 * k1(2 * s) * s / 2, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("inner", INNERS)
def test_equal_points_give_one_exactly(inner):
    x = on_sphere(300)
    k = kernel(inner=inner)
    prepared = k.points(x)
    gram = k.gram(prepared)
    assert torch.equal(gram.diagonal(), torch.ones(300, dtype=gram.dtype))
    assert torch.equal(k.matrix(prepared, k.points(x.clone())).diagonal(), gram.diagonal())
    assert torch.allclose(gram, gram.T, rtol=1e-13, atol=0)
    assert torch.linalg.eigvalsh(gram)[0] > -1e-12


@pytest.mark.skipif((reason := missing({"jax", "neural-tangents"})) is not None, reason=str(reason))
@pytest.mark.parametrize("inner", [None, "indicator"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_neural_tangents_agrees(activation, inner):
    """Between two sets of points, to 1e-6.

    Its kernel is that of all layers; the read-out's part of it is the NNGP kernel. An inner layer, which it would
    train, is given to it as features with its covariance.
    """
    import jax

    stax = tangents.neural_tangents().stax
    x = on_sphere(7)
    cosine = (1 + x @ x.T) / 2
    if inner is not None:
        order = ORDER[inner]
        cosine = DUALS[order](cosine) / DUALS[order](torch.tensor(1.0, dtype=x.dtype))
    cosine.fill_diagonal_(1)
    features = torch.linalg.cholesky(cosine + 1e-13 * torch.eye(7, dtype=x.dtype))
    order = ORDER[activation]
    below, at_one = (float(DUALS[k](torch.tensor(1.0, dtype=x.dtype))) for k in (order - 1, order))
    gain = at_one**-0.5 / factorial(order)  # its monomials are not divided by factorials
    layer = stax.Relu() if activation == "relu" else stax.RectifiedMonomial(order)
    with jax.enable_x64(True):
        evaluate = stax.serial(stax.Dense(1), layer, stax.Dense(1, W_std=gain))[2]
        left, right = (7**0.5 * features.numpy()[rows] for rows in (slice(3), slice(3, 7)))
        found = evaluate(left, right, ("ntk", "nngp"))
        theirs = torch.tensor(np.asarray(found.ntk) - np.asarray(found.nngp))
    k = kernel(activation=activation, inner=inner)
    ours = k.matrix(k.points(x[:3]), k.points(x[3:]))
    assert torch.allclose(theirs * at_one / below, ours, rtol=0, atol=1e-6)
