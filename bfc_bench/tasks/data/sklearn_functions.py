"""Data sets that scikit-learn ships or generates, by function: ``sklearn:make_moons``, ``sklearn:load_iris``."""

from __future__ import annotations

from functools import cache
from inspect import Parameter, isfunction, signature
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, create_model, model_validator

from bfc_bench.errors import UsageError, error_text, suggest
from bfc_bench.tasks.base import DataSet, DataSetContents, LabelledPoints
from bfc_bench.tasks.data.classes import class_numbers, names

FORM_PARAMETERS = frozenset({"return_X_y", "as_frame", "return_centers", "coef", "return_distributions"})
"""Parameters that only change the form in which a function returns its points."""


class SklearnData(DataSet):
    """A data set of scikit-learn. Name it as ``sklearn:function``; the options are the function's parameters.

    ``random_state`` is 0 by default, so that points are the same at every call. Labels that are whole numbers, or -1
    and 1, are classes.
    """

    kind: ClassVar[str] = "sklearn"
    function: ClassVar[str] = ""

    @classmethod
    def variant(cls, path: str) -> type[DataSet]:
        """The data set of ``sklearn.datasets.<path>``. Raises ``UsageError`` with the nearest name."""
        return _variant(path)

    @model_validator(mode="after")
    def _is_variant(self) -> SklearnData:
        if not self.function:
            raise ValueError("name a function of sklearn.datasets: sklearn:make_moons, for example")
        return self

    def load(self) -> DataSetContents:
        """The points that the function returns."""
        call = f"sklearn.datasets.{self.function}"
        # Leave out defaults: JSON has made lists of their tuples, which scikit-learn refuses.
        own = (name for name in type(self).model_fields if name not in DataSet.model_fields)
        options = {name: getattr(self, name) for name in own if name in self.changed() or name == "random_state"}
        try:
            result: Any = _known()[self.function](**options)
        except Exception as error:
            raise UsageError(f"{call}: {' '.join(error_text(error).split())}") from None
        x, y = (result.data, result.target) if hasattr(result, "target") else result[:2]
        x, y = np.asarray(x), np.asarray(y)
        if y.dtype.kind in "iu" or np.all(np.abs(y) == 1):
            numbers, classes = class_numbers(y, call)
            given = getattr(result, "target_names", ())
            called = tuple(map(str, given)) if len(given) == len(classes) else names(classes)
            return DataSetContents(LabelledPoints(x, numbers), classes=called, columns=_columns(result))
        return DataSetContents(LabelledPoints(x, y), columns=_columns(result))


def _columns(result: Any) -> tuple[str, ...]:
    return tuple(map(str, getattr(result, "feature_names", ())))


@cache
def _known() -> dict[str, Any]:
    """Functions that return points with one label each, by name."""
    from sklearn import datasets

    wanted = {name: getattr(datasets, name) for name in datasets.__all__ if name.startswith(("load_", "make_"))}
    return {name: value for name, value in wanted.items() if isfunction(value) and name not in NOT_LABELLED}


NOT_LABELLED = frozenset(
    {
        *("load_files", "load_linnerud", "load_sample_image", "load_sample_images"),
        *("load_svmlight_file", "load_svmlight_files", "make_biclusters", "make_checkerboard"),
        *("make_low_rank_matrix", "make_multilabel_classification", "make_sparse_coded_signal"),
        *("make_sparse_spd_matrix", "make_spd_matrix"),
    }
)
"""Functions of ``sklearn.datasets`` that do not return points with one label each."""


@cache
def _variant(path: str) -> type[SklearnData]:
    known = _known()
    if path.startswith("fetch_"):
        raise UsageError(
            f"sklearn:{path} downloads, which a run never does. Call it yourself, save its arrays with "
            "np.savez(FILE, x=..., y=...) and use kind = 'npz'."
        )
    if path not in known:
        raise UsageError(f"sklearn:{path}: scikit-learn has no such set of labelled points.{suggest(path, known)}")
    fields: dict[str, Any] = {}
    for name, parameter in signature(known[path]).parameters.items():
        if name not in FORM_PARAMETERS:
            default = ... if parameter.default is Parameter.empty else parameter.default
            fields[name] = (int, 0) if name == "random_state" else (Any, Field(default))
    variant = create_model(f"sklearn_{path}", __base__=SklearnData, __module__=__name__, **fields)
    variant.__doc__ = f"scikit-learn's ``{path}``."
    variant.kind, variant.function = f"sklearn:{path}", path
    return variant
