"""Learners as scikit-learn estimators: scikit-learn's own conformance checks, parameters, searches."""

import pickle

import numpy as np
import pytest
from bfc_plugins.kernels.kernel_ridge import KernelRidge
from bfc_plugins.networks.relu_mlp import ReluMlp
from bfc_plugins.quadratic.quad_densenet import QuadDenseNet
from bfc_plugins.sklearn_estimator import SklearnEstimator
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from bfc_bench.errors import UsageError
from bfc_bench.estimator import as_sklearn
from bfc_bench.learner import Context, Data

EVEN = "the check's target is linear; a quadratic DenseNet is a polynomial in the squares of its inputs"
LEARNERS = {
    "kernel-ridge rbf": (KernelRidge(ridge=1e-3), {}),
    "kernel-ridge ntk": (KernelRidge(kernel="ntk", depth=2, ridge=1e-2), {}),
    "sklearn regressor": (SklearnEstimator.variant("tree.DecisionTreeRegressor")(), {}),
    "sklearn classifier": (SklearnEstimator.variant("neighbors.KNeighborsClassifier")(), {}),
    "relu-mlp classifier": (ReluMlp(**ReluMlp.smoke), {}),
    "quad-densenet": (QuadDenseNet(**QuadDenseNet.smoke), {"check_regressors_train": EVEN}),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("key", LEARNERS)
def test_check_estimator(key):
    learner, expected = LEARNERS[key]
    estimator = as_sklearn(learner, classifier=True if "classifier" in key else None)
    results = check_estimator(estimator, expected_failed_checks=expected, on_skip=None)
    statuses = [result["status"] for result in results]
    assert statuses.count("passed") >= 45
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(expected)


def test_parameters_are_the_options():
    estimator = as_sklearn(KernelRidge(kernel="poly", degree=3))
    options = KernelRidge(kernel="poly", degree=3).options()
    assert options.items() <= estimator.get_params().items()
    assert set(estimator.get_params()) - set(options) == {"random_state", "device"}
    assert clone(estimator.set_params(degree=4)).degree == 4
    assert "degree=4" in repr(estimator)


def test_predicts_what_the_learner_predicts():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((60, 3)), rng.standard_normal(60)
    learner = SklearnEstimator.variant("linear_model.Ridge")(alpha=0.1)
    expected = learner.fit(Data("s", 60, 3, x=x, y=y), Context()).predict(x)
    assert np.array_equal(as_sklearn(learner).fit(x, y).predict(x), expected)


def test_binary_learners_are_classifiers_of_any_two_classes():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((80, 2))
    y = np.where(x[:, 0] > 0, "right", "left")
    estimator = as_sklearn(SklearnEstimator.variant("svm.SVC")())
    assert is_classifier(estimator)
    assert is_regressor(as_sklearn(KernelRidge()))
    assert estimator.fit(x, y).score(x, y) > 0.9
    two_only = as_sklearn(QuadDenseNet(**QuadDenseNet.smoke), classifier=True)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        two_only.fit(x, np.arange(80) % 3)


def test_learners_of_classes_are_classifiers_of_any_number_of_texts_when_asked():
    rng = np.random.default_rng(0)
    names = np.array(["ash", "birch", "cedar"])
    y = rng.integers(3, size=90)
    x = np.array([[3, 0], [0, 3], [-3, -3]])[y] + rng.standard_normal((90, 2))
    for learner in (KernelRidge(kernel="rbf", ridge=0.1), ReluMlp(width=16, depth=2, steps=200, batch_size=32)):
        estimator = as_sklearn(learner, classifier=True).fit(x, names[y])
        assert is_classifier(estimator)
        assert list(estimator.classes_) == list(names)
        assert estimator.score(x, names[y]) > 0.9
        assert np.array_equal(pickle.loads(pickle.dumps(estimator)).predict(x), estimator.predict(x))
    sure = estimator.predict_proba(x)
    assert np.allclose(sure.sum(axis=1), 1)
    assert np.array_equal(names[sure.argmax(axis=1)], estimator.predict(x))


def test_what_a_learner_cannot_be_is_said():
    with pytest.raises(UsageError, match=r"sklearn:linear_model\.Ridge takes real labels only"):
        as_sklearn(SklearnEstimator.variant("linear_model.Ridge")(), classifier=True)
    with pytest.raises(UsageError, match="takes binary and class labels only"):
        as_sklearn(SklearnEstimator.variant("svm.SVC")(), classifier=False)


def test_searches_and_pickles():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (60, 2))
    y = x[:, 0] * x[:, 1]
    search = GridSearchCV(as_sklearn(KernelRidge(kernel="poly")), {"ridge": [1e-6, 1e3]}).fit(x, y)
    assert search.best_params_ == {"ridge": 1e-6}
    restored = pickle.loads(pickle.dumps(search.best_estimator_))
    assert np.array_equal(restored.predict(x), search.predict(x))


def test_options_are_checked_when_fitting():
    estimator = as_sklearn(KernelRidge()).set_params(kernel="laplace")
    with pytest.raises(UsageError, match="KernelRidge: kernel must be 'rbf'"):
        estimator.fit(np.zeros((3, 2)), np.zeros(3))
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        type(estimator)(rigde=1.0)
