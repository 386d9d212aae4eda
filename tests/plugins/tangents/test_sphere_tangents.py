"""Tangent kernels on the sphere: closed forms, neural-tangents, Monte Carlo, and random features that tend to them."""

from math import factorial

import numpy as np
import pytest
import torch
from bfc_plugins.tangents.rectified import ORDER
from bfc_plugins.tangents.sphere_tangents import DUALS, RandomTangents, SphereTangent, TangentProducts

from bfc_bench.errors import UsageError
from bfc_bench.toolkit import neural_tangents as tangents
from bfc_bench.toolkit.kernels.arccos import k0, k1, k2

ACTIVATIONS = ("relu", "relu2", "relu3")
INNERS = (None, "indicator", "relu", "relu2", "relu3")
RHO = torch.linspace(-0.99, 0.99, 41, dtype=torch.float64)


def sphere(n: int, d: int = 5, seed: int = 0) -> torch.Tensor:
    x = torch.from_numpy(np.random.default_rng(seed).standard_normal((n, d)))
    return x / x.norm(dim=1, keepdim=True)


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
@pytest.mark.parametrize("depth", [1, 3])
def test_equal_points_give_one_exactly(inner, depth):
    x = sphere(300)
    k = kernel(inner=inner, depth=depth)
    prepared = k.points(x)
    gram = k.gram(prepared)
    assert torch.equal(gram.diagonal(), torch.ones(300, dtype=gram.dtype))
    assert torch.equal(k.matrix(prepared, k.points(x.clone())).diagonal(), gram.diagonal())
    assert torch.allclose(gram, gram.T, rtol=1e-13, atol=0)
    assert torch.linalg.eigvalsh(gram)[0] > -1e-12


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_monte_carlo(activation, bias):
    """c E[s'(w.h) s'(w.h')] within 5 standard errors of 200,000 draws of w."""
    x = sphere(4)
    h = torch.cat([x, torch.ones(4, 1)], dim=1) / 2**0.5 if bias else x
    w = torch.from_numpy(np.random.default_rng(1).standard_normal((200_000, h.shape[1])))
    t = (w @ h.T).clamp(min=0)
    gate = {"relu": (t > 0).to(t.dtype), "relu2": t, "relu3": t**2 / 2}[activation]
    terms = gate.unsqueeze(2) * gate.unsqueeze(1) * (h @ h.T)
    at_one = {"relu": 1 / 2, "relu2": 1 / 2, "relu3": 3 / 8}[activation]
    k = kernel(activation=activation, bias=bias)
    error = (terms.mean(0) - at_one * k.gram(k.points(x))).abs()
    assert (error <= 5 * terms.std(0) / len(w) ** 0.5 + 1e-12).all()


@pytest.mark.skipif(tangents.unavailable() is not None, reason=str(tangents.unavailable()))
@pytest.mark.parametrize("inner", [None, "indicator"])
@pytest.mark.parametrize(("activation", "depth"), [("relu", 1), ("relu", 2), ("relu", 3), ("relu2", 1), ("relu3", 1)])
@pytest.mark.parametrize("bias", [False, True])
def test_neural_tangents_agrees(activation, depth, inner, bias):
    """Between two sets of points, to 1e-6.

    Its kernel is that of all layers; the read-out's part of it is the NNGP kernel. An inner layer, which it would
    train, is given to it as features with its covariance. Other monomials than the ReLU are NaN in deeper networks.
    """
    import jax

    stax = tangents.neural_tangents().stax
    x = sphere(7)
    products = x @ x.T
    cosine = (1 + products) / 2 if bias else products
    if inner is not None:
        order = ORDER[inner]
        cosine = DUALS[order](cosine) / DUALS[order](torch.tensor(1.0, dtype=x.dtype))
    cosine.fill_diagonal_(1)
    features = torch.linalg.cholesky(cosine + 1e-13 * torch.eye(7, dtype=x.dtype))
    order = ORDER[activation]
    below, at_one = (float(DUALS[k](torch.tensor(1.0, dtype=x.dtype))) for k in (order - 1, order))
    gain, unit = at_one**-0.5 / factorial(order), 0.0  # its monomials are not divided by factorials
    for _ in range(depth):
        unit = (unit + 1) * below / at_one
    layer = stax.Relu() if activation == "relu" else stax.RectifiedMonomial(order)
    hidden = [part for k in range(depth) for part in (stax.Dense(1, W_std=gain if k else 1.0), layer)]
    with jax.enable_x64(True):
        evaluate = stax.serial(*hidden, stax.Dense(1, W_std=gain))[2]
        left, right = (7**0.5 * features.numpy()[rows] for rows in (slice(3), slice(3, 7)))
        found = evaluate(left, right, ("ntk", "nngp"))
        theirs = torch.tensor(np.asarray(found.ntk) - np.asarray(found.nngp))
    k = kernel(activation=activation, bias=bias, inner=inner, depth=depth)
    ours = k.matrix(k.points(x[:3]), k.points(x[3:]))
    assert torch.allclose(theirs / unit, ours, rtol=0, atol=1e-6)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_two_layers_are_the_mean_tangent_kernel_of_wide_networks(activation):
    """Gradients in both hidden layers of 40 random networks of width 500, within 5 standard errors and 2 / width."""
    x, width, order = sphere(4), 500, ORDER[activation]
    at_one = DUALS[order](torch.tensor(1.0, dtype=x.dtype))

    def scaled(t, power):
        return ((t > 0) if power == 0 else t.clamp(min=0) ** power / factorial(power)).to(t.dtype) / at_one**0.5

    kernels = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        first, second = (torch.from_numpy(rng.standard_normal((width, p))) for p in (5, width))
        signs = torch.from_numpy(rng.choice([-1.0, 1.0], width))
        u = first @ x.T
        h = scaled(u, order) / width**0.5
        gates = scaled(second @ h, order - 1)
        back = second.T @ (signs.unsqueeze(1) * gates) / width**0.5 * scaled(u, order - 1)
        kernels.append((gates.T @ gates) * (h.T @ h) / width + (back.T @ back) * (x @ x.T) / width)
    found = torch.stack(kernels)
    ratio = DUALS[order - 1](torch.tensor(1.0, dtype=x.dtype)) / at_one
    k = kernel(activation=activation, bias=False, depth=2)
    error = (found.mean(0) - (ratio + 1) * ratio * k.gram(k.points(x))).abs()
    assert (error <= 5 * found.std(0) / 40**0.5 + 2 / width).all()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("inner", INNERS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_products_of_random_tangents_are_those_of_the_features(activation, inner, bias):
    x = sphere(30)
    drawn = RandomTangents.draw("test", 0, x, activation=activation, bias=bias, width=6, inner=inner, features=4)
    phi = drawn(x)
    assert phi.shape == (30, 6 * (4 if inner else 5 + bias))
    products = TangentProducts(drawn)
    prepared = products.points(x)
    assert torch.allclose(products.gram(prepared), phi @ phi.T, rtol=1e-12, atol=1e-13)
    weights = torch.ones(30, 2, dtype=x.dtype)
    assert torch.allclose(products.matmul(prepared, prepared, weights), phi @ (phi.T @ weights), rtol=1e-11)


@pytest.mark.parametrize("inner", [None, "indicator"])
def test_random_tangents_tend_to_the_limit_as_one_over_the_root_of_the_width(inner):
    """Root mean square error over pairs and 8 seeds; m = D where there is an inner layer. Slope -1/2 within .12."""
    x, widths = sphere(12), (64, 256, 1024)
    k = kernel(inner=inner)
    exact = k.gram(k.points(x))
    errors = []
    for width in widths:
        drawn = [
            RandomTangents.draw(
                "test", seed, x, activation="relu2", bias=True, width=width, inner=inner, features=width
            )
            for seed in range(8)
        ]
        products = [TangentProducts(tangent) for tangent in drawn]
        squares = [((p.gram(p.points(x)) - exact) ** 2).mean() for p in products]
        errors.append(float(torch.stack(squares).mean().sqrt()))
    slope = np.polyfit(np.log(widths), np.log(errors), 1)[0]
    assert abs(slope + 0.5) < 0.12
    assert errors[-1] < 0.08


def test_fewer_units_are_the_first_of_more():
    x = sphere(5)
    options = {"activation": "relu", "bias": True, "inner": "relu", "features": 7}
    few, many = (RandomTangents.draw("test", 3, x, width=width, **options) for width in (4, 9))
    assert torch.equal(few.units, many.units[:4])
    assert torch.equal(few.representation, many.representation)
    other = RandomTangents.draw("test", 4, x, width=4, **options)
    assert not torch.isclose(few.units, other.units).any()


@pytest.mark.parametrize("scale", [0.5, 1.001, float("nan"), float("inf")])
def test_inputs_off_the_sphere_are_refused(scale):
    x = sphere(5)
    x[2] *= scale
    drawn = RandomTangents.draw("ntk-raw", 0, x, activation="relu", bias=True, width=3)
    for take in (SphereTangent("ntk-raw").points, drawn, TangentProducts(drawn).points):
        with pytest.raises(
            UsageError, match=r"ntk-raw is defined on the unit sphere: every input must have norm 1\. Got"
        ):
            take(x)
