"""The model is its formula, and its gradient is the derivative."""

import math

import pytest
import torch
from bfc_plugins.quadratic_taylor import model as quadratic_taylor
from bfc_plugins.quadratic_taylor.model import LOSSES, QuadraticTaylor, RegularisedRisk, operator_norm
from fit_samples import normal

GATES = {"indicator": lambda t: float(t >= 0), "relu": lambda t: max(t, 0.0), "constant": lambda t: 0.5}


def labels(n, loss):
    y = normal(n, seed=9)
    return y if loss == "square" else y.sign()


@pytest.mark.parametrize("gate", GATES)
def test_model_is_its_formula(gate):
    """1/(2 sqrt m) sum_r a_r sigma''(w_{0,r}.h) (w_r.h)^2, term by term."""
    m, size = 5, 3
    model = QuadraticTaylor.draw(m, size, gate, seed=1, like=normal(1))
    h, weights = normal(7, size), normal(m, size, seed=2)
    for point, value in zip(h, model(weights, h), strict=True):
        terms = [
            (-1) ** r * GATES[gate](float(model.initial[r] @ point)) * float(weights[r] @ point) ** 2 for r in range(m)
        ]
        assert float(value) == pytest.approx(sum(terms) / (2 * math.sqrt(m)))


@pytest.mark.parametrize("rows", [1, 4, 11])
@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_is_the_derivative(gate, loss, rows, monkeypatch):
    """Against automatic differentiation of the regularised risk as eq. (2) prints it, whatever rows a block has."""
    monkeypatch.setattr(quadratic_taylor, "BLOCK", 6 * rows)
    h, y = normal(11, 4), labels(11, loss)
    model = QuadraticTaylor.draw(6, 4, gate, seed=0, like=h)
    weights = normal(6, 4, seed=3).requires_grad_()
    prediction = model(weights, h)
    values = {
        "square": lambda: (prediction - y) ** 2,
        "logistic": lambda: torch.log1p(torch.exp(-y * prediction)),
        "soft-hinge": lambda: torch.log1p(torch.exp(1 - y * prediction)),
    }[loss]()
    expected = values.mean() + 0.3 * (weights.norm(dim=1) ** 4).sum()
    expected.backward()
    value, gradient = RegularisedRisk(h, model.coefficients(h), y, LOSSES[loss])(weights.detach(), 0.3)
    torch.testing.assert_close(value, expected.detach())
    torch.testing.assert_close(gradient, weights.grad)


def test_operator_norm_is_least_for_isotropic_features_and_at_most_one():
    size = 6
    isotropic = math.sqrt(size) * torch.eye(size, dtype=torch.float64).repeat(3, 1)
    assert operator_norm(isotropic) == pytest.approx(size**-0.5)
    line = normal(1, size).repeat(4, 1)
    assert operator_norm(line) == pytest.approx(1.0)
    sphere = normal(200, size)
    assert size**-0.5 < operator_norm(sphere / sphere.norm(dim=1, keepdim=True)) < 0.6
