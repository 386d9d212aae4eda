"""Work that is done for groups of items at once, with its results in the order of the items."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_groups(
    items: Sequence[Item], key: Callable[[Item], Hashable], work: Callable[[list[Item]], Iterable[Result]]
) -> list[Result]:
    """One result per item, in order. ``work`` is called with the items of each key, and gives a result for each."""
    groups: dict[Hashable, list[int]] = {}
    for i, item in enumerate(items):
        groups.setdefault(key(item), []).append(i)
    results: dict[int, Result] = {}
    for members in groups.values():
        results.update(zip(members, work([items[i] for i in members]), strict=True))
    return [results[i] for i in range(len(items))]
