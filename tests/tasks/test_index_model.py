"""The target index-model: orthonormal terms, information exponents, directions and the errors of its terms."""

import numpy as np
import pytest

from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Hypercube
from bfc_bench.tasks.targets.index_model import IndexModel
from bfc_bench.utils.hermite import hermite

D, M = 10, 200_000


def drawn(inputs=None, d=D, **options):
    law = (inputs or Gaussian()).law(np.random.default_rng(0), d)
    x = law.sample(np.random.default_rng(1), M)
    return IndexModel(**options).draw(np.random.default_rng(2), law), x


def test_hermite_polynomials_are_orthonormal_under_the_normal_law():
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    values = hermite(nodes, 8)
    np.testing.assert_allclose((values * weights) @ values.T / np.sqrt(2 * np.pi), np.eye(9), atol=1e-9)
    np.testing.assert_allclose(hermite(nodes, 3)[3], (nodes**3 - 3 * nodes) / np.sqrt(6), atol=1e-9 * nodes.max() ** 3)


@pytest.mark.parametrize("terms", [((3,),), ((1,), (1, 1), (1, 1, 1)), ((2, 1), (0, 2))])
def test_the_target_has_variance_1_and_its_directions_are_orthonormal(terms):
    teacher, x = drawn(terms=terms)
    np.testing.assert_allclose(teacher.directions @ teacher.directions.T, np.eye(len(teacher.directions)), atol=1e-12)
    values = teacher(x)
    assert np.mean(values) == pytest.approx(0, abs=0.02)
    assert np.var(values) == pytest.approx(1, abs=0.06)
    np.testing.assert_array_equal(teacher.hidden(x[:5])["S2"], x[:5] @ teacher.directions.T)


def test_terms_on_the_hypercube_are_parities_of_different_coordinates():
    teacher, x = drawn(Hypercube(), terms=((1, 1, 1),), directions="coordinates")
    coordinates = np.flatnonzero(teacher.directions.sum(axis=0))
    assert len(coordinates) == 3
    np.testing.assert_array_equal(teacher(x), np.prod(x[:, coordinates], axis=1))


@pytest.mark.parametrize(
    ("terms", "coefficients", "exponent"),
    [
        (((3,),), None, 3),
        (((1,), (1, 1), (1, 1, 1)), None, 1),
        (((1, 1, 1),), None, 3),
        (((2,), (1, 1)), None, 2),
        (((1, 1, 1), (0, 0, 1), (2, 1)), None, 1),
        (((1,), (1, 1)), (0, 1), 2),
    ],
)
def test_the_information_exponent_is_the_smallest_degree_of_a_term_that_is_there(terms, coefficients, exponent):
    assert drawn(terms=terms, coefficients=coefficients)[0].facts["information_exponent"] == exponent


def test_a_single_index_model_tells_its_link():
    teacher, _ = drawn(terms=((1,), (3,)), coefficients=(0.6, 0.8))
    assert teacher.facts["link"] == [0, 0.6, 0, 0.8]
    assert teacher.facts["degree"] == 3
    assert "link" not in drawn(terms=((1, 1),))[0].facts


def test_the_error_of_a_term_is_1_where_it_is_missing_and_0_where_it_is_learned():
    teacher, x = drawn(terms=((1,), (1, 1)), coefficients=(0.6, 0.8))
    one = teacher.part_errors(x, 0.6 * x @ teacher.directions[0])
    assert one["term1"] == pytest.approx(0, abs=0.01)
    assert one["term2"] == pytest.approx(1, abs=0.05)
    noise = np.random.default_rng(3).standard_normal(M)
    assert abs(teacher.part_errors(x[:100], teacher(x[:100]) + noise[:100])["term1"]) < 0.5


def test_the_error_of_a_term_is_unbiased():
    teacher, x = drawn(terms=((2,),))
    noise = np.random.default_rng(3).standard_normal(M)
    parts = [teacher.part_errors(x[i : i + 50], teacher(x[i : i + 50]) + noise[i : i + 50]) for i in range(0, M, 50)]
    errors = np.array([part["term1"] for part in parts])
    assert abs(errors.mean()) < 4 * errors.std() / np.sqrt(len(errors))
