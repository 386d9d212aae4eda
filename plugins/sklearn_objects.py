"""Makes scikit-learn estimators, possibly nested, from import paths and options as a suite file writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from inspect import Parameter, isclass, signature
from pkgutil import iter_modules
from typing import Any

from bfc_bench.errors import UsageError, suggest
from bfc_bench.learner import LabelKind

SCHEME = "sklearn:"
ALL_KINDS: frozenset[LabelKind] = frozenset({"real", "binary", "class"})
PIPELINE = "make_pipeline"


def load(path: str) -> tuple[Callable[..., Any], frozenset[LabelKind]]:
    """The class or function at ``sklearn.<path>``, and the label kinds that it may fit. Raises ``UsageError``.

    A pipeline, a search or another compound estimator may fit any kind here; ``kinds_of`` knows those of an instance.
    """
    from sklearn.base import ClassifierMixin, RegressorMixin
    from sklearn.pipeline import make_pipeline

    if path.removeprefix("pipeline.") == PIPELINE:
        return make_pipeline, ALL_KINDS
    cls = find(path)
    if hasattr(cls, "predict") and {"estimator", "steps"} & set(signature(cls).parameters):
        return cls, ALL_KINDS
    kinds: dict[LabelKind, type[Any]] = {"real": RegressorMixin, "binary": ClassifierMixin, "class": ClassifierMixin}
    fitted = frozenset(kind for kind, mixin in kinds.items() if issubclass(cls, mixin))
    if not fitted:
        module, _, name = path.rpartition(".")
        classes = {n for n, value in _classes(module).items() if issubclass(value, (RegressorMixin, ClassifierMixin))}
        raise UsageError(f"sklearn:{path} must be a regressor or a classifier; it is neither.{suggest(name, classes)}")
    return cls, fitted


def kinds_of(estimator: Any) -> frozenset[LabelKind]:
    """The label kinds that an estimator fits; empty if it is neither a classifier nor a regressor."""
    from sklearn.base import is_classifier, is_regressor

    if is_classifier(estimator):
        return frozenset({"binary", "class"})
    return frozenset({"real"}) if is_regressor(estimator) else frozenset()


def find(path: str) -> type[Any]:
    """The class at ``sklearn.<path>``. Raises ``UsageError``, which suggests the nearest name."""
    import sklearn

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
        classes = _classes(module_name)
    except ImportError as error:
        raise UsageError(f"sklearn:{path}: module {module_name!r} cannot be imported: {error}.") from None
    if class_name not in classes:
        raise UsageError(f"sklearn:{path}: sklearn.{module_name} has no {class_name!r}.{suggest(class_name, classes)}")
    return classes[class_name]


def _classes(module_name: str) -> dict[str, type[Any]]:
    module = import_module(f"sklearn.{module_name}")
    return {name: value for name, value in vars(module).items() if isclass(value) and not name.startswith("_")}


def make(path: str, options: Mapping[str, Any]) -> Any:
    """The object at ``sklearn.<path>`` with these options. Raises ``UsageError``, or the error of its class.

    A value, or an item of a list, may be an object itself: the text ``"sklearn:module.Class"``, or a table with such a
    ``name`` and ``options``. An option ``a__b`` is option b of part a, as in scikit-learn's ``set_params``.
    """
    values = {name: _with_objects(value) for name, value in options.items()}
    inner = {name: values.pop(name) for name in list(values) if "__" in name}
    if path.removeprefix("pipeline.") == PIPELINE:
        steps = values.pop("steps", None)
        if not isinstance(steps, list):
            raise UsageError(f"sklearn:{path}: steps must be a list of estimators. Got {steps!r}.")
        estimator = load(path)[0](*steps, **values)
    else:
        cls = find(path)
        _check_known(path, values, signature(cls).parameters)
        estimator = cls(**values)
    _check_known(path, inner, estimator.get_params(deep=True))
    return estimator.set_params(**inner)


def _check_known(path: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise ``UsageError`` for the first of ``given`` options that is not ``known``."""
    if unknown := set(given) - set(known):
        raise UsageError(f"sklearn:{path}: unknown option {min(unknown)!r}.{suggest(min(unknown), known)}")


def parameters(maker: Callable[..., Any]) -> Iterable[tuple[str, Any]]:
    """Names and defaults of the parameters of a class or function; ``...`` stands for a required one."""
    for name, parameter in signature(maker).parameters.items():
        required = parameter.default is Parameter.empty
        yield name, ... if required else parameter.default


def check(estimator: Any) -> None:
    """Validate all options, also of nested estimators, as scikit-learn does when it fits. Raises ``ValueError``."""
    parts = [value for value in estimator.get_params(deep=True).values() if hasattr(value, "get_params")]
    for part in (estimator, *parts):
        for validate in ("_validate_params", "_validate_steps"):
            if hasattr(part, validate):
                getattr(part, validate)()
    if not kinds_of(estimator):
        raise ValueError(f"must end in a regressor or a classifier. Got {type(estimator).__name__}")


def seed(estimator: Any, value: int) -> None:
    """Set every ``random_state`` that is None to ``value``, also in nested estimators."""
    for name, given in estimator.get_params(deep=True).items():
        if name.rpartition("__")[2] == "random_state" and given is None:
            estimator.set_params(**{name: value})


def _with_objects(value: Any) -> Any:
    """An option's value, with an object in the place of each ``sklearn:`` name."""
    if isinstance(value, str) and value.startswith(SCHEME):
        return make(value.removeprefix(SCHEME), {})
    if isinstance(value, Mapping):
        name = value.get("name")
        if isinstance(name, str) and name.startswith(SCHEME):
            if unknown := set(value) - {"name", "options"}:
                raise UsageError(f"{name}: unknown key {min(unknown)!r}.{suggest(min(unknown), ('name', 'options'))}")
            options = value.get("options", {})
            if not isinstance(options, Mapping):
                raise UsageError(f"{name}: options must be a table. Got {options!r}.")
            return make(name.removeprefix(SCHEME), options)
        return {key: _with_objects(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = [_with_objects(item) for item in value]
        is_named = len(items) > 1 and isinstance(items[0], str) and hasattr(items[1], "get_params")
        return tuple(items) if is_named or isinstance(value, tuple) else items  # named steps of a pipeline are tuples
    return value
