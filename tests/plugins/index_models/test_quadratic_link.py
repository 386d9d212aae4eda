"""The three-layer learner of a quadratic feature: layer-wise limits in closed form, and correction."""

import numpy as np
import pytest
from bfc_plugins.index_models.quadratic_link import QuadraticLink, monomials

from bfc_bench.learner import Context, Data
from bfc_bench.seeds import stream
from bfc_bench.tasks.feature_errors import measure
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.targets.quadratic_feature import QuadraticFeature

D = 6


def fitted(n, c, k=3, **options):
    law = Gaussian().law(stream("law"), D)
    teacher = QuadraticFeature(c=c, k=k).draw(stream("teacher"), law)
    x, test = law.sample(stream("x"), n), law.sample(stream("test"), 5000)
    predictor = QuadraticLink(**options).fit(Data("s", n, D, x=x, y=teacher(x)), Context())
    y = teacher(test)
    error = np.mean((predictor.predict(test) - y) ** 2) / np.var(y)
    return float(error), measure(teacher.hidden(test)["S2"], predictor.hidden(test)["S2"])["span_errors"], predictor


def test_monomials_are_orthonormal_for_gaussian_inputs():
    phi = monomials(stream("x").standard_normal((200_000, 3)))
    assert np.abs(phi.mean(axis=0)).max() < 0.02
    assert np.abs(phi.T @ phi / len(phi) - np.eye(6)).max() < 0.05


@pytest.mark.parametrize("first", ["correlation", "least-squares"])
def test_a_linear_link_is_learned_layer_by_layer(first):
    error, span, predictor = fitted(4000, 1.0, first=first)
    assert error < (0.05 if first == "correlation" else 1e-20)
    assert span < 0.05
    assert list(predictor.stages) == []


def test_the_feature_of_the_correlation_gets_better_as_the_inverse_of_n():
    errors = [np.mean([fitted(n, 0.7)[1]]) for n in (500, 8000)]
    assert 4 < errors[0] / errors[1] < 64


def test_correction_through_the_link_makes_target_and_feature_exact_without_noise():
    forward, span, _ = fitted(1000, 0.7)
    corrected, its_span, predictor = fitted(1000, 0.7, corrections=12)
    assert forward > 0.05
    assert span > 0.02
    assert corrected < 1e-12
    assert its_span < 1e-12
    first, *others = predictor.stages.values()
    assert list(predictor.stages)[:2] == ["forward", "pass1"]
    np.testing.assert_array_equal(first.direction, fitted(1000, 0.7)[2].direction)
    assert len(others) == predictor.info["passes"] - 1


@pytest.mark.parametrize("options", [{"corrections": 3}, {"first": "least-squares"}])
def test_a_fit_that_does_not_predict_held_out_points_is_replaced_by_the_mean(options):
    """Labels without signal; the layer-wise algorithm of the papers, which holds nothing out, stays a stage."""
    x, y = stream("x").standard_normal((60, D)), 3 + stream("labels").standard_normal(60)
    data = Data("s", 60, D, x=x, y=y)
    predictor = QuadraticLink(**options).fit(data, Context())
    np.testing.assert_allclose(predictor.predict(x), y.mean())
    assert np.ptp(predictor.stages["forward"].predict(x)) > 0.1
    assert np.ptp(QuadraticLink().fit(data, Context()).predict(x)) > 0.1


def test_without_correlation_the_first_layers_find_nothing():
    assert fitted(2000, 0.0)[1] > 0.5
