"""Any scikit-learn regressor or classifier, by import path: ``sklearn:ensemble.RandomForestRegressor``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from inspect import Parameter, isclass, signature
from math import isfinite
from pkgutil import iter_modules
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, create_model, model_validator

from bfc_bench.errors import UsageError, suggest
from bfc_bench.learner import Capabilities, Context, Data, LabelKind, Learner, Predictor


class SklearnEstimator(Learner):
    """A scikit-learn estimator. Name it as ``sklearn:module.Class``; the options are its constructor's parameters.

    A classifier is offered for labels of two or more classes, which it is given as they are: in {-1, +1}, or numbers.
    What it scores is the class that it predicts, and its probabilities are passed on. ``random_state`` is the cell's
    seed unless it is given.
    """

    name: ClassVar[str] = "sklearn"
    example: ClassVar[str | None] = "linear_model.Ridge"
    path: ClassVar[str] = ""

    with_squares: bool = True
    """Whether the input is (x, x^2 - E x^2) or x."""

    @classmethod
    def variant(cls, path: str) -> type[Learner]:
        """The learner for the class at ``sklearn.<path>``. Raises ``UsageError`` with the nearest name."""
        return _variant(path)

    @model_validator(mode="after")
    def _is_variant(self) -> SklearnEstimator:
        if not self.path:
            raise ValueError("name an estimator: sklearn:module.Class, for example sklearn:linear_model.Ridge")
        return self

    @model_validator(mode="after")
    def _is_valid(self) -> SklearnEstimator:
        cls, _ = _load(self.path)
        estimator = cls(**_parameters(self, self.model_fields_set - {"with_squares"}))
        if hasattr(estimator, "_validate_params"):  # what its fit begins with
            estimator._validate_params()
        return self

    def options(self) -> dict[str, Any]:
        """All options with their values, as plain data, under scikit-learn's names."""
        return {name: _plain(value) for name, value in _parameters(self, type(self).model_fields).items()}

    def changed(self) -> dict[str, Any]:
        """Options that differ from scikit-learn's defaults, under scikit-learn's names."""
        fields, options = type(self).model_fields, self.options()
        return {name: options[name] for name in (fields[field].alias or field for field in super().changed())}

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Fit the estimator to the n training points."""
        from bfc_bench.toolkit.features import square_mean

        cls, _ = _load(self.path)
        estimator = cls(**_parameters(self, self.model_fields_set - {"with_squares"}))
        parameters = estimator.get_params(deep=False)
        if "random_state" in parameters and parameters["random_state"] is None:
            estimator.set_params(random_state=ctx.seed)
        predictor = SklearnPredictor(estimator, square_mean(train.x, ctx) if self.with_squares else None)
        estimator.fit(predictor.features(train.x), train.y)
        predictor = replace(predictor, classes=train.classes, is_binary=train.kind == "binary")
        steps = getattr(estimator, "n_iter_", None)
        return predictor if steps is None else replace(predictor, info={"steps": _plain(steps)})


@dataclass(frozen=True)
class SklearnPredictor(Predictor):
    """A fitted scikit-learn estimator."""

    estimator: Any
    square_mean: np.ndarray | None
    """E x^2, (d,), where squares are part of the input."""
    info: Mapping[str, Any] = field(default_factory=dict)
    classes: int = 0
    """C, where labels are of kind ``class``; 0 elsewhere."""
    is_binary: bool = False

    def features(self, x: np.ndarray) -> np.ndarray:
        """The estimator's input, (m, d) or (m, 2 d)."""
        from bfc_bench.toolkit.features import with_squares

        return x if self.square_mean is None else with_squares(x, self.square_mean)

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Predictions, or classes in {-1, +1}, (m,); of more classes 1 for the one predicted, (m, C); at x (m, d)."""
        values = np.asarray(self.estimator.predict(self.features(x)).reshape(len(x)).astype(x.dtype))
        return np.eye(self.classes, dtype=x.dtype)[values.astype(int)] if self.classes else values

    def probabilities(self, x: np.ndarray) -> np.ndarray | None:
        """What the estimator's ``predict_proba`` says, 0 for classes that it has not seen."""
        if not (self.classes or self.is_binary) or not hasattr(self.estimator, "predict_proba"):
            return None
        found = np.asarray(self.estimator.predict_proba(self.features(x)), float)
        columns = [1] if self.is_binary else range(self.classes)
        seen = {int(name): found[:, place] for place, name in enumerate(self.estimator.classes_)}
        table = np.stack([seen.get(column, np.zeros(len(x))) for column in columns], axis=1)
        return table[:, 0] if self.is_binary else table


@cache
def _variant(path: str) -> type[SklearnEstimator]:
    estimator, labels = _load(path)
    fields: dict[str, Any] = {}
    for name, parameter in signature(estimator).parameters.items():
        default = ... if parameter.default is Parameter.empty else parameter.default
        # Models have attributes of their own, such as `copy`.
        attribute = f"{name}_" if hasattr(SklearnEstimator, name) or name.startswith("model_") else name
        fields[attribute] = (Any, Field(default, alias=None if attribute == name else name))
    made = create_model(estimator.__name__, __base__=SklearnEstimator, __module__=__name__, **fields)
    made.__doc__, made.__qualname__ = f"scikit-learn's ``{path}``.", path.replace(".", "/")
    made.name, made.path, made.example = f"sklearn:{path}", path, None
    made.capabilities = Capabilities(labels=frozenset(labels))
    return made


def _load(path: str) -> tuple[type[Any], set[LabelKind]]:
    """The class at ``sklearn.<path>`` and the label kinds it fits. Raises ``UsageError``."""
    import sklearn
    from sklearn.base import ClassifierMixin, RegressorMixin

    kinds: dict[LabelKind, type[Any]] = {"real": RegressorMixin, "binary": ClassifierMixin, "class": ClassifierMixin}
    modules = {module.name for module in iter_modules(sklearn.__path__) if module.name in sklearn.__all__}
    module_name, _, class_name = path.rpartition(".")
    if not module_name:
        raise UsageError(f"sklearn:{path} must be sklearn:module.Class, for example sklearn:linear_model.Ridge.")
    if module_name.partition(".")[0] not in modules:
        raise UsageError(
            f"sklearn:{path}: scikit-learn {sklearn.__version__} has no module {module_name!r}."
            f"{suggest(module_name, modules)}"
        )
    try:
        module = import_module(f"sklearn.{module_name}")
    except ImportError as error:
        raise UsageError(f"sklearn:{path}: module {module_name!r} cannot be imported: {error}.") from None
    found = {name: value for name, value in vars(module).items() if isclass(value) and not name.startswith("_")}
    estimators = {name for name, value in found.items() if issubclass(value, tuple(kinds.values()))}
    if class_name not in found:
        raise UsageError(
            f"sklearn:{path}: sklearn.{module_name} has no {class_name!r}.{suggest(class_name, estimators)}"
        )
    if class_name not in estimators:
        raise UsageError(
            f"sklearn:{path} must be a regressor or a classifier; it is neither.{suggest(class_name, estimators)}"
        )
    return found[class_name], {kind for kind, mixin in kinds.items() if issubclass(found[class_name], mixin)}


def _parameters(learner: SklearnEstimator, attributes: Iterable[str]) -> dict[str, Any]:
    """Values of fields under the names that scikit-learn knows them by."""
    fields = type(learner).model_fields
    return {fields[attribute].alias or attribute: getattr(learner, attribute) for attribute in attributes}


def __getattr__(name: str) -> type[SklearnEstimator]:
    """Variants by their path with slashes: this is how pickle finds a class that was made at run time."""
    if "/" not in name:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _variant(name.replace("/", "."))


def _plain(value: Any) -> Any:
    """The value as JSON can hold it; what it cannot hold by its repr."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    plain = value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and isfinite(value))
    return value if plain else repr(value)
