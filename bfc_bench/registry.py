"""``Registry`` of named objects, each with the plugin that registered it."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Generic, TypeVar

from bfc_bench.errors import NEAR, PluginError, UsageError, describe_error, suggest

T = TypeVar("T")


@dataclass(frozen=True)
class Unavailable:
    """A plugin, or one object that it registers, that cannot be used."""

    plugin: str
    why: str
    kind: str = ""
    """Kind of the object (``learner``); empty for the plugin itself."""
    name: str = ""
    """Name of the object, or empty."""

    def __str__(self) -> str:
        return f"{self.plugin}: unavailable: {self.why}"


@dataclass(eq=False, repr=False)
class Registry(Generic[T]):
    """Objects of one kind (learners, targets, ...) by name.

    The text ``module:attribute``, with a name, may stand for an object, which is imported when it is first used.
    """

    kind: str
    """What the objects are called in messages."""
    problem: Callable[[Any], str | None]
    """Gives the reason why an object is not of this kind, or None."""
    unavailable: Sequence[Unavailable]
    """What broken plugins lack. An error for an unknown name adds those that might have been meant."""
    named_by: str = ""
    """The attribute that names an object; empty if the plugin names it."""
    elsewhere: str = ""
    """The name of the object whose variants are ``module:Class`` of any package."""
    _entries: dict[str, tuple[T, str]] = field(default_factory=dict, init=False)

    def name_of(self, value: object) -> Any:
        """What an object says that it is called."""
        return getattr(value, self.named_by, None) if self.named_by else ""

    def register(self, name: str, value: T, plugin: str) -> None:
        """Add an object."""
        if not _is_deferred(value) and (problem := self.problem(value)):
            raise PluginError(f"{self.kind} {described(value)} {problem}.")
        if not name or not isinstance(name, str):
            raise PluginError(f"{self.kind} {described(value)} must have a name, a non-empty string. Got {name!r}.")
        if name in self._entries:
            raise PluginError(
                f"{self.kind} {described(value)}: the name {name!r} is registered by two plugins: "
                f"{self.origin(name)!r}, which keeps it, and {plugin!r}. "
                "Rename one of them or uninstall its distribution."
            )
        self._entries[name] = (value, plugin)

    def get(self, name: str, where: str = "") -> T:
        """The object called ``name``. Raises ``UsageError`` that suggests a similar name and names broken plugins."""
        if name not in self._entries:
            broken = broken_plugins(self.unavailable, name, self.kind)
            raise UsageError(f"{where}{': ' * bool(where)}unknown {self.kind} {name!r}.{self.near(name)}{broken}")
        value, plugin = self._entries[name]
        if _is_deferred(value):
            value = self._imported(name, str(value), plugin)
            self._entries[name] = (value, plugin)
        return value

    def near(self, name: str, known: Iterable[str] = ()) -> str:
        """``suggest`` among the names here and others, or ``module:Class`` in the place of ``module.Class``."""
        module, _, attribute = name.rpartition(".")
        package = module.partition(".")[0]
        named = self.elsewhere and package.isidentifier() and attribute.isidentifier()
        if named and (sys.modules.get(package) or find_spec(package)):  # ``__main__`` may have no spec
            return f"{NEAR} '{module}:{attribute}'?"
        return suggest(name, {*self, *known})

    def _imported(self, name: str, place: str, plugin: str) -> T:
        module, _, attribute = place.partition(":")
        try:
            value: T = getattr(import_module(module), attribute)
        except (Exception, SystemExit) as error:  # the module's own
            raise UsageError(f"{self.kind} {name!r} of plugin {plugin!r}: {describe_error(error)}.") from None
        problem = self.problem(value)
        if not problem and self.named_by and (own := self.name_of(value)) != name:
            problem = f"is registered as {name!r}, but is called {own!r}"
        if problem:
            raise UsageError(f"{self.kind} {described(value)} of plugin {plugin!r} {problem}.")
        return value

    def import_all(self) -> list[Unavailable]:
        """Import everything that is registered as ``module:attribute``; leave out what is broken, and return it."""
        broken = []
        for name, (_, plugin) in list(self._entries.items()):
            try:
                self.get(name)
            except UsageError as error:
                broken.append(Unavailable(plugin, str(error), self.kind, name))
                del self._entries[name]
        return broken

    def find(self, name: str, where: str = "") -> T:
        """The object called ``name``; for ``scheme:path`` the result of ``variant(path)`` of the object ``scheme``."""
        if (scheme := self.scheme(name)) == name:
            return self.get(name, where)
        try:
            variant: T = self.get(scheme).variant(name.removeprefix(f"{scheme}:"))  # type: ignore[attr-defined]
        except UsageError as error:
            raise UsageError(f"{where}: {error}" if where else str(error)) from None
        return variant

    def scheme(self, name: str) -> str:
        """The name of the object whose variant ``name`` may be, which need not exist; ``name`` itself without one."""
        scheme, _, path = name.partition(":")
        if name in self._entries or not path:
            return name
        is_place = scheme.replace(".", "").isidentifier() and path.isidentifier()
        return self.elsewhere if is_place and scheme not in self._entries and self.elsewhere in self else scheme

    def origin(self, name: str) -> str:
        """The plugin that registered ``name``, or the object whose variant it names."""
        return self._entries[self.scheme(name)][1]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._entries))

    def __len__(self) -> int:
        return len(self._entries)


def _is_deferred(value: object) -> bool:
    return isinstance(value, str) and all(value.partition(":"))


def broken_plugins(unavailable: Sequence[Unavailable], name: str, kind: str = "") -> str:
    """What is unavailable and might have the name, as the end of an error message: a line each."""
    return "".join(
        f"\nPlugin {item.plugin!r} is unavailable: {item.why}"
        for item in unavailable
        if item.name in ("", name) and ("" in (kind, item.kind) or item.kind == kind)
    )


def described(value: object) -> str:
    """``module.Class`` of a class, ``module.function`` of a function, else the ``repr``."""
    if isinstance(value, type) or hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)
