"""Makes estimators with scikit-learn's interface, possibly nested, from paths and options as a suite file writes them.

A path is ``module.Class`` for a class of scikit-learn, and ``module:Class`` for one of any other package.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from inspect import Parameter, isclass, signature
from pkgutil import iter_modules
from typing import Any

from bfc_bench.errors import UsageError, describe_error, suggest
from bfc_bench.learner import LabelKind, Learner

SCHEME = "sklearn:"
ALL_KINDS: frozenset[LabelKind] = frozenset({"real", "binary", "class"})
PIPELINE = "make_pipeline"
ELSEWHERE = re.compile(r"[A-Za-z_][\w.]*:[A-Z]\w*")
"""An option's value that names a class of another package. XGBoost's ``reg:squarederror`` does not."""
INTERFACE = ("fit", "predict", "get_params")
"""What a regressor or a classifier must have."""
SEEDS = frozenset({"random_state", "random_seed", "seed"})
"""Options for the seed; ``random_state`` is set unless one is given."""
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "catboost": {"thread_count": 1, "verbose": False, "allow_writing_files": False},
    "lightgbm": {"n_jobs": 1, "verbosity": -1},
    "xgboost": {"n_jobs": 1, "enable_categorical": True},
}
"""By package: options that its estimators have unless they are given. One thread, no output, categories in frames."""


def load(path: str) -> tuple[Callable[..., Any], frozenset[LabelKind]]:
    """The class or function at a path, and the label kinds that it may fit. Raises ``UsageError``.

    A pipeline, a search or another estimator that has no instance by default may fit any kind here; ``kinds_of`` knows
    those of an instance.
    """
    from sklearn.pipeline import make_pipeline

    if path.removeprefix("pipeline.") == PIPELINE:
        return make_pipeline, ALL_KINDS
    cls = find(path)
    if lacking := [method for method in INTERFACE if not hasattr(cls, method)]:
        hint = " A learner of bfc_bench must be in a plugin: `bfc-bench new learner NAME`." * issubclass(cls, Learner)
        raise UsageError(f"{named(path)} is neither a regressor nor a classifier: it lacks {', '.join(lacking)}.{hint}")
    if not {"estimator", "steps"} & parameters(cls).keys():
        with suppress(Exception):  # it has no defaults
            return cls, kinds_of(cls()) or ALL_KINDS
    return cls, ALL_KINDS


def kinds_of(estimator: Any) -> frozenset[LabelKind]:
    """The label kinds that an estimator fits; empty if it is neither a classifier nor a regressor.

    One that predicts, and has no type by scikit-learn's tags, is a classifier if it has probabilities.
    """
    from sklearn.utils import get_tags

    tagged = hasattr(estimator, "__sklearn_tags__")
    type = get_tags(estimator).estimator_type if tagged else getattr(estimator, "_estimator_type", None)
    if type is None and hasattr(estimator, "predict"):
        type = "classifier" if hasattr(estimator, "predict_proba") else "regressor"
    if type == "classifier":
        return frozenset({"binary", "class"})
    return frozenset({"real"}) if type == "regressor" else frozenset()


def find(path: str) -> type[Any]:
    """The class at a path. Raises ``UsageError``, which suggests the nearest name."""
    import sklearn

    module_name, _, class_name = path.rpartition(":") if ":" in path else f"sklearn.{path}".rpartition(".")
    package, _, inner = module_name.partition(".")
    if ":" in path and package == "sklearn":
        raise UsageError(f"{path}: write {SCHEME}{f'{inner}.{class_name}'.lstrip('.')}.")
    modules = {module.name for module in iter_modules(sklearn.__path__) if module.name in sklearn.__all__}
    if ":" not in path and not inner:
        raise UsageError(f"{named(path)} must be sklearn:module.Class, for example sklearn:linear_model.Ridge.")
    if ":" not in path and inner.partition(".")[0] not in modules:
        raise UsageError(
            f"{named(path)}: scikit-learn {sklearn.__version__} has no module {inner!r}; a class of another package is "
            f"{inner}:{class_name}.{suggest(inner, modules)}"
        )
    try:
        contents = vars(import_module(module_name)).items()
    except (Exception, SystemExit) as error:  # the module's own
        if isinstance(error, ModuleNotFoundError) and error.name == package:
            why = f"no package {package!r} is installed here, and none of this name is in a folder of PYTHONPATH"
        else:
            why = f"module {module_name!r} cannot be imported: {describe_error(error)}"
        raise UsageError(f"{named(path)}: {why}.") from None
    classes = {name: value for name, value in contents if isclass(value) and not name.startswith("_")}
    if class_name not in classes:
        raise UsageError(f"{named(path)}: {module_name} has no {class_name!r}.{suggest(class_name, classes)}")
    return classes[class_name]


def named(path: str) -> str:
    """A path as a suite writes it."""
    return path if ":" in path else f"{SCHEME}{path}"


def make(path: str, options: Mapping[str, Any]) -> Any:
    """The object at a path with these options. Raises ``UsageError``, or the error of its class.

    A value, or an item of a list, may be an object itself: its name as a suite writes it, or a table with such a
    ``name`` and ``options``. An option ``a__b`` is option b of part a, as in scikit-learn's ``set_params``.
    """
    values = {name: _with_objects(value) for name, value in options.items()}
    inner = {name: values.pop(name) for name in list(values) if "__" in name}
    if path.removeprefix("pipeline.") == PIPELINE:
        steps = values.pop("steps", None)
        if not isinstance(steps, list):
            raise UsageError(f"{named(path)}: steps must be a list of estimators. Got {steps!r}.")
        estimator = load(path)[0](*steps, **values)
    else:
        cls = find(path)
        _check_known(path, values, parameters(cls), takes_others(cls))
        estimator = cls(**values)
    _check_known(path, inner, estimator.get_params(deep=True))
    return estimator.set_params(**inner) if inner else estimator


def _check_known(path: str, given: Iterable[str], known: Iterable[str], others: bool = False) -> None:
    """Raise ``UsageError`` for the first option that is not ``known``; where ``others`` may be, if it is misspelt."""
    unknown = set(given) - set(known)
    if wrong := [name for name in sorted(unknown) if not others or get_close_matches(name, known, cutoff=0.85)]:
        raise UsageError(f"{named(path)}: unknown option {wrong[0]!r}.{suggest(wrong[0], known)}")


def parameters(maker: Callable[..., Any]) -> dict[str, Any]:
    """Defaults by name of the parameters of a class or function; ``...`` stands for a required one.

    A class that takes ``**others`` has those of its base too, as XGBoost's estimators do.
    """
    found: dict[str, Any] = {}
    for own in _signatures(maker):
        named = (each for each in own if each.kind is not Parameter.VAR_KEYWORD)
        found = {each.name: ... if each.default is Parameter.empty else each.default for each in named} | found
    return found


def takes_others(cls: type[Any]) -> bool:
    """Whether options without a name in the signatures reach the estimator, as LightGBM's ``max_bin`` does."""
    *_, last = ([], *_signatures(cls))
    return any(each.kind is Parameter.VAR_KEYWORD for each in last)


def _signatures(maker: Callable[..., Any]) -> Iterator[list[Parameter]]:
    """Parameters of a function, or of a class and of the bases that its ``**others`` reach."""
    makers = [cls for cls in maker.__mro__[:-1] if "__init__" in vars(cls)] if isclass(maker) else [maker]
    for each in makers:
        yield (signed := list(signature(each).parameters.values()))
        if all(parameter.kind is not Parameter.VAR_KEYWORD for parameter in signed):
            return


def check(estimator: Any) -> None:
    """Validate all options, also of nested estimators, as scikit-learn does when it fits. Raises ``ValueError``."""
    for part in parts(estimator):
        for validate, needed in (("_validate_params", "_parameter_constraints"), ("_validate_steps", "steps")):
            if hasattr(part, validate) and hasattr(part, needed):
                getattr(part, validate)()
    if not kinds_of(estimator):
        raise ValueError(f"must end in a regressor or a classifier. Got {type(estimator).__name__}")


def parts(estimator: Any) -> list[Any]:
    """An estimator and those nested in it."""
    return [estimator, *(part for part in estimator.get_params(deep=True).values() if hasattr(part, "get_params"))]


def package_of(part: Any) -> str:
    """The package of an estimator's class."""
    return str(type(part).__module__.partition(".")[0])


def prepare(estimator: Any, seed: int) -> None:
    """Set the seed of every part that takes one, and ``SETTINGS``, where the options leave them out."""
    for part in parts(estimator):
        known, set_params = parameters(type(part)), getattr(part, "set_params", vars(part).update)
        now = {name: value for name, value in part.get_params(deep=False).items() if value is not None}
        values = {**SETTINGS.get(package_of(part), {})}
        if "random_state" in known and not now.keys() & SEEDS:
            values["random_state"] = seed
        given = {name for name, value in now.items() if value is not known.get(name)}
        if values := {name: value for name, value in values.items() if name not in given}:
            set_params(**values)


def _with_objects(value: Any) -> Any:
    """An option's value, with an object in the place of each name of one."""
    if path := _path(value):
        return make(path, {})
    if isinstance(value, Mapping):
        if path := _path(name := value.get("name")):
            if unknown := set(value) - {"name", "options"}:
                raise UsageError(f"{name}: unknown key {min(unknown)!r}.{suggest(min(unknown), ('name', 'options'))}")
            options = value.get("options", {})
            if not isinstance(options, Mapping):
                raise UsageError(f"{name}: options must be a table. Got {options!r}.")
            return make(path, options)
        return {key: _with_objects(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = [_with_objects(item) for item in value]
        is_named = len(items) > 1 and isinstance(items[0], str) and hasattr(items[1], "get_params")
        return tuple(items) if is_named or isinstance(value, tuple) else items  # named steps of a pipeline are tuples
    return value


def _path(value: Any) -> str:
    """The path of the class that an option's value names; empty if it names none."""
    is_name = isinstance(value, str) and (value.startswith(SCHEME) or ELSEWHERE.fullmatch(value))
    return str(value).removeprefix(SCHEME) if is_name else ""
