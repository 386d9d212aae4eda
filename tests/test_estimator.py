"""Learners as scikit-learn estimators: scikit-learn's own conformance checks, parameters, searches."""

import pickle

import numpy as np
import pytest
from bfc_plugins.kernels.kernel_ridge import KernelRidge
from bfc_plugins.networks.relu_mlp import ReluMlp
from bfc_plugins.quadratic.quad_densenet import QuadDenseNet
from bfc_plugins.quadratic_taylor.fit import _represent
from bfc_plugins.sklearn_estimator import SklearnEstimator
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from bfc_bench import as_sklearn, load_learner, load_plugins
from bfc_bench.errors import UsageError
from bfc_bench.learner import Context, Data
from bfc_bench.seeds import stream

EVEN = "the check's target is linear; the learner is an even function of its inputs"
SMALL = {
    "random-features": {"features": 300},
    "relu-mlp": {"width": 16, "depth": 2, "steps": 300, "batch_size": 32},
    "residual-mlp": {"width": 16, "max_steps": 256, "batch_size": 32},
    "taylor-of-network": {"activation": "tanh", "width": 32, "steps": 300},
}
NOT_LINEAR = {"grow", "layerwise", "quad-densenet", "quadratic-link", "wkr-densenet"}
ON_SPHERE = {"ntk-neural", "ntk-raw"}
OF_SEQUENCES = {"patch-clustering", "tree-cnn"}
EVERY_TIME = {("kernel-ridge", False), ("kernel-ridge", True), ("quad-densenet", True)}
"""Learners of torch and of JAX, of signs and of classes; the others are slow, and keep the contract in every run."""


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def built_in():
    """(name, whether as a classifier) for every built-in learner that takes rows of numbers."""
    learners = load_plugins().learners
    for name in learners:
        learner = learners.get(name)
        if learner.example or name.startswith("conv-") or name in ON_SPHERE | OF_SEQUENCES:
            continue
        for classifier, kinds in ((False, {"real"}), (True, {"binary", "class"})):
            marks = [] if (name, classifier) in EVERY_TIME else [pytest.mark.slow]
            if kinds & learner.capabilities.labels:
                yield pytest.param(name, classifier, id=f"{name}-{classifier}", marks=marks)
    yield pytest.param("sklearn:tree.DecisionTreeRegressor", False)
    yield pytest.param("sklearn:neighbors.KNeighborsClassifier", True)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("name", "classifier"), list(built_in()))
def test_check_estimator(name, classifier):
    cls = load_plugins().learner(name)
    estimator = as_sklearn(cls(**SMALL.get(name, cls.smoke)), classifier=classifier)
    kind = "classifiers" if classifier else "regressors"
    fails = name in NOT_LINEAR and (not classifier or name == "quadratic-link")
    expected = {f"check_{kind}_train": EVEN} if fails else {}
    results = check_estimator(estimator, expected_failed_checks=expected, on_skip=None)
    statuses = [result["status"] for result in results]
    assert statuses.count("passed") >= 45
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(expected)


@pytest.mark.parametrize("name", ["conv-joint", "conv-kernel"])
def test_learners_of_images_are_told_their_shape(name, usable):
    digits = load_digits(n_class=2)
    x, y = digits.data[:120], digits.target_names[digits.target[:120]]
    learner = load_learner(name, **load_plugins().learners.get(name).smoke)
    usable(learner)
    estimator = as_sklearn(learner, shape=(1, 8, 8))
    assert estimator.fit(x[:80], y[:80]).predict(x[80:]).shape == (40,)
    with pytest.raises(UsageError, match=r"rows of x must be images of shape .* Got shape \(64,"):
        estimator.set_params(shape=None).fit(x, y)
    with pytest.raises(UsageError, match=r"shape \(1, 8, 9\) is of 72 values; x has 64 columns"):
        estimator.set_params(shape=(1, 8, 9)).fit(x, y)


def test_parameters_are_the_options():
    estimator = as_sklearn(KernelRidge(kernel="poly", degree=3))
    options = KernelRidge(kernel="poly", degree=3).options()
    assert options.items() <= estimator.get_params().items()
    assert set(estimator.get_params()) - set(options) == {"random_state", "device", "standardize", "shape"}
    assert clone(estimator.set_params(degree=4)).degree == 4
    assert "degree=4" in repr(estimator)


def test_predicts_what_the_learner_predicts(rng):
    x, y = rng.standard_normal((60, 3)), rng.standard_normal(60)
    learner = SklearnEstimator.variant("linear_model.Ridge")(alpha=0.1)
    expected = learner.fit(Data("s", 60, 3, x=x, y=y), Context()).predict(x)
    assert np.array_equal(as_sklearn(learner, standardize=False).fit(x, y).predict(x), expected)
    z, v = (x - x.mean(axis=0)) / x.std(axis=0), (y - y.mean()) / y.std()
    expected = learner.fit(Data("s", 60, 3, x=z, y=v), Context()).predict(z) * y.std() + y.mean()
    np.testing.assert_allclose(as_sklearn(learner).fit(x, y).predict(x), expected, rtol=1e-12)


def test_a_constant_column_is_only_centred_though_rounding_gives_it_a_deviation():
    x = stream("test", "constant").standard_normal((100, 2))
    x[:, 1] = 0.1
    assert 0 < x.std(axis=0)[1] < 1e-15
    estimator = as_sklearn(KernelRidge()).fit(x, x[:, 0])
    np.testing.assert_allclose(estimator.predict(x + np.array([0, 1e-6])), estimator.predict(x), atol=1e-4)


def test_units_of_inputs_and_values_do_not_matter(rng):
    x = rng.standard_normal((200, 3))
    y = x[:, 0] ** 2
    estimator = as_sklearn(ReluMlp(width=16, depth=2, steps=300)).set_params(random_state=0)
    score = estimator.fit(x, y).score(x, y)
    assert score > 0.8
    # An order of the columns' own and a power of two leave each standardized value as it is, bit for bit.
    assert estimator.fit(x * [1, 2, 1024], 4096 * y).score(x * [1, 2, 1024], 4096 * y) == score
    far = estimator.fit(x * 1e3 + 1e4, 1e4 * y - 1e5)
    assert far.score(x * 1e3 + 1e4, 1e4 * y - 1e5) == pytest.approx(score, abs=0.05)


def test_inputs_that_must_be_as_they_are(rng):
    x = rng.standard_normal((40, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    learner = load_learner("ntk-raw")
    with pytest.raises(UsageError, match=r"norm 1.*standardize=False leaves them as they are"):
        as_sklearn(learner).fit(x, x[:, 0])
    assert as_sklearn(learner, standardize=False).fit(x, x[:, 0]).score(x, x[:, 0]) > 0.5


def test_a_grid_search_may_take_the_learners_own_space(rng):
    x = rng.standard_normal((100, 2))
    y = np.sin(2 * x[:, 0])
    search = GridSearchCV(as_sklearn(KernelRidge()), dict(KernelRidge.search)).fit(x, y)
    assert set(search.best_params_) == set(KernelRidge.search)
    assert search.score(x, y) > as_sklearn(KernelRidge(ridge=1e3)).fit(x, y).score(x, y)


def test_binary_learners_are_classifiers_of_any_two_classes(rng):
    x = rng.standard_normal((80, 2))
    y = np.where(x[:, 0] > 0, "right", "left")
    estimator = as_sklearn(SklearnEstimator.variant("svm.SVC")())
    assert is_classifier(estimator)
    assert is_regressor(as_sklearn(KernelRidge()))
    assert estimator.fit(x, y).score(x, y) > 0.9
    two_only = as_sklearn(QuadDenseNet(**QuadDenseNet.smoke), classifier=True)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        two_only.fit(x, np.arange(80) % 3)


def test_learners_of_classes_are_classifiers_of_any_number_of_texts_when_asked(rng):
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


def test_options_are_checked_when_fitting():
    estimator = as_sklearn(KernelRidge()).set_params(kernel="gauss")
    with pytest.raises(UsageError, match="KernelRidge: kernel must be 'rbf'"):
        estimator.fit(np.zeros((3, 2)), np.zeros(3))
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        type(estimator)(rigde=1.0)


def test_a_fit_does_not_depend_on_the_data_of_an_earlier_one():
    """Inputs of +-1 have the same second moments whatever the data."""
    first, second = (stream("test", "signs", i).choice([-1.0, 1.0], (40, 4)) for i in range(2))
    first[:, 1] = first[:, 0]
    options = {"features": 12, "width": 6, "iterations": 10, "standardize": False}
    estimator = as_sklearn("quad-neural", **options).set_params(random_state=0)
    y = second[:, 0] * second[:, 1]
    after = estimator.fit(first, y).fit(second, y).predict(second)
    _represent.cache_clear()
    alone = estimator.fit(second, y).predict(second)
    assert np.array_equal(after, alone)


def test_settings_of_torch_stay_the_users():
    import torch

    before = torch.get_float32_matmul_precision()
    x = np.random.default_rng(0).standard_normal((20, 2))
    try:
        torch.set_float32_matmul_precision("medium")
        as_sklearn(KernelRidge()).fit(x, x[:, 0]).predict(x)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize(
    ("name", "options", "columns", "why"),
    [
        ("kernel-ridge", {"loss": "weighted", "classifier": True}, 2, "'weighted' must be used with real labels"),
        ("kernel-ridge", {"kernel": "harmonic", "with_squares": False}, 1, "inputs of at least 2 dimensions"),
        ("patch-clustering", {}, 48, r"2\^L positions with alphabet = 8; the inputs have shape \(48,\)"),
        ("tree-cnn", {}, 48, r"2\^L positions with alphabet = 8; the inputs have shape \(48,\)"),
    ],
)
def test_what_a_suite_would_skip_is_refused_with_its_reason(name, options, columns, why):
    x = np.random.default_rng(0).standard_normal((20, columns))
    with pytest.raises(UsageError, match=why):
        as_sklearn(name, **options).fit(x, np.sign(x[:, 0]))
