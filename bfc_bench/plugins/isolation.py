"""Isolates plugins: an event that raises is reported with the plugin's name, and the other plugins are still called.

Each implementation of an event is replaced by a guarded one when its plugin is registered. pluggy makes the calls.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import pluggy

Report: TypeAlias = Callable[[str, str, BaseException], None]
"""Called with the plugin's name, what was called, and the exception."""
REGISTER = "bfc_register"
"""The hook that is no event."""


@contextmanager
def isolated(
    report: Callable[[BaseException], None], passes: tuple[type[BaseException], ...] = (KeyboardInterrupt,)
) -> Iterator[None]:
    """Pass every exception of the block to ``report``, ``SystemExit`` included, except those in ``passes``.

    The default lets Ctrl-C through. It cannot be told from a ``KeyboardInterrupt`` that a plugin raises itself.
    """
    try:
        yield
    except passes:
        raise
    except BaseException as error:
        report(error)


class IsolatingManager(pluggy.PluginManager):
    """A plugin manager whose events do not raise. ``report`` is called once per plugin and event."""

    def __init__(self, project: str, report: Report) -> None:
        super().__init__(project)
        self._report = report

    def register(
        self, plugin: object, name: str | None = None, passes: tuple[type[BaseException], ...] = (KeyboardInterrupt,)
    ) -> str | None:
        """Register a plugin with its hooks guarded, and return its name."""
        try:
            name = super().register(plugin, name)
        except pluggy.PluginValidationError:
            if self.get_name(plugin) is not None:  # pluggy before 1.7 leaves it partly registered
                self.unregister(plugin)
            raise
        for hook in self.get_hookcallers(plugin) or ():
            for impl in hook.get_hookimpls():
                if impl.plugin is plugin and hook.name != REGISTER:
                    impl.function = self._guarded(impl, hook.name, passes)  # type: ignore[misc]  # declared final
        return name

    def _guarded(self, impl: pluggy.HookImpl, hook: str, passes: tuple[type[BaseException], ...]) -> Callable[..., Any]:
        """One plugin's implementation of one event, which returns None where it raises."""
        function, failed = impl.function, False

        def fail(error: BaseException) -> None:
            nonlocal failed
            if not failed:
                failed = True
                self._report(impl.plugin_name, hook, error)

        def call(*args: Any, **kwargs: Any) -> Any:
            with isolated(fail, passes):
                return function(*args, **kwargs)

        return call
