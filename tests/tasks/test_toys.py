"""The toy examples and the teacher of the talk against their formulas."""

import numpy as np
import pytest

from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Uniform
from bfc_bench.tasks.targets.toys import SlideCorrection, SlideDensenet, SlideQuartic, ToyOverfit, ToyRich

D = 7
TOYS = [ToyOverfit, ToyRich, SlideQuartic, SlideCorrection]


def overfit(x, a, q):
    inside = q[0] ** 2 + 2 * q[1] ** 2
    return inside + a * (inside + q[2]) ** 2


def rich(x, a, q):
    return q[0] ** 2 + q[1] ** 2 + a * ((q[0] ** 2 + x[2]) ** 2 + (q[1] ** 2 + x[3]) ** 2)


def quartic(x, a, q):
    return q[0] + q[1] + a * (q[0] ** 2 + q[1] ** 2)


def correction(x, a, q):
    return q[0] + q[1] + a * ((q[0] + x[2]) ** 2 + (q[1] + x[3]) ** 2)


FORMULAS = list(zip(TOYS, [overfit, rich, quartic, correction], [0.1, 0.3, 0.3, 0.3], strict=True))


def draw(target, d=D, inputs=None, seed=0):
    law = (inputs or Gaussian()).law(np.random.default_rng(seed), d)
    return law.sample(np.random.default_rng(seed + 1), 500), target.draw(np.random.default_rng(seed + 2), law)


@pytest.mark.parametrize(("toy", "formula", "alpha"), FORMULAS)
def test_toys_are_their_formulas(toy, formula, alpha):
    x, teacher = draw(toy())
    np.testing.assert_allclose(teacher(x), formula(x.T, alpha, x.T**2), rtol=1e-10)
    _, other = draw(toy(alpha=0.7))
    np.testing.assert_allclose(other(x), formula(x.T, 0.7, x.T**2), rtol=1e-10)
    assert teacher.facts["alphas"] == [1.0, alpha]


@pytest.mark.parametrize(("toy", "formula", "alpha"), FORMULAS[:2])
def test_centred_toys_have_centred_squares_in_the_place_of_squares(toy, formula, alpha):
    for inputs in (Gaussian(), Gaussian(mean=0.5), Uniform()):
        x, teacher = draw(toy(centred=True), inputs=inputs)
        squares = x.T**2 - (1 + getattr(inputs, "mean", 0) ** 2)
        np.testing.assert_allclose(teacher(x), formula(x.T, alpha, squares), rtol=1e-9)


def test_hidden_features_are_those_of_the_text():
    x, teacher = draw(ToyOverfit())
    a, b, c = x.T[:3] ** 2
    np.testing.assert_allclose(teacher.hidden(x)["S2"].T, [a, np.sqrt(2) * b])
    np.testing.assert_allclose(teacher.hidden(x)["S3"].T, [np.sqrt(0.1) * (a**2 + 2 * b**2 + c)])
    x, teacher = draw(SlideCorrection())
    np.testing.assert_allclose(teacher.hidden(x)["S2"], x[:, :2])
    np.testing.assert_allclose(teacher.hidden(x)["S3"], np.sqrt(0.3) * (x[:, :2] ** 2 + x[:, 2:4]))


def test_the_teacher_of_the_talk_follows_its_definition():
    alphas = (1.0, 0.5, 0.25)
    x, teacher = draw(SlideDensenet(widths=(4, 3, 2), alphas=alphas))
    w1, w2, w3 = teacher.weights
    g1 = (x @ w1[0].T) ** 2
    g2 = (x @ w2[0].T + g1 @ w2[2].T) ** 2
    g3 = (x @ w3[0].T + g1 @ w3[2].T + g2 @ w3[3].T) ** 2
    by_definition = sum(a * g @ w for a, g, w in zip(alphas, (g1, g2, g3), teacher.readouts, strict=True))
    np.testing.assert_allclose(teacher(x), by_definition, rtol=1e-10)
    skips = [[0], [0, 2], [0, 2, 3]]
    assert [sorted(layer) for layer in teacher.weights] == skips
    assert teacher.facts == {"alphas": list(alphas), "widths": [4, 3, 2], "skips": skips, "depth": 4}


@pytest.mark.parametrize(("signs", "expected"), [("random", {-1.0, 1.0}), ("positive", {1.0})])
def test_signs_are_drawn_or_positive(signs, expected):
    _, teacher = draw(SlideDensenet(widths=(7, 7, 7), alphas=(1.0, 1.0, 1.0), signs=signs))
    assert set(np.concatenate(teacher.readouts)) == expected
