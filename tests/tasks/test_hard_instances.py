"""The hard instances of the lower bounds: their weights, degrees and the term that is hard."""

from math import comb

import numpy as np
import pytest

from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Hypercube, Uniform
from bfc_bench.tasks.targets.hard_densenets import HardKernel, HardPoly

D = 10
ALPHAS = (1.0, 0.3, 0.09)


def draw(target, d=D, seed=0):
    law = Gaussian().law(np.random.default_rng(seed), d)
    return law, target.draw(np.random.default_rng(seed + 1), law)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_first_weights_are_in_s_p_and_the_others_are_one(depth):
    p = 2 ** (depth - 1)
    _, teacher = draw(HardKernel(alphas=ALPHAS[: depth - 1]))
    for weights in teacher.weights:
        for j, w in weights.items():
            if j < 2:
                assert w.shape == (1, D)
                assert np.count_nonzero(w) == p
                np.testing.assert_allclose(w[w != 0], 1 / np.sqrt(p))
            else:
                np.testing.assert_array_equal(w, [[1.0]])
    assert [list(weights) for weights in teacher.weights] == [[0, 1], [0, 2], [0, 1, 3]][: depth - 1]
    assert teacher.facts["widths"] == [1] * (depth - 1)
    assert teacher.facts["support"] == np.flatnonzero(teacher.weights[0][0]).tolist()


def test_supports_are_uniform_and_independent():
    law = Gaussian().law(np.random.default_rng(0), 5)
    rng = np.random.default_rng(1)
    teachers = [HardKernel(alphas=(1.0,)).draw(rng, law) for _ in range(2000)]
    rows = [[tuple(np.flatnonzero(t.weights[0][j])) for t in teachers] for j in (0, 1)]
    for sets in rows:
        counts = np.array([sets.count(chosen) for chosen in set(sets)])
        assert len(counts) == comb(5, 2)
        assert np.all(np.abs(counts - 200) < 5 * np.sqrt(200))
    equal = np.mean([a == b for a, b in zip(*rows, strict=True)])
    assert abs(equal - 0.1) < 5 * np.sqrt(0.1 * 0.9 / 2000)


@pytest.mark.parametrize("depth", [2, 3])
def test_the_hard_term_is_the_only_product_of_p_signs(depth):
    """Fourier coefficients over the signs of x at given |x|: alpha_L p! p^{-p/2} prod |x_i| on the support, else 0."""
    p, d = 2 ** (depth - 1), 6
    _, teacher = draw(HardKernel(alphas=ALPHAS[: depth - 1]), d=d)
    size = np.abs(np.random.default_rng(3).standard_normal(d))
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * d)).reshape(d, -1).T
    values = teacher(signs * size)
    subsets = [np.flatnonzero(bits) for bits in (signs > 0) if bits.sum() == p]
    assert len(subsets) == comb(d, p)
    for subset in subsets:
        coefficient = np.mean(values * np.prod(signs[:, subset], axis=1))
        hard = subset.tolist() == teacher.facts["support"]
        expected = ALPHAS[depth - 2] * teacher.facts["top_coefficient"] * np.prod(size[subset]) if hard else 0.0
        assert coefficient == pytest.approx(expected, abs=1e-10 * np.abs(values).max())


def test_the_wide_instance_is_its_formula():
    law, teacher = draw(HardPoly(alphas=(1.0, 0.5, 0.25)))
    x = law.sample(np.random.default_rng(9), 20)
    g1 = x**2 - 1
    s3 = (x.sum(axis=1) + (g1**2).sum(axis=1)) / np.sqrt(D)
    s4 = (x.sum(axis=1) + g1.sum(axis=1)) / np.sqrt(D) + s3**2
    np.testing.assert_allclose(teacher(x), (g1**2).sum(axis=1) + 0.5 * s3**2 + 0.25 * s4**2, rtol=1e-10)
    assert teacher.facts["widths"] == [D, 1, 1]


def test_the_narrow_instance_is_its_formula():
    law, teacher = draw(HardPoly(alphas=(1.0, 0.5, 0.25), theorem="I.7"))
    x = law.sample(np.random.default_rng(9), 20)
    first, second = x.sum(axis=1) / np.sqrt(D), (x**2 - 1).sum(axis=1) / np.sqrt(D)
    s3 = first + second**2
    s4 = first + second + s3**2
    np.testing.assert_allclose(teacher(x), second**2 + 0.5 * s3**2 + 0.25 * s4**2, rtol=1e-10)
    assert teacher.facts["widths"] == [1, 1, 1]


def product_of(teacher, x):
    facts = teacher.facts
    return facts["alphas"][-1] * facts["top_coefficient"] * np.prod(x[:, facts["support"]], axis=1)


@pytest.mark.parametrize("inputs", [Gaussian(), Uniform(), Hypercube()], ids=lambda inputs: inputs.kind)
def test_the_error_in_the_product_is_that_of_the_product_alone(inputs):
    law = inputs.law(np.random.default_rng(0), D)
    teacher = HardKernel(alphas=ALPHAS[:1]).draw(np.random.default_rng(1), law)
    x = law.sample(np.random.default_rng(2), 20_000)
    exact, product = teacher(x), product_of(teacher, x)
    errors = {
        "nothing is missing": (exact, 0.0),
        "the product is missing": (exact - product, 1.0),
        "half of it is missing": (exact - 0.5 * product, 0.25),
        "everything is missing": (np.zeros(len(x)), 1.0),
        "everything but the product is missing": (product, 0.0),
    }
    for what, (prediction, expected) in errors.items():
        assert teacher.part_errors(x, prediction)["product"] == pytest.approx(expected, abs=0.15), what


def test_the_error_in_the_product_is_unbiased():
    law, teacher = draw(HardKernel(alphas=ALPHAS[:2]))
    found = []
    for seed in range(400):
        x = law.sample(np.random.default_rng(seed), 500)
        found.append(teacher.part_errors(x, teacher(x) - 0.3 * product_of(teacher, x))["product"])
    assert np.mean(found) == pytest.approx(0.09, abs=4 * np.std(found) / 20)


def test_there_is_no_part_where_products_are_not_orthogonal_to_the_rest():
    law = Gaussian(mean=1.0).law(np.random.default_rng(0), D)
    teacher = HardKernel(alphas=ALPHAS[:1]).draw(np.random.default_rng(1), law)
    x = law.sample(np.random.default_rng(2), 10)
    assert teacher.part_errors(x, np.zeros(10)) == {}
