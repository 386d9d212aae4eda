"""Named things that plugins register, each with the plugin it came from."""

from collections.abc import Iterator
from typing import Generic, TypeVar

from bfc_bench.errors import PluginError, UsageError, suggest

T = TypeVar("T")


class Registry(Generic[T]):
    """Names of one kind (learners, targets, ...). A taken name is an error that names both plugins."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, tuple[T, str]] = {}

    def register(self, name: str, value: T, plugin: str) -> None:
        """Add ``value`` under ``name``. Raises ``PluginError`` when another plugin holds the name."""
        if not name or not isinstance(name, str):
            raise PluginError(
                f"Plugin {plugin!r} registers a {self.kind} whose name must be a non-empty string. Got {name!r}."
            )
        if name in self._entries:
            raise PluginError(
                f"The {self.kind} name {name!r} is registered by two plugins: {self.origin(name)!r} and {plugin!r}. "
                "Rename one of them or uninstall its distribution."
            )
        self._entries[name] = (value, plugin)

    def get(self, name: str, where: str = "") -> T:
        """The value called ``name``. Raises ``UsageError`` that suggests the nearest name."""
        if name not in self._entries:
            place = f"{where}: " if where else ""
            raise UsageError(f"{place}unknown {self.kind} {name!r}.{suggest(name, self._entries)}")
        return self._entries[name][0]

    def origin(self, name: str) -> str:
        """The plugin that registered ``name``."""
        return self._entries[name][1]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._entries))

    def __len__(self) -> int:
        return len(self._entries)
