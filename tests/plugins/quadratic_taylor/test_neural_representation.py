"""Whitened features are isotropic on the points that whitened them, and an unwhitened form with a whitened regulariser
is the same problem.
"""

import numpy as np
import pytest
import torch
from bfc_plugins.quadratic_taylor.quad_neural import QuadNeural
from bfc_plugins.quadratic_taylor.representation import (
    RIDGE,
    RandomLayer,
    inverse_root,
    least_eigenvalue,
    represent,
    second_moment,
)
from fit_samples import on_sphere

from bfc_bench.learner import Context
from bfc_bench.utils.legendre import harmonics_dimension

INNER = {"indicator": lambda t: (t >= 0) * 1.0, "relu2": lambda t: t * t * (t > 0) / 2}


def layer(inner, features=12, d=5):
    # With this seed no feature is zero or constant on all points.
    return RandomLayer.draw(features, d, inner, seed=7, like=on_sphere(1))


@pytest.mark.parametrize("inner", INNER)
def test_features_are_their_formula_and_fewer_are_the_first_of_more(inner):
    x = on_sphere(30)
    few, many = layer(inner, 4), layer(inner, 12)
    expected = INNER[inner](x.numpy() @ many.weights.numpy().T + many.biases.numpy())
    np.testing.assert_allclose(many(x).numpy(), expected, atol=1e-14)
    torch.testing.assert_close(few(x), many(x)[:, :4])
    torch.testing.assert_close(second_moment(many, x), many(x).T @ many(x) / 30)


@pytest.mark.parametrize("inner", INNER)
def test_exact_whitening_gives_second_moment_one_on_its_points(inner):
    points = on_sphere(400)
    h = represent(layer(inner), 1.0, points, "exact").features(points)
    torch.testing.assert_close(h.T @ h / 400, torch.eye(12, dtype=h.dtype), atol=1e-8, rtol=0)


def test_ridge_whitening_lies_between_exact_and_none():
    """Second moment s / (s + ridge mean s) in the eigenbasis of Sigma."""
    points = on_sphere(400)
    sigma = second_moment(layer("relu2"), points)
    eigenvalues, vectors = torch.linalg.eigh(sigma)
    h = represent(layer("relu2"), 1.0, points, "ridge").features(points)
    moment = vectors.T @ (h.T @ h / 400) @ vectors
    torch.testing.assert_close(moment, torch.diag(eigenvalues / (eigenvalues + RIDGE * eigenvalues.mean())))
    plain = represent(layer("relu2"), 1.0, points, "none").features(points)
    assert float(plain.square().sum(1).mean()) == pytest.approx(12)


def test_directions_without_variance_are_left_out():
    """Equal or constant features cannot be whitened; the others are, as if those were not there."""
    g = layer("relu2")(on_sphere(400))
    doubled = torch.cat([g, g[:, :2], torch.zeros(400, 1, dtype=g.dtype)], dim=1)
    h = doubled @ inverse_root(doubled.T @ doubled / 400)
    moment = torch.linalg.eigvalsh(h.T @ h / 400)
    torch.testing.assert_close(moment[3:], torch.ones(12, dtype=g.dtype))
    torch.testing.assert_close(moment[:3], torch.zeros(3, dtype=g.dtype), atol=1e-8, rtol=0)


def test_inputs_are_scaled_before_the_layer():
    points = on_sphere(100)
    one, ten = (represent(layer("relu2"), s, points / s, "ridge").features(points / s) for s in (1.0, 10.0))
    torch.testing.assert_close(one, ten)


def test_the_least_eigenvalue_of_indicators_is_the_one_of_the_arcsine_law():
    """Without biases E 1{v.x >= 0} 1{w.x >= 0} is 1/4 + arcsin(rho) / (2 pi), rho the cosine between v and w."""
    units = RandomLayer.draw(9, 5, "indicator", seed=7, like=on_sphere(1), biased=False)
    rows = units.weights / units.weights.norm(dim=1, keepdim=True)
    exact = 0.25 + (rows @ rows.T).clamp(-1, 1).arcsin() / (2 * torch.pi)
    expected = float(torch.linalg.eigvalsh(exact)[0])
    assert least_eigenvalue(second_moment(units, on_sphere(400_000))) == pytest.approx(expected, rel=0.03)
    assert 0 < least_eigenvalue(torch.ones(3, 3, dtype=torch.float64)) < 1e-14


def test_a_deeper_representation_is_a_layer_on_the_whitened_one():
    ctx = Context(seed=3, square_mean=np.full(5, 0.2), unlabeled=on_sphere(400))
    x = on_sphere(30, seed=1)
    deep, first = (QuadNeural(features=12, depth=depth, whitening="exact").represent(x, 1.0, ctx) for depth in (2, 1))
    h = first.features(on_sphere(400)) / 12**0.5
    second = RandomLayer.draw(12, 12, "relu2", seed=3, like=h, level=2)
    expected = represent(second, 1.0, h, "exact").features(first.features(x) / 12**0.5)
    torch.testing.assert_close(deep.features(x), expected)
    white = deep.features(on_sphere(400))
    torch.testing.assert_close(white.T @ white / 400, torch.eye(12, dtype=h.dtype), atol=1e-8, rtol=0)


@pytest.mark.parametrize(("d", "k", "dimension"), [(8, 1, 8), (8, 2, 35), (12, 3, 352), (2, 4, 2)])
def test_the_order_is_the_degree_of_the_harmonics_that_are_counted(d, k, dimension):
    assert QuadNeural(order=k).dimension(d) == harmonics_dimension(d, k) == dimension
