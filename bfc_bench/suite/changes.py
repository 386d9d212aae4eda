"""Applies changes to a suite for one run, as ``--set`` gives them: ``a.b.c=value`` with the value in TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bfc_bench.config import parse_toml
from bfc_bench.errors import UsageError, suggest

CREATED = ("budget", "executor", "locate")
"""Tables that a suite file may leave out."""


def changed(values: dict[str, Any], changes: Iterable[str] | None) -> dict[str, Any]:
    """``values`` after changes in the form ``a.b=value``. Raises ``UsageError`` as ``apply`` does."""
    for change in changes or ():
        apply(values, change)
    return values


def apply(values: dict[str, Any], change: str) -> None:
    """Apply one ``a.b=value`` to the raw suite. Tasks, learners and claims are addressed by name, label or id.

    Raises ``UsageError`` that names the change and the part that does not exist.
    """
    path, equals, text = change.partition("=")
    if not equals or not path.strip():
        raise UsageError(f"--set {change}: must have the form key.key=value, for example replicates=2. Got {change!r}.")
    value = read_value(text, f"--set {path}")
    *parents, last = path.strip().split(".")
    here: Any = values
    seen: list[str] = []
    while parents:
        if isinstance(here, list) and all(isinstance(item, dict) for item in here):
            part = _entry_at(here, [*parents, last], change)
            taken = part.count(".") + 1
            here = next(item for item in here if _entry_name(item) == part)
            del parents[:taken]
        elif not isinstance(here, dict):
            break
        elif seen and seen[-1] == "grid" and parents[0] not in here:
            last = ".".join([*parents, last])  # one key of the grid, such as inputs.condition
            break
        else:
            part = parents.pop(0)
            if part not in here:
                if not _may_create(seen, part):
                    known = here if seen else {*here, *CREATED}
                    raise UsageError(f"--set {change}: unknown key {part!r}.{suggest(part, known)}")
                here[part] = {}
            here = here[part]
        seen.append(part)
    if not isinstance(here, dict):
        raise UsageError(f"--set {change}: {path!r} does not name a key; address an entry by name, then its key.")
    here[last] = value


def read_value(text: str, where: str = "value") -> Any:
    """The value of a TOML expression; other text is taken as it is. Raises ``UsageError`` as ``parse_toml`` does."""
    try:
        return parse_toml(f"value = {text}", where)["value"]
    except tomllib.TOMLDecodeError:
        return text


def _entry_name(item: Mapping[str, Any]) -> str:
    return str(item.get("id") or item.get("label") or item.get("name") or "")


def _entry_at(items: Sequence[Mapping[str, Any]], parts: Sequence[str], change: str) -> str:
    """The name of the entry that the first parts of a path address; names may contain dots."""
    names = [_entry_name(item) for item in items]
    for count in range(len(parts) - 1, 0, -1):
        if (name := ".".join(parts[:count])) in names:
            return name
    raise UsageError(f"--set {change}: there is no entry called {parts[0]!r}.{suggest(parts[0], names)}")


def _may_create(seen: Sequence[str], part: str) -> bool:
    """Whether a change may create this table, because suite files may leave it out."""
    return (not seen and part in CREATED) or (
        len(seen) == 2 and part in {"options", "tune", "inputs", "target", "data", "law", "labels", "grid"}
    )
