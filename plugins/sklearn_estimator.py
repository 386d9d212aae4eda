"""Any scikit-learn regressor or classifier, by import path: ``sklearn:ensemble.RandomForestRegressor``.

An estimator of any other package that has scikit-learn's interface: ``lightgbm:LGBMRegressor``.

Pipelines and other compound estimators are written as in scikit-learn, each part by its path::

    name = "sklearn:make_pipeline"
    options.steps = ["sklearn:preprocessing.StandardScaler", { name = "sklearn:svm.SVR", options = { C = 10.0 } }]
    tune = { svr__C = [1.0, 10.0, 100.0] }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from math import isfinite, log2
from typing import Any, ClassVar

import numpy as np
from bfc_plugins import sklearn_facts, sklearn_objects
from pydantic import ConfigDict, Field, create_model, model_validator

from bfc_bench.errors import error_text, suggest
from bfc_bench.learner import Capabilities, Context, Cost, Data, LabelKind, Learner, Predictor, TaskFacts
from bfc_bench.toolkit.libraries import release
from bfc_bench.toolkit.square_features import square_mean, with_squares

CALLS_SECONDS = 1.5e-3
"""Least time of a fit, or of one tree, in seconds."""
OWN = frozenset({"with_squares", "frame"})
"""Options that are not scikit-learn's."""
TAKE_FRAMES = ("sklearn:ensemble.HistGradientBoosting", "lightgbm:", "lightgbm.", "xgboost:", "xgboost.")
"""How names of estimators begin that treat categories and missing values themselves."""
COLUMN_TRANSFORMER = "sklearn:compose.ColumnTransformer"
"""What a step of a pipeline that takes frames is called."""
RUNTIME_BYTES = 2**24
"""Least memory of a fit, in bytes."""


class SklearnEstimator(Learner):
    """A scikit-learn estimator. Name it as ``sklearn:module.Class``; the options are its constructor's parameters.

    A class of another package is ``module:Class``, such as ``lightgbm:LGBMRegressor``. It must have ``fit``,
    ``predict`` and ``get_params``. If it takes any option by ``**``, so does the learner.

    A classifier fits binary labels as {-1, +1} and classes as numbers; one of another package 0, 1, ... for the classes
    that are there. Its predictions are classes, and its probabilities are kept if it has any. Every ``random_state``
    that you leave out is set to the cell's seed, also in nested estimators. LightGBM, XGBoost and CatBoost use one
    thread unless you say otherwise.

    An option, or an item of a list such as the ``steps`` of ``sklearn:make_pipeline``, may be an estimator itself:
    its name, or a table with ``name`` and ``options``. ``svr__C`` is option C of the part svr.
    """

    model_config = ConfigDict(extra="allow")  # options of nested estimators, which ``_is_valid`` checks

    name: ClassVar[str] = "sklearn"
    version: ClassVar[int] = 2
    example: ClassVar[str | None] = "linear_model.Ridge"
    path: ClassVar[str] = ""

    with_squares: bool = False
    """Whether the input is (x, x^2 - E x^2), as for this project's networks and kernels, instead of x."""
    frame: bool | None = None
    """Whether it takes tables as pandas frames, with their categories and missing values; None: if it is histogram
    boosting, of LightGBM or XGBoost, or a pipeline with a ``ColumnTransformer``."""

    @classmethod
    def variant(cls, path: str) -> type[Learner]:
        """The learner of scikit-learn's class at ``path``, or of ``module:Class``. Raises ``UsageError`` if unknown."""
        return _variant(path)

    @model_validator(mode="after")
    def _is_valid(self) -> SklearnEstimator:
        if not self.path:
            raise ValueError("name an estimator: sklearn:module.Class, for example sklearn:linear_model.Ridge")
        unknown = [name for name in self.model_extra or {} if "__" not in name and ":" not in self.path]
        if unknown:
            raise ValueError(f"unknown option {unknown[0]!r}.{suggest(unknown[0], type(self).model_fields)}")
        try:
            _ = self.kinds
        except Exception as error:  # scikit-learn raises exceptions of many types for invalid options
            raise ValueError(" ".join(error_text(error).removeprefix(f"{self.name}: ").split())) from None
        return self

    @property
    def given(self) -> dict[str, Any]:
        """Options that were set, under scikit-learn's names."""
        return self.model_dump(by_alias=True, include=self.model_fields_set - OWN)

    @property
    def kinds(self) -> frozenset[LabelKind]:
        """The label kinds that the estimator fits; a pipeline fits those of its last step."""
        return sklearn_facts.kinds(self.path, self.given)

    def options(self) -> dict[str, Any]:
        """All options as plain data, under scikit-learn's names."""
        options = self.model_dump(by_alias=True, exclude={"frame"} if self.frame is None else None)
        return {name: _plain(value) for name, value in options.items()}

    def changed(self) -> dict[str, Any]:
        """Options that differ from scikit-learn's defaults, under scikit-learn's names."""
        fields, options = type(self).model_fields, self.options()
        aliases = {name: field.alias or name for name, field in fields.items()}
        names = (aliases.get(name, name) for name in super().changed())
        known = OWN | self.given.keys()  # a default of NaN is no change
        return {name: options[name] for name in names if name in known}

    def skip(self, task: TaskFacts, n: int) -> str | None:
        """Skip labels of a kind that the estimator does not fit."""
        kinds = self.kinds
        return None if task.kind in kinds else f"fits {' and '.join(sorted(kinds))} labels; these are {task.kind}"

    def cost(self, n: int, d: int) -> Cost | None:
        """Forests sort the points along every column that a split tries; linear models and neighbours take a few passes
        over the data. The cost of other estimators is unknown (None).
        """
        columns, family = d * (2 if self.with_squares else 1), self.path.partition(".")[0]
        bytes = 24.0 * n * columns + RUNTIME_BYTES
        if family == "ensemble" and "Forest" in self.path:
            trees = self.options()["n_estimators"]
            tried = columns if self.path.endswith("Regressor") else columns**0.5
            flops = 180.0 * trees * n * log2(n + 1) * tried
            return Cost(flops, bytes + 100.0 * trees * n, seconds=CALLS_SECONDS * trees)
        if family in ("linear_model", "neighbors"):
            weights = columns + 1 if family == "linear_model" else None
            return Cost(50.0 * n * columns, bytes, seconds=CALLS_SECONDS, parameters=weights)
        return None

    def takes_frames(self) -> bool:
        """Whether x may be a pandas frame; see ``frame``."""
        if self.with_squares or self.frame is not None:
            return bool(self.frame) and not self.with_squares
        return self.name.startswith(TAKE_FRAMES) or COLUMN_TRANSFORMER in repr(self.given.get("steps"))

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Fit the estimator to the n training points."""
        estimator = sklearn_objects.make(self.path, self.given)
        sklearn_objects.prepare(estimator, ctx.seed)
        mean = square_mean(train.x, ctx) if self.with_squares else None
        is_elsewhere = any(sklearn_objects.package_of(part) != "sklearn" for part in sklearn_objects.parts(estimator))
        y, labels = train.y, None
        if is_elsewhere and train.kind != "real":
            labels, y = np.unique(train.y, return_inverse=True)
        estimator.fit(with_squares(train.x, mean), y)
        steps = getattr(estimator, "n_iter_", None)
        info = {} if steps is None else {"steps": _plain(steps)}
        return SklearnPredictor(estimator, mean, info, train.classes, train.kind == "binary", labels)


@dataclass(frozen=True)
class SklearnPredictor(Predictor):
    """A fitted scikit-learn estimator."""

    estimator: Any
    square_mean: np.ndarray | None
    """E x^2, (d,), if squares are part of the input."""
    info: Mapping[str, Any] = field(default_factory=dict)
    classes: int = 0
    """Number of classes C for labels of kind ``class``, otherwise 0."""
    is_binary: bool = False
    labels: np.ndarray | None = None
    """The label for each of the numbers 0, 1, ... that the estimator was given instead; None if it has the labels."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Predictions or classes in {-1, +1}, (m,), or one-hot rows of the predicted classes, (m, C), at x (m, d)."""
        dtype = getattr(x, "dtype", np.float64)  # a frame has none
        values = np.asarray(self.estimator.predict(with_squares(x, self.square_mean))).reshape(len(x))
        values = (values if self.labels is None else self.labels[values.astype(int)]).astype(dtype)
        return np.eye(self.classes, dtype=dtype)[values.astype(int)] if self.classes else values

    def probabilities(self, x: np.ndarray) -> np.ndarray | None:
        """The estimator's ``predict_proba``, 0 for classes absent from the training labels; None if it has none."""
        if not (self.classes or self.is_binary) or not hasattr(self.estimator, "predict_proba"):
            return None
        predicted = np.asarray(self.estimator.predict_proba(with_squares(x, self.square_mean)), float)
        names = self.estimator.classes_ if self.labels is None else self.labels
        by_class = {int(name): predicted[:, column] for column, name in enumerate(names)}
        classes = [1] if self.is_binary else range(self.classes)
        table = np.stack([by_class.get(name, np.zeros(len(x))) for name in classes], axis=1)
        return table[:, 0] if self.is_binary else table


@cache
def _variant(path: str) -> type[SklearnEstimator]:
    options, labels = sklearn_facts.class_facts(path)
    fields: dict[str, Any] = {}
    for name, default in options.items():
        # An option must not hide an attribute of the pydantic model, such as `copy`.
        attribute = f"{name}_" if hasattr(SklearnEstimator, name) or name.startswith("model_") else name
        fields[attribute] = (Any, Field(default, alias=None if attribute == name else name))
    class_name = path.replace(":", ".").rpartition(".")[2]
    variant = create_model(class_name, __base__=SklearnEstimator, __module__=__name__, **fields)
    name, package = sklearn_objects.named(path), path.partition(":")[0].partition(".")[0]
    variant.__doc__ = f"``{path}``." if ":" in path else f"scikit-learn's ``{path}``."
    variant.name, variant.path, variant.example = name, path, None
    libraries = {"scikit-learn", package} if ":" in path and release(package) else {"scikit-learn"}
    variant.capabilities = Capabilities(labels=labels, libraries=frozenset(libraries))
    return variant


def _plain(value: Any) -> Any:
    """The value as JSON data; what JSON cannot hold becomes its repr."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    plain = value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and isfinite(value))
    return value if plain else repr(value)
