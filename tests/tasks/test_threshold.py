"""Binary labels: the law of the offset, what the learner sees, unit variance, probabilities of the signs."""

from dataclasses import replace

import numpy as np
import pytest

from bfc_bench.errors import UsageError
from bfc_bench.seeds import BLOCK
from bfc_bench.tasks.drawn_problem import SCALE_POINTS
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Sphere, Uniform
from bfc_bench.tasks.labels import BeyondThreshold, Clean
from bfc_bench.tasks.targets.lowrank_poly import LowrankPoly
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet
from bfc_bench.tasks.targets.toys import SlideDensenet
from bfc_bench.tasks.teacher_task import TeacherTask

D, M = 5, 2 * SCALE_POINTS
COORDINATE = TeacherTask(
    "c", Uniform(), QuadraticDensenet(widths=(3, 2), alphas=(1.0, 0.3)), labels=BeyondThreshold(), unlabeled=40
)
SLIDE = SlideDensenet(widths=(3, 2), alphas=(1.0, 0.3), signs="positive")
DIRECTION = TeacherTask("d", Gaussian(), SLIDE, labels=BeyondThreshold(form="direction"), unlabeled=40)
BOTH = pytest.mark.parametrize("task", [COORDINATE, DIRECTION], ids=["coordinate", "direction"])


def problem(task, test_size=M):
    return task.problem(0, D, 0, test_size)


def inner(p):
    """x_0 and the target's inputs x behind the test points."""
    if p.task.labels.form == "coordinate":
        return p.test_x[:, 0], p.test_x[:, 1:]
    behind = p.test_x @ p.labelling.drawn["basis"].T
    return behind[:, 0] - p.labelling.mean, behind[:, 1:]


@BOTH
def test_all_that_a_learner_sees_has_one_column_more(task):
    p = problem(task, 300)
    assert task.facts(D).d == p.spec(10).d == p.train(10).d == D + 1
    assert p.train(10).x.shape == (10, D + 1)
    assert p.test_x.shape == (300, D + 1)
    assert p.unlabeled_inputs(0).shape == (40, D + 1)
    assert p.square_mean.shape == (D + 1,)
    assert p.d == D
    assert p.spec(10).kind == p.train(10).kind == "binary"


@BOTH
def test_the_label_is_the_sign_of_offset_plus_target(task):
    p = problem(task)
    offset, x = inner(p)
    margin = offset + p.drawn(x)
    clear = np.abs(margin) > 1e-9
    assert np.array_equal(p.test_y[clear], np.sign(margin[clear]))
    assert np.array_equal(p.test_labels, p.test_y)
    assert set(np.unique(p.test_y)) == {-1.0, 1.0}


@BOTH
def test_the_target_has_unit_variance(task):
    p = problem(task, SCALE_POINTS)
    values = p.drawn(inner(p)[1])
    assert values.std() == pytest.approx(1, rel=1e-9)
    assert p.labelling.deviation == pytest.approx(1, rel=1e-9)
    assert p.labelling.mean == pytest.approx(values.mean(), rel=1e-9)


@BOTH
def test_square_mean_is_that_of_the_columns_seen(task):
    p = problem(task)
    squares = p.test_x**2
    assert np.all(np.abs(squares.mean(axis=0) - p.square_mean) < 5 * squares.std(axis=0) / np.sqrt(M))
    if task is COORDINATE:
        assert p.square_mean[0] == pytest.approx(1 + p.labelling.mean**2)


@BOTH
def test_how_often_labels_are_positive(task):
    """P(x_0 + G* > 0 | x) = Phi(G*(x) - E G*)."""
    from scipy.stats import norm

    p = problem(task)
    _, x = inner(p)
    chance = norm.cdf(p.drawn(x) - p.labelling.mean)
    assert abs(np.mean(p.test_y > 0) - chance.mean()) < 5 * 0.5 / np.sqrt(M)
    for low, high in ((0, 0.3), (0.3, 0.6), (0.6, 1)):
        within = (chance >= low) & (chance < high)
        assert within.sum() > 100
        assert abs(np.mean(p.test_y[within] > 0) - chance[within].mean()) < 5 * 0.5 / np.sqrt(within.sum())


def test_inputs_seen_around_a_direction_are_spherical():
    p = problem(DIRECTION)
    basis = p.labelling.drawn["basis"]
    np.testing.assert_allclose(basis @ basis.T, np.eye(D + 1), atol=1e-12)
    assert np.all(np.abs(p.test_x.mean(axis=0)) < 5 / np.sqrt(M))
    np.testing.assert_allclose(p.test_x.T @ p.test_x / M, np.eye(D + 1), atol=8 / np.sqrt(M))
    assert np.max(np.abs(basis[0])) < 0.99
    assert not np.allclose(basis, DIRECTION.problem(0, D, 1, 10).labelling.drawn["basis"])


def test_the_inputs_behind_are_those_of_the_regression_task():
    regression = replace(COORDINATE, labels=Clean())
    binary, real = problem(COORDINATE, 100), problem(regression, 100)
    assert np.array_equal(binary.test_x[:, 1:], real.test_x)
    assert np.array_equal(binary.train(50).x[:, 1:], real.train(50).x)
    factor = binary.drawn(real.test_x) / real.test_y
    np.testing.assert_allclose(factor, factor[0], rtol=1e-12)


@BOTH
def test_hidden_features_and_alphas_follow_the_unit_variance(task):
    p = problem(task, 2 * BLOCK + 5)
    _, x = inner(p)
    hidden = p.test_hidden
    np.testing.assert_allclose(sum(np.sum(s**2, axis=1) for s in hidden.values()), p.drawn(x), rtol=1e-9)
    assert {layer: s.shape for layer, s in hidden.items()} == {"S2": (2 * BLOCK + 5, 3), "S3": (2 * BLOCK + 5, 2)}
    unscaled = p.drawn.teacher
    np.testing.assert_allclose(p.facts({"alphas"})["alphas"], p.drawn.factor * np.array(unscaled.facts["alphas"]))


@pytest.mark.parametrize("inputs", [Uniform(), Sphere(), Gaussian(mean=1.0)], ids=lambda inputs: inputs.kind)
def test_a_direction_needs_spherical_gaussian_inputs(inputs):
    task = replace(DIRECTION, inputs=inputs)
    with pytest.raises(UsageError, match="task 'd': form = 'direction' needs gaussian inputs of mean 0"):
        problem(task)
    assert replace(task, labels=BeyondThreshold()).check(D) is None


def test_a_constant_target_has_no_unit_variance():
    class Constant(LowrankPoly):
        def draw(self, rng, law):
            return lambda x: np.ones(len(x))

    with pytest.raises(UsageError, match="task 'c': the target is constant"):
        problem(replace(COORDINATE, target=Constant(degree=1, form="monomial"))).train(1)
