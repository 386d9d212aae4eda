"""Frozen settings, TOML files, and the errors that a wrong one gives."""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from bfc_bench.errors import UsageError, suggest


class Settings(BaseModel):
    """A frozen model whose annotated fields are its options; unknown options are errors."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=True,
        arbitrary_types_allowed=True,
        defer_build=True,  # of validators, until a class is used: most of those that are imported are not
    )

    @classmethod
    def parse(cls, values: Mapping[str, Any], where: str) -> Self:
        """Build from plain values. Raises ``UsageError`` that names ``where``, the key, the range and what came."""
        try:
            return cls(**values)
        except ValidationError as error:
            raise UsageError(explain(error, cls, where)) from None


def explain(error: ValidationError, model: type[BaseModel], where: str) -> str:
    """One line per wrong key: where, which key, what was expected, what came, the nearest valid name."""
    lines = []
    for item in error.errors(include_url=False):
        key = _path(item["loc"])
        if item["type"] == "extra_forbidden":
            lines.append(
                f"{where}: unknown option {key!r}.{suggest(str(item['loc'][-1]), _fields_at(model, item['loc']))}"
            )
        elif item["type"] == "missing":
            lines.append(f"{where}: {key} is required and missing.")
        else:
            lines.append(f"{where}: {key + ' ' if key else ''}{_expected(item['msg'])}.{_got(item['input'])}")
    return "\n".join(lines)


def _expected(message: str) -> str:
    """What pydantic says of a value, as the end of a sentence that begins with the key."""
    message = message.rstrip(".")
    for start, verb in (("Value error, ", ""), ("Input should be ", "must be "), ("Input should ", "must ")):
        if message.startswith(start):
            return verb + message.removeprefix(start)
    subject, should, rest = message.partition(" should have ")
    return f"must have {rest}" if should and " " not in subject else f"must be valid: {message}"


def _got(value: Any) -> str:
    """What came, cut where it is long; nothing for a whole table, whose message says it."""
    text = repr(value)
    return "" if isinstance(value, dict) else f" Got {text if len(text) <= 200 else text[:200] + '...'}."


def _path(loc: tuple[int | str, ...]) -> str:
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _fields_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """The option names that are valid where ``loc`` points, following nested models."""
    here: Any = model
    for part in loc[:-1]:
        field = here.model_fields.get(part) if isinstance(part, str) and _is_model(here) else None
        if field is not None:
            here = _model_in(field.annotation)
    return list(here.model_fields) if _is_model(here) else []


def _is_model(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseModel)


def _model_in(annotation: Any) -> Any:
    if _is_model(annotation):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        found = _model_in(inner)
        if found is not None:
            return found
    return None


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file. Raises ``UsageError`` with file and position when it is not one."""
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML: {error}.") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}.") from None


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_json(value: Any) -> str:
    """One text per value: keys sorted, no spaces. Two equal configurations have equal texts."""
    return _CANONICAL.encode(value)


def digest(value: Any, size: int = 8) -> str:
    """A short stable name of a plain value: ``2 * size`` hexadecimal digits."""
    return digest_text(canonical_json(value), size)


def digest_text(text: str, size: int = 8) -> str:
    """The name of the plain value that has this canonical JSON."""
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()
