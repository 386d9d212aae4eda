"""Wraps any learner as a scikit-learn estimator, for pipelines and hyper-parameter searches.

Shapes: n training points, m points to predict, d input dimension, C classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from hashlib import blake2b
from inspect import Parameter, Signature
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from bfc_bench.errors import UsageError
from bfc_bench.learner import Context, Data, LabelKind, Learner, Predictor
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.toolkit.arrays import convert, to_numpy
from bfc_bench.toolkit.libraries import missing
from bfc_bench.toolkit.precision import prepared_torch


def as_sklearn(
    learner: Learner | str,
    *,
    classifier: bool | None = None,
    standardize: bool = True,
    shape: Sequence[int] | None = None,
    **options: Any,
) -> BaseEstimator:
    """A scikit-learn estimator that fits ``learner``; its parameters are the learner's options.

    It also has the parameters ``random_state``, from which the learner's seed is drawn, and ``device``. Its ``fit``
    checks the options and raises ``UsageError``. Since no input law is known, E x^2 is the mean over the training
    inputs. ``GridSearchCV(estimator, dict(learner.search))`` searches the learner's own space.

    Args:
        learner: A learner with its options, or the name of one.
        classifier: Whether to make a classifier; None: if the learner takes no real labels. Classes may be numbers or
            texts, more than two where the learner takes them.
        standardize: Whether to bring the columns of x, and the y of a regressor, to mean 0 and variance 1 by the
            training points, as learners expect, and to scale predictions back. Use False for points that must stay on a
            sphere.
        shape: (channels, height, width) if a row of x is an image.
        options: Options of a learner given by name.

    Raises:
        UsageError: The name or an option is unknown, a value is out of range, or the learner does not take such labels.
    """
    if isinstance(learner, type):
        raise UsageError(f"as_sklearn takes a learner, not its class; write as_sklearn({learner.__name__}()).")
    if isinstance(learner, str):
        learner = load_plugins().learner(learner).parse(options, f"learner {learner!r}")
    elif options:
        raise TypeError(
            f"as_sklearn: options go with a learner's name; {learner.name!r} has its own. Got {sorted(options)}."
        )
    labels = learner.capabilities.labels
    classifies = "real" not in labels if classifier is None else classifier
    if not (_takes_classes(type(learner)) if classifies else "real" in labels):
        raise UsageError(f"as_sklearn: {learner.name} takes {' and '.join(sorted(labels))} labels only.")
    own = {field.alias or name: getattr(learner, name) for name, field in type(learner).model_fields.items()}
    return _estimator_class(type(learner), classifies)(**own, standardize=standardize, shape=shape)


def _has_probabilities(estimator: _LearnerClassifier) -> bool:
    """Whether a fitted classifier's learner gives probabilities; before the fit this is not known."""
    fitted = getattr(estimator, "predictor_", None)
    return fitted is not None and type(fitted).probabilities is not Predictor.probabilities


class _LearnerEstimator(BaseEstimator):  # type: ignore[misc]
    """What regressors and classifiers share; ``_estimator_class`` makes a subclass for each learner."""

    learner_class: ClassVar[type[Learner]]
    random_state: Any
    device: str
    standardize: bool
    shape: Sequence[int] | None

    def _fit(self, x: np.ndarray, y: np.ndarray, kind: LabelKind, classes: int = 0) -> Self:
        """Fit to float64 x (n, d) and labels y (n,)."""
        learner, (n, d) = self.learner_class, x.shape
        parameters = self.get_params(deep=False)
        options = {name: parameters[name] for name in _option_defaults(learner)}
        self.learner_ = learner.parse(options, type(self).__name__)
        if reason := missing(self.learner_.libraries()):
            raise UsageError(f"{learner.name} cannot be fitted here: {reason}")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        shape = tuple(self.shape or (d,))
        if prod(shape) != d:
            raise UsageError(f"{type(self).__name__}: shape {shape} is of {prod(shape)} values; x has {d} columns.")
        self.scaler_ = self._scaler().fit(x)
        inputs = self._inputs(x)
        # Learners may keep what they computed from a sample, so other data must have another name.
        sample = blake2b(to_numpy(inputs).tobytes() + y.tobytes()).hexdigest()
        train = Data(sample, n, d, kind, classes, shape, x=inputs, y=self._convert(y))
        try:
            with self._settings():
                self.predictor_ = self.learner_.fit(train, Context(seed=seed, device=self.device))
        except UsageError as error:
            note = " These are standardized inputs; standardize=False leaves them as they are."
            raise UsageError(f"{error}{note if self.standardize else ''}") from None
        return self

    def _predict(self, x: Any, method: str = "predict") -> np.ndarray:
        """The predictor's predictions (m,), scores or ``probabilities`` (m, C), at x (m, d)."""
        check_is_fitted(self)
        x = validate_data(self, x, dtype=np.float64, reset=False)
        with self._settings():
            return to_numpy(getattr(self.predictor_, method)(self._inputs(x))).astype(np.float64)

    def _inputs(self, x: np.ndarray) -> Any:
        """The learner's inputs (m, d) for x (m, d)."""
        return self._convert(self.scaler_.transform(x))

    def _scaler(self) -> StandardScaler:
        """Brings columns to mean 0 and deviation 1, or leaves them as they are."""
        return StandardScaler(with_mean=self.standardize, with_std=self.standardize)

    def _settings(self) -> AbstractContextManager[None]:
        """The settings of torch that the learner needs, if it uses torch, for a block alone."""
        return prepared_torch(self.device) if "torch" in self.learner_.libraries() else nullcontext()

    def _convert(self, array: np.ndarray) -> Any:
        return convert(array, self.learner_class.capabilities.arrays[0], self.device)

    def __reduce__(self) -> tuple[Any, ...]:
        """The class is made at run time, so pickle a learner of the class that it is made from."""
        return _blank, (self.learner_class.model_construct(), isinstance(self, ClassifierMixin)), self.__getstate__()


def _takes_classes(learner: type[Learner]) -> bool:
    return bool(learner.capabilities.labels & {"binary", "class"})


class _LearnerRegressor(RegressorMixin, _LearnerEstimator):  # type: ignore[misc]
    def fit(self, X: Any, y: Any) -> Self:
        """Fit to X (n, d) and y (n,)."""
        if (texts := np.asarray(y)).dtype.kind in "US" or any(isinstance(value, str) for value in texts.ravel()[:1]):
            classes = "; as_sklearn(..., classifier=True) fits classes" * _takes_classes(self.learner_class)
            raise UsageError(
                f"{self.learner_class.name}: y of a regressor must hold numbers. Got the text {str(texts.ravel()[0])!r}"
                f"{classes}."
            )
        x, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self.target_scaler_ = self._scaler().fit(y[:, None])
        return self._fit(x, self.target_scaler_.transform(y[:, None])[:, 0], "real")

    def predict(self, X: Any) -> np.ndarray:
        """Predictions (m,) at X (m, d)."""
        predicted = self._predict(X)
        return np.asarray(self.target_scaler_.inverse_transform(predicted[:, None])[:, 0])


class _LearnerClassifier(ClassifierMixin, _LearnerEstimator):  # type: ignore[misc]
    def fit(self, X: Any, y: Any) -> Self:
        """Fit to X (n, d) and the classes y (n,), numbers or texts.

        Raises ``ValueError`` for a single class, or for more than two if the learner takes two only.
        """
        x, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        kind, labels = type_of_target(y, input_name="y"), self.learner_class.capabilities.labels
        if kind != "binary" and "class" not in labels:
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        self.classes_, index = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("y must contain 2 classes or more. Got 1 class.")
        if len(self.classes_) == 2 and "binary" in labels:
            return self._fit(x, 2.0 * index - 1.0, "binary")
        return self._fit(x, index.astype(float), "class", len(self.classes_))

    def predict(self, X: Any) -> np.ndarray:
        """Classes (m,) at X (m, d)."""
        scores = self._predict(X)
        return np.asarray(self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)])

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (m, C) at X (m, d), if the fitted learner gives them."""
        values = self._predict(X, "probabilities")
        return np.stack([1 - values, values], axis=1) if values.ndim == 1 else values

    def __sklearn_tags__(self) -> Tags:
        """Says whether the learner takes more than two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = "class" in self.learner_class.capabilities.labels
        return tags


@cache
def _estimator_class(learner: type[Learner], classifier: bool) -> type[_LearnerEstimator]:
    kind = _LearnerClassifier if classifier else _LearnerRegressor
    defaults = {"random_state": None, "device": "cpu", "standardize": True, "shape": None} | _option_defaults(learner)
    attributes = {"__doc__": learner.__doc__, "__init__": _make_init(defaults), "learner_class": learner}
    return type(learner.__name__, (kind,), {"__module__": __name__, **attributes})


def _option_defaults(learner: type[Learner]) -> dict[str, Any]:
    """Names and defaults of a learner's options; lists as tuples, because scikit-learn allows no mutable default."""
    defaults = {}
    for name, field in learner.model_fields.items():
        value = Parameter.empty if field.is_required() else field.get_default(call_default_factory=True)
        defaults[field.alias or name] = tuple(value) if isinstance(value, list) else value
    return defaults


def _make_init(defaults: dict[str, Any]) -> Callable[..., None]:
    """A constructor with these parameters that only stores them."""
    own = [Parameter(name, Parameter.KEYWORD_ONLY, default=value) for name, value in defaults.items()]
    signature = Signature([Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *own])

    def init(self: _LearnerEstimator, **given: Any) -> None:
        bound = signature.bind(self, **given)
        bound.apply_defaults()
        self.__dict__.update(bound.kwargs)

    init.__signature__ = signature  # type: ignore[attr-defined]
    return init


def _blank(learner: Learner, classifier: bool) -> _LearnerEstimator:
    """An estimator without any attribute, for pickle to fill."""
    cls = _estimator_class(type(learner), classifier)
    return cls.__new__(cls)
