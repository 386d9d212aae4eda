"""Descriptions of all that a suite can name, with options, ranges, defaults and docstrings read from the classes."""

import ast
import inspect
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any, get_args

import typer
from pydantic.json_schema import GenerateJsonSchema

from bfc_bench.config import Settings, plain_option
from bfc_bench.errors import BenchError, UsageError
from bfc_bench.learner import LabelKind, Learner
from bfc_bench.plugins.manager import Plugins
from bfc_bench.registry import Registry, broken_plugins
from bfc_bench.suite.read import read_suite
from bfc_bench.tasks.metrics import Metric
from bfc_bench.toolkit.libraries import missing
from bfc_bench.utils.plain_json import toml_value

TYPES = {"integer": "integer", "number": "number", "boolean": "true or false", "string": "text", "object": "table"}
"""Types of JSON in words."""
LIMITS = {"exclusiveMinimum": "> {:g}", "minimum": ">= {:g}", "exclusiveMaximum": "< {:g}", "maximum": "<= {:g}"}
LIMITS |= dict.fromkeys(("minItems", "minLength", "minProperties"), "of {} or more")
"""Constraints of a JSON schema in words."""


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


def find(plugins: Plugins, name: str) -> list[ReferenceEntry]:
    """The entries of a name, one for each kind that has it; also of variants such as ``sklearn:svm.SVC``."""
    matches = [registry for registry in plugins.registries.values() if name in registry]
    if not matches and ":" in name:
        matches = [plugins.learners]  # which raises an error that suggests the nearest name
    if not matches:
        names = sorted({other for registry in plugins.registries.values() for other in registry})
        hint = plugins.learners.near(name, names) + broken_plugins(plugins.unavailable, name)
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


class _Schema(GenerateJsonSchema):
    """A JSON schema in which types that JSON has not may be anything."""

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:
        return {}


def options_of(cls: type[Settings]) -> tuple[Option, ...]:
    """The options of a class in order, inherited ones included."""
    texts, schema = _field_texts(cls), cls.model_json_schema(schema_generator=_Schema)
    return tuple(
        Option(
            field.alias or name,
            _values_in_words(schema["properties"][field.alias or name], schema.get("$defs", {})),
            "required" if field.is_required() else _as_toml(field.get_default(call_default_factory=True)),
            texts.get(name, ""),
        )
        for name, field in cls.model_fields.items()
    )


def _as_toml(value: Any) -> str:
    """A value as a suite writes it; ``none`` for one that a suite leaves out."""
    return "none" if value is None else toml_value(plain_option(value))


def _values_in_words(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """The values that a JSON schema allows, in words."""
    if "$ref" in schema:
        return _values_in_words(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        parts = [part for part in schema["anyOf"] if part.get("type") != "null"]
        words = " or ".join(dict.fromkeys(_values_in_words(part, definitions) for part in parts))
        return words + ", or left out" * (len(parts) < len(schema["anyOf"]))
    if "const" in schema or "enum" in schema:
        return " | ".join(map(_as_toml, schema.get("enum") or [schema["const"]]))
    if "prefixItems" in schema:
        return f"[{', '.join(_values_in_words(item, definitions) for item in schema['prefixItems'])}]"
    words = TYPES.get(schema.get("type", ""), "anything")
    if "items" in schema:
        words = f"list of {_values_in_words(schema['items'], definitions)}"
    limits = [limit.format(schema[name]) for name, limit in LIMITS.items() if name in schema]
    return f"{words} {', '.join(limits)}".strip()


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
