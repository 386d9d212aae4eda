"""Any learner as a scikit-learn estimator, for pipelines, searches and whatever else speaks that interface.

Shapes: n training points, m points to predict, d input dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import Parameter, Signature
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from bfc_bench.learner import Context, Data, LabelKind, Learner
from bfc_bench.toolkit.arrays import convert, to_numpy


def as_sklearn(learner: Learner) -> BaseEstimator:
    """A scikit-learn estimator that fits ``learner``; its parameters are the learner's options.

    A classifier of two classes where the learner takes binary labels only, else a regressor. Besides the options it has
    the parameters ``random_state``, from which the learner's seed is drawn, and ``device``. As the input law is not
    known, E x^2 is the training mean. Options are checked by ``fit``, which raises ``UsageError``.
    """
    options = {field.alias or name: getattr(learner, name) for name, field in type(learner).model_fields.items()}
    return _estimator_class(type(learner))(**options)


class _LearnerEstimator(BaseEstimator):  # type: ignore[misc]
    """What regressors and classifiers share; ``_estimator_class`` gives each learner a class with its parameters."""

    learner_class: ClassVar[type[Learner]]
    label_kind: ClassVar[LabelKind]
    random_state: Any
    device: str

    def _fit(self, x: np.ndarray, y: np.ndarray) -> Self:
        """Fit to float64 x (n, d) and y (n,)."""
        learner, (n, d) = self.learner_class, x.shape
        given = self.get_params(deep=False)
        options = {name: given[name] for name in _options(learner)}
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        train = Data(sample=type(self).__name__, n=n, d=d, kind=self.label_kind, x=self._convert(x), y=self._convert(y))
        self.learner_ = learner.parse(options, type(self).__name__)
        self.predictor_ = self.learner_.fit(train, Context(seed=seed, device=self.device))
        if "steps" in self.predictor_.info:
            self.n_iter_ = self.predictor_.info["steps"]
        return self

    def _predict(self, x: Any) -> np.ndarray:
        """The learner's predictions (m,) at x (m, d)."""
        check_is_fitted(self)
        x = validate_data(self, x, dtype=np.float64, reset=False)
        return to_numpy(self.predictor_.predict(self._convert(x))).astype(np.float64)

    def _convert(self, array: np.ndarray) -> Any:
        return convert(array, self.learner_class.capabilities.arrays[0], self.device)

    def __reduce__(self) -> tuple[Any, ...]:
        """The class was made at run time: pickle it as the learner that it was made for."""
        return _blank, (self.learner_class,), self.__getstate__()


class _LearnerRegressor(RegressorMixin, _LearnerEstimator):  # type: ignore[misc]
    label_kind = "real"

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to X (n, d) and y (n,)."""
        return self._fit(*validate_data(self, X, y, dtype=np.float64, y_numeric=True))

    def predict(self, X: Any) -> np.ndarray:
        """Predictions (m,) at X (m, d)."""
        return self._predict(X)


class _LearnerClassifier(ClassifierMixin, _LearnerEstimator):  # type: ignore[misc]
    label_kind = "binary"

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to X (n, d) and y (n,) of two classes. Raises ``ValueError`` for more or fewer."""
        x, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        if (kind := type_of_target(y, input_name="y")) != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        self.classes_, index = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError("y must contain 2 classes. Got 1 class.")
        return self._fit(x, 2.0 * index - 1.0)

    def predict(self, X: Any) -> np.ndarray:
        """Classes (m,) at X (m, d)."""
        above = self._predict(X) > 0
        return np.asarray(self.classes_[above.astype(int)])

    def __sklearn_tags__(self) -> Tags:
        """Two classes only."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@cache
def _estimator_class(learner: type[Learner]) -> type[_LearnerEstimator]:
    kind = _LearnerClassifier if learner.capabilities.labels == {"binary"} else _LearnerRegressor
    defaults = {"random_state": None, "device": "cpu"} | _options(learner)
    made = type(
        learner.__name__,
        (kind,),
        {"__module__": __name__, "__doc__": learner.__doc__, "__init__": _init(defaults), "learner_class": learner},
    )
    return made


def _options(learner: type[Learner]) -> dict[str, Any]:
    """Names and defaults of a learner's options; lists as tuples, because scikit-learn allows no mutable default."""
    defaults = {}
    for name, field in learner.model_fields.items():
        value = Parameter.empty if field.is_required() else field.get_default(call_default_factory=True)
        defaults[field.alias or name] = tuple(value) if isinstance(value, list) else value
    return defaults


def _init(defaults: dict[str, Any]) -> Callable[..., None]:
    """A constructor with these parameters that stores them and does nothing else."""
    names = ["self", *defaults]
    kinds = [Parameter.POSITIONAL_OR_KEYWORD, *(Parameter.KEYWORD_ONLY for _ in defaults)]
    values = [Parameter.empty, *defaults.values()]
    parameters = [Parameter(n, k, default=v) for n, k, v in zip(names, kinds, values, strict=True)]
    signature = Signature(parameters)

    def init(self: _LearnerEstimator, **given: Any) -> None:
        bound = signature.bind(self, **given)
        bound.apply_defaults()
        for name in defaults:
            setattr(self, name, bound.arguments[name])

    init.__signature__ = signature  # type: ignore[attr-defined]
    return init


def _blank(learner: type[Learner]) -> _LearnerEstimator:
    """An estimator without any attribute, for pickle to fill."""
    cls = _estimator_class(learner)
    return cls.__new__(cls)
