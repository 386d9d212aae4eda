"""Members of grids: the entries of a suite that a grid stands for, one for each combination of its values."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from bfc_bench.config import Settings, explain
from bfc_bench.suite.axes import combinations, member_name

Entry = TypeVar("Entry", bound=Settings)


def expanded(
    entry: Entry, name_key: str, default: str, grid: Mapping[str, Any], path: Callable[[str], Sequence[str]]
) -> list[Entry]:
    """The members of an entry's grid. Raises ``ValueError`` for a wrong grid."""
    name = getattr(entry, name_key)
    members = []
    for axes, by_key in combinations(repr(name), grid, [default]):
        values = {key: getattr(entry, key) for key in entry.model_fields_set}
        for key, value in by_key.items():
            values = _with_value(repr(name), values, path(key), value)
        own = member_name(name, axes)
        try:
            members.append(type(entry).model_validate({**values, name_key: own, "grid": name, "axes": axes}))
        except ValidationError as error:
            raise ValueError(explain(error, type(entry), repr(own)).rstrip(".")) from None
    return members


def check_membership(name: str, grid: Mapping[str, Any] | str | None, axes: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` unless an entry with axes is a member of a grid, under the name that the grid gives it."""
    if (grid is None or isinstance(grid, Mapping)) and axes:
        raise ValueError(f"{name!r}: axes are filled in by the program; write grid = {{ OPTION = [VALUES] }} instead")
    if isinstance(grid, str) and (not axes or name != member_name(grid, axes)):
        raise ValueError(f"{name!r}: grid must be a table of lists, for example {{ width = [8, 16] }}. Got {grid!r}")


def _with_value(who: str, values: Mapping[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    """Nested settings with one value set that they did not have."""
    first, *inner = path
    here = values.get(first)
    if inner:
        return {**values, first: _with_value(who, here if isinstance(here, Mapping) else {}, inner, value)}
    if here is not None:
        raise ValueError(f"{who}: {first} is fixed, at {here!r}, and in the grid; leave out one of the two")
    return {**values, first: value}
