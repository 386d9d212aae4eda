"""Targets with layers: their degree, and hidden features whose squares give them back."""

import numpy as np
import pytest

from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.targets.hard_densenets import HardKernel, HardPoly
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet
from bfc_bench.tasks.targets.toys import SlideCorrection, SlideDensenet, SlideQuartic, ToyOverfit, ToyRich

D = 10
ALPHAS, WIDTHS = (1.0, 0.5, 0.25), (4, 2, 2)
DEGREES = [
    *[(HardKernel(alphas=ALPHAS[:k]), 2 ** (k + 1)) for k in (1, 2)],
    *[(HardPoly(alphas=ALPHAS[:k], theorem=theorem), 2 ** (k + 1)) for k in (1, 2) for theorem in ("I.6", "I.7")],
    *[(QuadraticDensenet(widths=WIDTHS[:k], alphas=ALPHAS[:k]), 2 ** (k + 1)) for k in (1, 2, 3)],
    *[(SlideDensenet(widths=WIDTHS[:k], alphas=ALPHAS[:k]), 2**k) for k in (1, 2, 3)],
]
TOYS = [ToyOverfit(), ToyRich(), SlideQuartic(), SlideCorrection()]
LAYERED = [*(target for target, _ in DEGREES), SlideDensenet(widths=WIDTHS, alphas=ALPHAS, signs="positive"), *TOYS]


def draw(target):
    law = Gaussian().law(np.random.default_rng(0), D)
    return law.sample(np.random.default_rng(9), 100), target.draw(np.random.default_rng(1), law)


@pytest.mark.parametrize(("target", "degree"), DEGREES)
def test_the_degree_is_two_to_the_depth(target, degree):
    """From finite differences along a line."""
    _, teacher = draw(target)
    start, direction = np.random.default_rng(5).standard_normal((2, D))
    line = teacher(start + np.linspace(-3, 3, degree + 2)[:, None] * direction)
    top = np.min(np.abs(np.diff(line, degree)))
    assert top > 1e-3 * np.max(np.abs(line))
    assert np.max(np.abs(np.diff(line, degree + 1))) < 1e-7 * top


@pytest.mark.parametrize("target", LAYERED)
def test_hidden_features_give_back_the_target_with_their_signs(target):
    x, teacher = draw(target)
    hidden = teacher.hidden(x)
    assert list(hidden) == [f"S{layer}" for layer in range(2, 2 + len(hidden))]
    assert [s.shape[1] for s in hidden.values()] == list(teacher.facts["widths"])
    has_signs = isinstance(target, SlideDensenet)
    signs = teacher.readouts if has_signs else [np.ones(s.shape[1]) for s in hidden.values()]
    terms = [s**2 @ w for s, w in zip(hidden.values(), signs, strict=True)]
    np.testing.assert_allclose(np.sum(terms, axis=0), teacher(x), rtol=1e-10)
