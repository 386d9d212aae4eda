"""Labels that are clean, noisy, flipped, at a given distance from the target, or its sign."""

import numpy as np
import pytest

from bfc_bench.tasks.base import Labelling
from bfc_bench.tasks.drawn_problem import SCALE_POINTS
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Sphere, Uniform
from bfc_bench.tasks.labels import Agnostic, Clean, Flip, Noise, Sign
from bfc_bench.tasks.targets.lowrank_poly import LowrankPoly
from bfc_bench.tasks.targets.quadratic_densenet import QuadraticDensenet
from bfc_bench.tasks.teacher_task import TeacherTask

X = np.random.default_rng(0).standard_normal((100_000, 2))
VALUES = X[:, 0] ** 2
LAW = Gaussian().law(np.random.default_rng(0), 2)
TARGET = QuadraticDensenet(widths=(3, 2), alphas=(1.0, 0.3))
ADVERSARIAL = Agnostic(opt=0.04, noise="adversarial")


def label(labels, x=X, values=VALUES, deviation=3.0, seed=1):
    drawn = labels.draw(np.random.default_rng(7), LAW, QuadraticDensenet(widths=(2,), alphas=(1.0,)))
    labelling = Labelling(labels, LAW, 0.0, deviation, drawn)
    rng = np.random.default_rng(seed)
    return labelling.label(rng, labelling.add_columns(rng, x), values)


def problem(labels, inputs=None, replicate=0, test_size=SCALE_POINTS):
    return TeacherTask("t", inputs or Uniform(), TARGET, labels=labels).problem(0, 5, replicate, test_size)


def test_clean_labels_are_the_target():
    assert np.array_equal(label(Clean()), VALUES)
    p = problem(Clean())
    assert np.array_equal(p.test_labels, p.test_y)
    assert p.task.labels.facts == {}


@pytest.mark.parametrize("labels", [Noise(sd=0.5), Agnostic(opt=0.25)], ids=["noise", "agnostic"])
def test_noise_is_gaussian_with_its_share_of_the_targets_deviation(labels):
    noise = label(labels) - VALUES
    m = len(noise)
    assert abs(noise.mean()) < 5 * 1.5 / np.sqrt(m)
    assert noise.std() == pytest.approx(1.5, rel=5 / np.sqrt(2 * m))
    assert np.mean(noise**4) == pytest.approx(3 * 1.5**4, rel=5 * np.sqrt(96 / 9 / m))
    assert abs(np.corrcoef(noise, VALUES)[0, 1]) < 5 / np.sqrt(m)


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.9])
@pytest.mark.parametrize("classes", [0, 2, 3, 10])
def test_a_flipped_label_is_never_the_class_that_it_was_and_each_other_one_equally_often(classes, rate):
    m = 100_000
    rng = np.random.default_rng(3)
    values = rng.integers(classes, size=m).astype(float) if classes else rng.choice([-1.0, 1.0], size=m)
    labelling = Labelling(Flip(rate=rate), None, 0.0, 1.0, {}, classes)
    flipped = labelling.label(np.random.default_rng(4), values, values)
    steps = (flipped - values) % classes if classes else (flipped != values).astype(float)
    counts = np.bincount(steps.astype(int), minlength=classes or 2) / m
    # Of those that are flipped none has kept its class, so the share that has kept it is 1 - rate and not more.
    assert counts[0] == pytest.approx(1 - rate, abs=5 * np.sqrt(rate * (1 - rate) / m))
    np.testing.assert_allclose(counts[1:], rate / max(classes - 1, 1), atol=5 * np.sqrt(0.25 / m))
    assert set(np.unique(flipped)) <= (set(range(classes)) if classes else {-1.0, 1.0})


def test_an_adversary_is_a_function_of_x_alone_that_always_reaches_the_root_of_opt():
    labels = label(ADVERSARIAL)
    np.testing.assert_allclose(np.abs(labels - VALUES), np.sqrt(0.04) * 3.0, rtol=1e-9)
    assert np.array_equal(labels, label(ADVERSARIAL, X[::-1], VALUES[::-1], seed=2)[::-1])


def test_an_adversary_follows_another_teacher_of_its_replicate():
    p = problem(ADVERSARIAL)
    adversary = p.labelling.drawn["adversary"](p.test_x)
    above = p.test_labels > p.test_y
    assert above.mean() == pytest.approx(0.5, abs=0.05)
    assert adversary[above].min() >= adversary[~above].max()
    assert abs(np.corrcoef(adversary, p.test_y)[0, 1]) < 0.9
    assert not np.array_equal(above, problem(ADVERSARIAL, replicate=1).test_labels > p.test_y)


@pytest.mark.parametrize("inputs", [Uniform(), Gaussian()], ids=lambda inputs: inputs.kind)
@pytest.mark.parametrize("labels", [Noise(sd=0.2), Agnostic(opt=0.04), ADVERSARIAL], ids=["sd", "gaussian", "sign"])
def test_opt_is_reached_in_training_and_in_testing(labels, inputs):
    """E(G* - Y)^2 = OPT Var G*, exactly for a sign, else within the error of a chi-squared mean."""
    p = problem(labels, inputs)
    train = p.train(SCALE_POINTS)
    for target, y in ((p.test_y, p.test_labels), (p.drawn(train.x), train.y)):
        assert np.mean((y - target) ** 2) / p.labelling.deviation**2 == pytest.approx(
            0.04, rel=5 * np.sqrt(2 / SCALE_POINTS)
        )
    assert np.var(p.test_y) == pytest.approx(p.labelling.deviation**2)
    assert p.facts({"opt"}) == {"opt": pytest.approx(0.04)}


@pytest.mark.parametrize("form", ["gegenbauer", "monomial"])
def test_signs_are_those_of_the_centred_target_and_both_classes_are_seen(form):
    p = TeacherTask("sign", Sphere(), LowrankPoly(degree=2, form=form), labels=Sign()).problem(0, 6, 0, 20_000)
    values = p.drawn(p.test_x) - p.labelling.mean
    assert np.array_equal(p.test_y[values != 0], np.sign(values[values != 0]))
    assert 0.25 < np.mean(p.test_y > 0) < 0.75
    assert p.spec(10).kind == p.train(10).kind == p.task.facts(6).kind == "binary"


def test_test_labels_have_noise_of_their_own():
    p = problem(Noise(sd=0.2), test_size=5000)
    train = p.train(5000)
    noise = [p.test_labels - p.test_y, train.y - p.drawn(train.x)]
    assert abs(np.corrcoef(*noise)[0, 1]) < 5 / np.sqrt(5000)
    assert p.test_labels.shape == p.test_y.shape == (5000,)
