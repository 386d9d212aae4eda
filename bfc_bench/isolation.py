"""The one place from which plugins' code is called: what it raises is reported with the plugin's name, and ends there.

The order of calls and hook wrappers are pluggy's own: each implementation is replaced by a guarded one when its plugin
is registered, and the calls themselves are left to pluggy.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

import pluggy

Report: TypeAlias = Callable[[str, str, BaseException], None]
"""Called with a plugin's name, what was called, and what that raised."""
REGISTRATION = "bfc_register_"
"""How the names of the hooks begin that hand a plugin a ``register`` callback."""


@contextmanager
def isolated(
    report: Callable[[BaseException], None], passes: tuple[type[BaseException], ...] = (KeyboardInterrupt,)
) -> Iterator[None]:
    """Whatever is raised inside goes to ``report`` and no further, ``SystemExit`` included.

    ``passes`` are raised on: by default Ctrl-C, which cannot be told from a plugin's own ``KeyboardInterrupt``.
    """
    try:
        yield
    except passes:
        raise
    except BaseException as error:
        report(error)


class IsolatingManager(pluggy.PluginManager):
    """A plugin manager whose hooks never raise. ``report`` is told once per plugin and hook.

    While plugins register, a ``KeyboardInterrupt`` is taken for theirs.
    """

    def __init__(self, project: str, report: Report) -> None:
        super().__init__(project)
        self._report = report

    def register(
        self, plugin: object, name: str | None = None, passes: tuple[type[BaseException], ...] = (KeyboardInterrupt,)
    ) -> str | None:
        """Register a plugin with its hooks guarded; exceptions in ``passes`` come through its events."""
        try:
            name = super().register(plugin, name)
        except pluggy.PluginValidationError:
            if self.get_name(plugin) is not None:  # pluggy before 1.7 leaves it half registered
                self.unregister(plugin)
            raise
        for hook in self.get_hookcallers(plugin) or ():
            for impl in hook.get_hookimpls():
                if impl.plugin is plugin:
                    guarded = _Guarded(impl, hook.name, self._report, passes)
                    around = impl.wrapper or impl.hookwrapper
                    impl.function = guarded.around if around else guarded.call  # type: ignore[misc]  # nothing else may
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
        """The implementation's result, or None when it raised."""
        with isolated(self._fail, self._passes):
            return self._start(args, kwargs)

    def around(self, *args: Any, **kwargs: Any) -> Generator[None, Any, Any]:
        """A wrapper's two halves, each isolated; what happens between them is none of its faults."""
        wrapper: Generator[None, Any, Any] | None = None
        with isolated(self._fail, self._passes):
            started = self._start(args, kwargs)
            if next(started, self) is self:
                raise RuntimeError("a hook wrapper must yield once. It never yields")
            wrapper = started
        try:
            result = yield
        except BaseException:  # Ctrl-C, or what a listener of the session's own raised on purpose
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
        """Call the plugin's function, with a ``register`` that knows whose it is."""
        if self._registers:
            args = tuple(partial(register, self._plugin) for register in args)
            kwargs = {name: partial(register, self._plugin) for name, register in kwargs.items()}
        return self._function(*args, **kwargs)

    def _fail(self, error: BaseException) -> None:
        if not self._failed:
            self._failed = True
            self._report(self._plugin, self._hook, error)
