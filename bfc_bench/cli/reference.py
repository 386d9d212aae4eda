"""Descriptions of all that a suite can name, with options, ranges, defaults and docstrings read from the classes."""

import ast
import inspect
import textwrap
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import inf
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from bfc_bench.config import Settings, plain_option
from bfc_bench.errors import BenchError, UsageError
from bfc_bench.learner import LabelKind, Learner
from bfc_bench.plugins.manager import Plugins
from bfc_bench.registry import Registry, broken_plugins
from bfc_bench.suite.read import read_suite
from bfc_bench.tasks.metrics import Metric
from bfc_bench.toolkit.libraries import missing
from bfc_bench.utils.plain_json import toml_value

BASES = {"int": "integer", "float": "number", "bool": "true or false", "str": "text", "Any": "anything"}
"""Types in words."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of something that a suite names."""

    name: str
    values: str
    """The values that it takes, in words."""
    default: str
    """The default as a suite writes it; ``required`` where there is none."""
    text: str
    """The docstring below it in the source; empty where there is none."""


@dataclass(frozen=True, slots=True)
class ReferenceEntry:
    """One thing that a suite or a command can name."""

    kind: str
    name: str
    origin: str
    """The plugin that registers it."""
    text: str
    """Its docstring; the description of a suite."""
    facts: Mapping[str, str]
    """Further facts by name, for example the version of a learner."""
    options: tuple[Option, ...]
    missing: str = ""
    """For a learner that cannot be used here: which libraries are missing and how to install them."""


def entries(plugins: Plugins, kind: str = "", *, options: bool = True) -> list[ReferenceEntry]:
    """Entries for everything that plugins register, of one ``kind`` or of all, with ``options`` if they are wanted.

    Raises ``UsageError`` for an unknown kind.
    """
    plugins.import_all()
    return [_entry(registry, name, options) for registry in plugins.of_kind(kind) for name in registry]


def find(plugins: Plugins, name: str, kind: str = "") -> list[ReferenceEntry]:
    """The entries of a name, one for each kind that has it; also of variants such as ``sklearn:svm.SVC``."""
    registries = plugins.of_kind(kind)
    matches = [registry for registry in registries if name in registry]
    if not matches and ":" in name and plugins.learners in registries:
        matches = [plugins.learners]  # which raises an error that suggests the nearest name
    if not matches:
        names = sorted({other for registry in registries for other in registry})
        hint = plugins.learners.near(name, names) + broken_plugins(plugins.unavailable, name, kind)
        raise UsageError(f"show: there is nothing called {name!r}.{hint}")
    return [_entry(registry, name) for registry in matches]


def _entry(registry: Registry[Any], name: str, options: bool = True) -> ReferenceEntry:
    value = registry.find(name)
    text = value.info.help if isinstance(value, typer.Typer) else value.__doc__
    facts, lacking = dict[str, str](), None
    if isinstance(value, Path):
        text, facts = _suite_facts(value)
    elif isinstance(value, Metric):
        text, facts = value.measure.__doc__, _metric_facts(value)
    elif isinstance(value, type) and issubclass(value, Learner):
        facts, lacking = _learner_facts(value), missing(value.capabilities.required)
    known = {fact: words for fact, words in facts.items() if words}
    found = options_of(value) if options and isinstance(value, type) and issubclass(value, Settings) else ()
    text = inspect.cleandoc(text or "")
    return ReferenceEntry(registry.kind, name, registry.origin(name), text, known, found, lacking or "")


def _learner_facts(cls: type[Learner]) -> dict[str, str]:
    can = cls.capabilities
    return {
        "version": str(cls.version),
        "labels": ", ".join(kind for kind in ("real", "binary", "class") if kind in can.labels),
        "arrays": ", ".join(can.arrays),
        "needs": ", ".join(sorted(can.required)),
        "devices": ", ".join(sorted(can.devices)),
        "trains in": can.precision or "the type of its arrays: float64, in JAX float32",
        "largest n": "" if can.max_n is None else str(can.max_n),
        "passes": "one, in the order of the points" if can.one_pass else "",
        "may ask for": ", ".join(sorted(can.oracle)),
        "tuned": "; ".join(f"{name} among {_as_toml(list(values))}" for name, values in cls.search.items()),
    }


def _metric_facts(metric: Metric) -> dict[str, str]:
    return {
        "range": f"{metric.floor:g} to {'infinity' if metric.largest == inf else f'{metric.largest:.4g}'}",
        "of perfect predictions": f"{metric.floor:g}",
        "labels": ", ".join(kind for kind in get_args(LabelKind) if kind in metric.labels),
        "of": metric.of,
    }


def _suite_facts(path: Path) -> tuple[str, dict[str, str]]:
    """The description of a suite, or what is wrong with its file, and facts."""
    try:
        suite = read_suite(path)
    except BenchError as error:
        return str(error), {"file": str(path)}
    return suite.description.strip(), {
        "file": str(path),
        "version": str(suite.version),
        "replicates": str(suite.replicates),
        "tasks": ", ".join(task.name for task in suite.task),
        "learners": ", ".join(entry.label for entry in suite.learner),
        "levels": ", ".join(f"{level:g}" for level in suite.levels),
        "claims": str(len(suite.claim)),
    }


def options_of(cls: type[Settings]) -> tuple[Option, ...]:
    """The options of a class in order, inherited ones included."""
    texts = _field_texts(cls)
    return tuple(
        Option(
            field.alias or name,
            _values_in_words(field.annotation, field.metadata),
            "required" if field.is_required() else _as_toml(field.get_default(call_default_factory=True)),
            texts.get(name, ""),
        )
        for name, field in cls.model_fields.items()
    )


def _as_toml(value: Any) -> str:
    """A value as a suite writes it; ``none`` for one that a suite leaves out."""
    return "none" if value is None else toml_value(plain_option(value))


def _values_in_words(annotation: Any, metadata: Iterable[Any]) -> str:
    """The values that a field takes, in words."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        words = _values_in_words(arguments[0], [*arguments[1:], *metadata])
    elif origin is Literal:
        words = " | ".join(_as_toml(value) for value in arguments)
    elif origin in (Union, UnionType):
        parts = [_values_in_words(argument, metadata) for argument in arguments if argument is not NoneType]
        words = " or ".join(dict.fromkeys(parts)) + ", or left out" * (NoneType in arguments)
    else:
        limits = ", ".join(limit for item in metadata for limit in _limits(item))
        words = f"{_type_in_words(annotation, origin, arguments)} {limits}".strip()
    return words


def _type_in_words(annotation: Any, origin: Any, arguments: tuple[Any, ...]) -> str:
    """A type in words, without bounds."""
    if origin in (tuple, list, set, frozenset):
        items = [_values_in_words(argument, ()) for argument in arguments if argument is not Ellipsis]
        fixed = origin is tuple and Ellipsis not in arguments
        return f"[{', '.join(items)}]" if fixed else f"list of {items[0]}"
    if origin is dict or annotation is dict or (isinstance(annotation, type) and issubclass(annotation, Settings)):
        return "table"
    name = getattr(annotation, "__name__", None) or str(annotation)
    return BASES.get(name, name)


def _limits(item: Any) -> list[str]:
    """The bounds that a constraint sets."""
    if isinstance(item, FieldInfo):
        return [limit for inner in item.metadata for limit in _limits(inner)]
    signs = (("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<="))
    bounds = [f"{sign} {getattr(item, name):g}" for name, sign in signs if getattr(item, name, None) is not None]
    least = getattr(item, "min_length", None)
    return bounds + ([f"of {least} or more"] if least else [])


@cache
def _field_texts(cls: type) -> dict[str, str]:
    """The string below each annotated field of a class and of its base classes, as far as they have a source."""
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if issubclass(base, Settings) and base is not Settings:
            with suppress(OSError, TypeError, SyntaxError):  # made at run time or in a console
                texts |= _strings_below_fields(textwrap.dedent(inspect.getsource(base)))
    return texts


def _strings_below_fields(source: str) -> dict[str, str]:
    tree: Any = ast.parse(source).body[0]
    texts = {}
    for field, below in pairwise(tree.body):
        named = isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if named and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            texts[field.target.id] = " ".join(str(below.value.value).split())
    return texts
