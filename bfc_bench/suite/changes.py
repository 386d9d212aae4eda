"""Applies changes to a suite for one run, as ``--set`` gives them: ``a.b.c=value`` with the value in TOML."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bfc_bench.errors import UsageError, suggest


def changed(values: dict[str, Any], changes: Iterable[str] | None, option: str = "--set") -> dict[str, Any]:
    """The raw suite ``values``, to which changes in the form ``a.b=value`` are applied in place.

    Tasks, learners and claims are addressed by name, label or id. Raises ``UsageError`` that names the ``option``, the
    change and the part that does not exist.
    """
    for change in changes or ():
        path, equals, text = change.partition("=")
        if not equals or not path.strip():
            raise UsageError(f"{option} {change}: must have the form KEY=VALUE.")
        try:
            table, key = _place(values, path.strip().split("."))
        except KeyError as error:
            raise UsageError(f"{option} {change}: {error.args[0]}") from None
        table[key] = _value(text)
    return values


def _place(here: Any, parts: Sequence[str], parents: Sequence[str] = ()) -> tuple[dict[str, Any], str]:
    """The table and the key in it that a path names; ``parents`` lead to ``here``. Raises ``KeyError`` with a text.

    Tables that are not there are created; the suite's check names those that it does not know.
    """
    if isinstance(here, list) and len(parts) > 1 and all(isinstance(item, dict) for item in here):
        name, count = _entry_at(here, parts)
        entry = next(item for item in here if _entry_name(item) == name)
        return _place(entry, parts[count:], [*parents, name])
    if not isinstance(here, dict):
        raise KeyError(f"{'.'.join([*parents, *parts])!r} does not name a key; address an entry by name, then its key.")
    first, *rest = parts
    if not rest:
        return here, first
    if first not in here and parents[-1:] == ["grid"]:
        return here, ".".join(parts)  # one key of the grid, such as inputs.condition
    return _place(here.setdefault(first, {}), rest, [*parents, first])


def _value(text: str) -> Any:
    """The value of a TOML expression; other text is taken as it is."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        return text


def _entry_name(item: Mapping[str, Any]) -> str:
    return str(item.get("id") or item.get("label") or item.get("name") or "")


def _entry_at(items: Sequence[Mapping[str, Any]], parts: Sequence[str]) -> tuple[str, int]:
    """The name of the entry that a path begins with, and the number of its parts; names may contain dots."""
    names = [_entry_name(item) for item in items]
    for count in range(len(parts) - 1, 0, -1):
        if (name := ".".join(parts[:count])) in names:
            return name, count
    raise KeyError(f"there is no entry called {parts[0]!r}.{suggest(parts[0], names)}")
