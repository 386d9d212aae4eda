"""Isolates plugins: a hook that raises is reported with the plugin's name, and the other plugins are still called.

Each hook implementation is replaced by a guarded one when its plugin is registered. pluggy makes the calls, so the
order of hooks and wrappers is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

import pluggy

Report: TypeAlias = Callable[[str, str, BaseException], None]
"""Called with the plugin's name, what was called, and the exception."""
REGISTRATION = "bfc_register_"
"""Prefix of the hooks that pass a ``register`` callback to plugins."""


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
    """A plugin manager whose hooks do not raise. ``report`` is called once per plugin and hook.

    While plugins register, a ``KeyboardInterrupt`` counts as theirs.
    """

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
                if impl.plugin is plugin:
                    guarded = _Guarded(impl, hook.name, self._report, passes)
                    around = impl.wrapper or impl.hookwrapper
                    impl.function = guarded.around if around else guarded.call  # type: ignore[misc]  # declared final
        return name


class _Guarded:
    """One plugin's implementation of one hook."""

    def __init__(
        self, impl: pluggy.HookImpl, hook: str, report: Report, passes: tuple[type[BaseException], ...]
    ) -> None:
        self._function: Callable[..., Any] = impl.function
        self._plugin, self._hook, self._report = impl.plugin_name, hook, report
        self._registers = hook.startswith(REGISTRATION)
        self._passes = () if self._registers else passes
        self._failed = False

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the implementation, or None if it raised."""
        with isolated(self._fail, self._passes):
            return self._start(args, kwargs)

    def around(self, *args: Any, **kwargs: Any) -> Generator[None, Any, Any]:
        """The two halves of a wrapper, each isolated; exceptions raised between them are not its own."""
        wrapper: Generator[None, Any, Any] | None = None
        with isolated(self._fail, self._passes):
            started = self._start(args, kwargs)
            if next(started, self) is self:
                raise RuntimeError("a hook wrapper must yield once. It never yields")
            wrapper = started
        try:
            result = yield
        except BaseException:  # Ctrl-C, or raised on purpose by a listener of the session
            if wrapper is not None:
                with isolated(self._fail):
                    wrapper.close()
            raise
        if wrapper is None:
            return result
        with isolated(self._fail, self._passes):
            try:
                wrapper.send(result)
            except StopIteration as end:
                return end.value
            raise RuntimeError("a hook wrapper must yield once. It yields twice")
        return result

    def _start(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the plugin's function; ``register`` is bound to the plugin's name."""
        if self._registers:
            args = tuple(partial(register, self._plugin) for register in args)
            kwargs = {name: partial(register, self._plugin) for name, register in kwargs.items()}
        return self._function(*args, **kwargs)

    def _fail(self, error: BaseException) -> None:
        if not self._failed:
            self._failed = True
            self._report(self._plugin, self._hook, error)
