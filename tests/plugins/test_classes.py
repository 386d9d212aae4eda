"""Labels of many classes: what each learner that takes them makes of three well separated clouds, and of whom it is."""

import numpy as np
import pytest
from bfc_plugins.kernels.kernel_ridge import KernelRidge
from bfc_plugins.kernels.random_features import RandomFeatures
from bfc_plugins.networks.relu_mlp import ReluMlp
from bfc_plugins.networks.residual_mlp import ResidualMlp
from bfc_plugins.sklearn_estimator import SklearnEstimator
from sklearn.ensemble import RandomForestClassifier

from bfc_bench.learner import Context, Data
from bfc_bench.tasks.metrics import TargetValues, error_rate
from bfc_bench.toolkit.arrays import convert, to_numpy

CENTRES = np.array([[4.0, 0.0], [-4.0, 1.0], [0.0, -5.0]])
LEARNERS = [
    KernelRidge(kernel="rbf", ridge=1e-2),
    RandomFeatures(features=40, ridge=1e-2),
    RandomFeatures(features=400, ridge=1e-2),
    ReluMlp(width=32, depth=2, steps=300, batch_size=32),
    ResidualMlp(width=16, max_steps=256, batch_size=32),
    SklearnEstimator.variant("ensemble.RandomForestClassifier")(n_estimators=20),
    SklearnEstimator.variant("svm.LinearSVC")(),
]


def clouds(n, learner, seed=0, classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n).astype(float)
    x = CENTRES[y.astype(int)] + rng.normal(size=(n, 2))
    kind = learner.capabilities.arrays[0]
    return Data("s", n, 2, "class", classes, x=convert(x, kind, "cpu"), y=convert(y, kind, "cpu"))


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
def test_well_separated_classes_are_told_apart(learner):
    train, test = clouds(150, learner), clouds(500, learner, seed=1)
    predictor = learner.fit(train, Context(seed=1))
    scores = to_numpy(predictor.predict(test.x))
    assert scores.shape == (500, 3)
    assert error_rate(scores, TargetValues(to_numpy(test.y))) < 0.02


def test_a_classifier_of_scikit_learn_decides_as_it_does_there_and_knows_how_sure_it_is():
    learner = SklearnEstimator.variant("ensemble.RandomForestClassifier")(n_estimators=20, with_squares=False)
    train, test = clouds(60, learner), clouds(200, learner, seed=1)
    predictor = learner.fit(train, Context(seed=3))
    expected = RandomForestClassifier(n_estimators=20, random_state=3).fit(train.x, train.y)
    assert np.array_equal(predictor.predict(test.x).argmax(axis=1), expected.predict(test.x))
    assert np.allclose(predictor.probabilities(test.x), expected.predict_proba(test.x))
    assert learner.fit(
        Data("s", 60, 2, x=train.x, y=np.where(train.y > 0, 1.0, -1.0), kind="binary"), Context()
    ).is_binary


def test_a_class_that_is_not_among_the_training_points_has_no_probability():
    learner = SklearnEstimator.variant("ensemble.RandomForestClassifier")(n_estimators=5)
    train = clouds(60, learner, classes=2)
    seen = Data("s", 60, 2, "class", 3, x=train.x, y=train.y)
    predictor = learner.fit(seen, Context(seed=3))
    assert predictor.predict(train.x).shape == (60, 3)
    assert np.all(predictor.probabilities(train.x)[:, 2] == 0)


def test_a_network_is_as_sure_as_the_softmax_of_its_scores():
    learner = ReluMlp(width=16, depth=2, steps=200, batch_size=32)
    train = clouds(100, learner)
    predictor = learner.fit(train, Context(seed=1))
    odds = np.exp(predictor.predict(train.x))
    assert np.allclose(predictor.probabilities(train.x), odds / odds.sum(axis=1, keepdims=True))
    two = Data("s", 100, 2, "binary", x=train.x, y=np.where(train.y > 0, 1.0, -1.0))
    margins = learner.fit(two, Context(seed=1))
    assert np.allclose(margins.probabilities(train.x), 1 / (1 + np.exp(-margins.predict(train.x))))
    real = Data("s", 100, 2, x=train.x, y=train.y)
    assert learner.fit(real, Context(seed=1)).probabilities(train.x) is None
