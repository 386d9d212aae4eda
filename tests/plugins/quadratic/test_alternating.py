"""Alternating least squares: no derivative passes a layer, and yet the features of the lowest are corrected."""

from dataclasses import replace

import numpy as np
import pytest
from bfc_plugins.quadratic.alternating import AlternatingLeastSquares
from teacher_fits import fit, job, nmse, problem

from bfc_bench.learner import Context, Data
from bfc_bench.seeds import stream

PROBLEM = problem(6, widths=(2, 2))


@pytest.fixture(scope="module")
def fitted():
    return fit(AlternatingLeastSquares(features=(2,), rounds=64), PROBLEM, 800)


def test_rounds_go_on_to_lower_the_error_that_the_forward_pass_leaves(fitted):
    assert list(fitted.stages) == ["layer2", "layer3", *(f"round{2**k}" for k in range(7))]
    errors = [nmse(stage, PROBLEM) for stage in fitted.stages.values()]
    assert errors == sorted(errors, reverse=True)
    assert errors[1] > 1e-3
    assert errors[-1] < 1e-4 * errors[1]
    assert errors[-1] < 0.1 * errors[-2]


def test_layer_2_is_the_form_of_least_squares_cut_to_its_largest_directions(fitted):
    train = PROBLEM.train(800)
    squares = train.x**2 - PROBLEM.square_mean
    rows, columns = np.triu_indices(6)
    design = np.hstack([np.ones((800, 1)), squares[:, rows] * squares[:, columns]])
    form = np.zeros((6, 6))
    form[rows, columns] = np.linalg.lstsq(design, train.y)[0][1:] / 2
    root = np.linalg.cholesky(squares.T @ squares / 800)
    sizes, turned = np.linalg.eigh(root.T @ (form + form.T) @ root)
    directions = turned[:, -2:] * np.sqrt(sizes[-2:])
    term = ((squares @ np.linalg.inv(root).T @ directions) ** 2).sum(1)
    found = fitted.stages["layer2"].predict(train.x)
    np.testing.assert_allclose(found - found.mean(), term - term.mean(), rtol=1e-6, atol=1e-8)
    assert found.mean() == pytest.approx(train.y.mean())


def test_the_error_at_the_training_points_is_that_of_the_predictor(fitted):
    train = PROBLEM.train(800)
    error = np.mean((train.y - fitted.predict(train.x)) ** 2) / train.y.var()
    assert fitted.info["train_errors"][-1] == pytest.approx(error, rel=1e-3)
    assert len(fitted.info["train_errors"]) == 65


def test_a_layer_3_of_few_squares_leaves_a_rest():
    cut = fit(AlternatingLeastSquares(features=(2,), top=2, rounds=64), PROBLEM, 800)
    last, before = nmse(cut, PROBLEM), nmse(cut.stages["round32"], PROBLEM)
    assert last == pytest.approx(before, rel=0.05)
    assert last > 1e-5


def test_four_layers_are_corrected_too():
    four = problem(5, widths=(2, 2, 1), alphas=(1.0, 0.5, 0.25))
    learned = fit(AlternatingLeastSquares(features=(2, 2), rounds=32), four, 3000)
    assert list(learned.stages)[:4] == ["layer2", "layer3", "layer4", "round1"]
    assert nmse(learned, four) < 0.1 * nmse(learned.stages["layer4"], four)


def test_units_of_inputs_and_labels_do_not_matter():
    train = PROBLEM.train(300)
    learner = AlternatingLeastSquares(features=(2,), rounds=3)
    scaled = replace(train, x=10 * train.x, y=1e-3 * train.y + 5)
    other = learner.fit(scaled, replace(job(learner, PROBLEM, 300).ctx, square_mean=100 * PROBLEM.square_mean))
    expected = 1e-3 * fit(learner, PROBLEM, 300).predict(PROBLEM.test_x) + 5
    np.testing.assert_allclose(other.predict(10 * PROBLEM.test_x), expected, rtol=1e-6)


@pytest.mark.parametrize(("d", "n", "scale"), [(3, 50, 1), (8, 3, 1), (8, 50, 0)])
def test_a_layer_2_of_fewer_independent_squares_than_features_has_those_there_are(d, n, scale):
    """k_2 = 4, and d = 3, n = 3, or constant squares."""
    x = scale * stream("test", "few").standard_normal((n, d)) + 1.0
    y = x[:, 0] * x[:, 1]
    predictor = AlternatingLeastSquares(rounds=2).fit(Data("s", n, d, x=x, y=y), Context())
    assert np.isfinite(predictor.predict(x)).all()
    residual = y - predictor.predict(x)
    assert predictor.info["train_errors"][-1] * (y.var() or 1.0) == pytest.approx(np.var(residual), abs=1e-9)
