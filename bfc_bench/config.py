"""Base class of frozen settings, reading of TOML files, and error messages for wrong values."""

import json
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, ValidatorFunctionWrapHandler, field_validator
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from bfc_bench.errors import OptionError, UsageError, suggest
from bfc_bench.utils.plain_json import rank


class Settings(BaseModel):
    """A frozen model whose annotated fields are its options; unknown options are errors."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=True,
        allow_inf_nan=False,  # JSON cannot hold them
        arbitrary_types_allowed=True,
        defer_build=True,  # most classes that are imported are never used, so build validators on first use
    )

    def __init__(self, /, **values: Any) -> None:
        """Build from Python values. Raises ``OptionError`` on one line, as ``parse`` does for plain values."""
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise OptionError(explain(error, type(self), type(self).__name__).replace("\n", " ")) from None

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # fields that are models do not call it

    def __getstate__(self) -> dict[Any, Any]:
        """What is pickled: the options, without what is cached beside them."""
        state, fields = super().__getstate__(), type(self).model_fields
        return {**state, "__dict__": {name: value for name, value in state["__dict__"].items() if name in fields}}

    @field_validator("*", mode="wrap")
    @classmethod
    def _reject_booleans_as_numbers(cls, value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
        """Python takes ``true`` for 1; an option that is a number must not."""
        validated = validate(value)
        if isinstance(value, bool) and isinstance(validated, int | float) and not isinstance(validated, bool):
            raise ValueError(f"must be a number. Got {str(value).lower()}")
        return validated

    @classmethod
    def parse(cls, values: Mapping[str, Any], where: str) -> Self:
        """Build from plain values. Raises ``UsageError`` that names ``where``, the key, its range and what came."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            raise UsageError(explain(error, cls, where)) from None

    def plain(self) -> dict[str, Any]:
        """All options as plain data. Sets are sorted, so that the order does not depend on the process's hash seed."""
        return dict(plain_option(self))

    def changed(self) -> dict[str, Any]:
        """The options that differ from their defaults, as plain data, so that a new option changes nothing here."""
        plain, fields = self.plain(), type(self).model_fields
        names = [name for name in plain if name not in fields or not _is_default(fields[name], getattr(self, name))]
        inner = {name: value.changed() for name in names if isinstance(value := getattr(self, name), Settings)}
        return {name: inner.get(name, plain[name]) for name in names}


def plain_option(value: Any) -> Any:
    """Any value as plain data, with sets sorted."""
    if isinstance(value, set | frozenset):
        return sorted(map(plain_option, value), key=rank)
    if isinstance(value, BaseModel):
        return {name: plain_option(item) for name, item in value}
    if isinstance(value, Mapping):
        return {str(key): plain_option(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return list(map(plain_option, value))
    return to_jsonable_python(value)


def _is_default(field: FieldInfo, value: Any) -> bool:
    """Whether a value equals the field's default as plain data, in which a list stands for a tuple."""
    if field.is_required():
        return False
    default = field.get_default(call_default_factory=True)
    return bool(value == default) or plain_option(value) == plain_option(default)


PLAINLY = {"list_type": "must be a list", "model_type": "must be a table", "dict_type": "must be a table"}
"""What pydantic's types of errors mean."""


def explain(error: ValidationError, model: type[BaseModel], where: str) -> str:
    """One line per wrong key: where, which key, what was expected, what came, the nearest valid name."""
    errors = error.errors(include_url=False)
    lines, inside = [], {item["loc"][:-1] for item in errors}
    missing = [_dotted_path(item["loc"]) for item in errors if item["type"] == "missing"]
    for item in errors:
        if item["type"] == "extra_forbidden":  # a wrong name is not missing too
            near = get_close_matches(_dotted_path(item["loc"]), missing, n=1, cutoff=0.5)
            missing = [name for name in missing if name not in near]
    if missing:
        are = "is required and missing" if len(missing) == 1 else "are required and missing"
        lines.append(f"{where}: {' and '.join(filter(None, [', '.join(missing[:-1]), missing[-1]]))} {are}.")
    for item in errors:
        key = _dotted_path(item["loc"])
        if item["type"] == "extra_forbidden":
            fields = _fields_at(model, item["loc"])
            hint = suggest(str(item["loc"][-1]), fields) if fields else " Leave it out: there are no options here."
            lines.append(f"{where}: unknown option {key!r}.{hint}")
        elif item["type"] == "too_short" and item["loc"] in inside:
            continue  # the items that are wrong are not counted
        elif item["type"] != "missing":
            expected = PLAINLY.get(item["type"], "") or _expected(item["msg"])
            if item["type"] == "list_type" and isinstance(item["input"], str | int | float):
                expected += f", such as {_as_list(item['input'])}"
            elif item["type"] == "list_type" and len(item["loc"]) == 1 and isinstance(item["input"], Mapping):
                expected += f" of tables: write [[{key}]] in place of [{key}]"
            sentence = f"{key} {expected}".lstrip() + "." * (not expected.endswith("?"))
            lines.append(f"{where}: {sentence}{_got(item['input']) * (' Got ' not in expected)}")
    return "\n".join(lines)


def _as_list(value: str | float) -> str:
    """A value in brackets, as TOML writes a list of it; a text such as ``20,40`` is taken for its items."""
    text = f"[{value}]"
    try:
        tomllib.loads(f"list = {text}")
    except tomllib.TOMLDecodeError:
        return json.dumps([value])
    return text


def _expected(message: str) -> str:
    """pydantic's message, as the end of a sentence that begins with the key."""
    message = message.rstrip(".").replace(" after validation", "")
    for start, verb in (("Value error, ", ""), ("Input should be ", "must be "), ("Input should ", "must ")):
        if message.startswith(start):
            return verb + message.removeprefix(start)
    subject, should, rest = message.partition(" should have ")
    return f"must have {rest}" if should and " " not in subject else f"must be valid: {message}"


def _got(value: Any) -> str:
    """What came, shortened if long; nothing for a table, since the message says it."""
    text = repr(value)
    return "" if isinstance(value, dict) else f" Got {text if len(text) <= 200 else text[:200] + '...'}."


def _dotted_path(loc: tuple[int | str, ...]) -> str:
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _fields_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """The valid option names at ``loc``, through nested models."""
    current: type[BaseModel] | None = model
    for part in loc[:-1]:
        if current is not None and part in current.model_fields:
            current = _model_in(current.model_fields[str(part)].annotation)
    return list(current.model_fields) if current is not None else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The first model in an annotation such as ``list[Model] | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file. Raises ``UsageError`` with file and position if it is not valid."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        wrong = f"byte {error.start + 1} is {error.object[error.start]:#04x}"
        raise UsageError(f"{path}: must be a text in UTF-8; {wrong}. Save it in that encoding.") from None
    except ValueError as error:
        raise UsageError(f"{path}: not valid TOML: {error}.") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}.") from None
