"""Builds the plugin manager: specifications, built-ins, then installed distributions, one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

from bfc_bench import hookspecs
from bfc_bench.errors import PluginError, UsageError, suggest
from bfc_bench.learner import Learner
from bfc_bench.markers import PROJECT
from bfc_bench.registry import Registry

if TYPE_CHECKING:
    from bfc_bench.executors.base import Executor
    from bfc_bench.tasks.base import Inputs, Labels, Target

ENTRY_POINT_GROUP = "bfc_bench"


@dataclass
class Plugins:
    """What all plugins together offer. Made by ``load_plugins``; there is no global one."""

    manager: pluggy.PluginManager
    learners: Registry[type[Learner]] = field(default_factory=lambda: Registry("learner"))
    inputs: Registry[type[Inputs]] = field(default_factory=lambda: Registry("input distribution"))
    targets: Registry[type[Target]] = field(default_factory=lambda: Registry("target"))
    labels: Registry[type[Labels]] = field(default_factory=lambda: Registry("labelling"))
    suites: Registry[Path] = field(default_factory=lambda: Registry("suite"))
    executors: Registry[Callable[[int], Executor]] = field(default_factory=lambda: Registry("executor"))
    plots: Registry[Callable[..., dict[str, Any]]] = field(default_factory=lambda: Registry("plot"))
    unavailable: dict[str, str] = field(default_factory=dict)
    """Plugins that did not import, with the reason."""

    def learner(self, name: str, where: str = "") -> type[Learner]:
        """The learner class called ``name``; ``scheme:path`` names a variant of the learner ``scheme``."""
        scheme, _, path = name.partition(":")
        if name in self.learners or not path:
            return self._registered(name, where)
        try:
            return self._registered(scheme, "").variant(path)
        except UsageError as error:
            raise UsageError(f"{where}: {error}" if where else str(error)) from None

    def _registered(self, name: str, where: str) -> type[Learner]:
        try:
            return self.learners.get(name, where)
        except UsageError as error:
            missing = "".join(f"\nPlugin {origin!r} is unavailable: {why}" for origin, why in self.unavailable.items())
            raise UsageError(f"{error}{missing}") from None


def load_plugins(extra: Sequence[object] = ()) -> Plugins:
    """Everything installed, plus the plugin objects in ``extra``.

    A distribution that fails to import is listed in ``unavailable`` and stops nothing. Raises ``PluginError`` for a
    taken name, a hook with wrong arguments and a misspelt hook.
    """
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    plugins = Plugins(manager)
    _register_builtins(plugins)
    for point in {(p.name, p.value): p for p in entry_points(group=ENTRY_POINT_GROUP)}.values():
        origin = f"{point.dist.name}:{point.name}" if point.dist else point.name
        try:
            module = point.load()
        except Exception as error:
            plugins.unavailable[origin] = f"{type(error).__name__}: {error}"
            continue
        _add(manager, module, origin)
    for plugin in extra:
        _add(manager, plugin, getattr(plugin, "__name__", type(plugin).__name__))
    _check_hook_names(manager)
    _collect(plugins)
    return plugins


def _register_builtins(plugins: Plugins) -> None:
    from bfc_bench.executors import EXECUTORS
    from bfc_bench.tasks.inputs import INPUTS
    from bfc_bench.tasks.labels import LABELS
    from bfc_bench.tasks.targets import TARGETS

    for inputs in INPUTS:
        plugins.inputs.register(inputs.kind, inputs, PROJECT)
    for target in TARGETS:
        plugins.targets.register(target.kind, target, PROJECT)
    for labels in LABELS:
        plugins.labels.register(labels.kind, labels, PROJECT)
    for name, factory in EXECUTORS.items():
        plugins.executors.register(name, factory, PROJECT)


def _add(manager: pluggy.PluginManager, plugin: object, name: str) -> None:
    try:
        manager.register(plugin, name=name)
    except pluggy.PluginValidationError as error:
        raise PluginError(f"Plugin {name!r} does not fit the hook specifications: {error}") from None
    except ValueError:
        raise PluginError(f"Plugin {name!r} is installed twice; uninstall one of the two distributions.") from None


def _check_hook_names(manager: pluggy.PluginManager) -> None:
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        name = manager.get_name(error.plugin) or str(error.plugin)
        known = [spec for spec in vars(hookspecs) if spec.startswith("bfc_")]
        wrong = next(
            (
                hook
                for hook in dir(error.plugin)
                if hook not in known and manager.parse_hookimpl_opts(error.plugin, hook) is not None
            ),
            "?",
        )
        raise PluginError(
            f"Plugin {name!r} implements a hook {wrong!r} that does not exist.{suggest(wrong, known)}"
        ) from None


def _collect(plugins: Plugins) -> None:
    """Call each plugin's registration hooks with a ``register`` that knows where the name came from."""
    hook = plugins.manager.hook

    def learner(cls: type[Learner], *, plugin: str) -> None:
        if not (isinstance(cls, type) and issubclass(cls, Learner)):
            raise PluginError(
                f"Plugin {plugin!r} registers {cls!r} as a learner; it must be a subclass of bfc_bench.Learner."
            )
        plugins.learners.register(getattr(cls, "name", ""), cls, plugin)

    def kind(cls: Any, *, plugin: str, registry: Registry[Any]) -> None:
        registry.register(getattr(cls, "kind", ""), cls, plugin)

    def named(name: str, value: Any, *, plugin: str, registry: Registry[Any]) -> None:
        registry.register(name, value, plugin)

    callbacks: dict[str, Callable[..., None]] = {
        "bfc_register_learners": learner,
        "bfc_register_inputs": partial(kind, registry=plugins.inputs),
        "bfc_register_targets": partial(kind, registry=plugins.targets),
        "bfc_register_labels": partial(kind, registry=plugins.labels),
        "bfc_register_suites": partial(named, registry=plugins.suites),
        "bfc_register_executors": partial(named, registry=plugins.executors),
        "bfc_register_plots": partial(named, registry=plugins.plots),
    }
    for name, register in callbacks.items():
        for impl in getattr(hook, name).get_hookimpls():
            try:
                impl.function(register=partial(register, plugin=impl.plugin_name))
            except PluginError:
                raise
            except Exception as error:
                plugins.unavailable[impl.plugin_name] = f"{name} raised {type(error).__name__}: {error}"
