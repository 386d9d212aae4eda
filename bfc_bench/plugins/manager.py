"""Finds plugins and collects what they register: the framework's own parts first, then installed distributions."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from inspect import isabstract
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import pluggy

from bfc_bench.analysis.claims.base import Claim
from bfc_bench.errors import BenchError, PluginError, UsageError, describe_error, suggest
from bfc_bench.executors.base import Executor
from bfc_bench.learner import Learner
from bfc_bench.plugins import builtin, hookspecs
from bfc_bench.plugins.isolation import REGISTER, IsolatingManager, isolated
from bfc_bench.plugins.register import Register
from bfc_bench.registry import Registry, Unavailable
from bfc_bench.tasks.base import DataSet, Inputs, JointLaw, Labels, Target
from bfc_bench.tasks.metrics import Metric
from bfc_bench.utils.hook_markers import PROJECT

if TYPE_CHECKING:
    from bfc_bench.store.row import Row

log = logging.getLogger(__name__)

DISTRIBUTION = "bfc-bench"
DrawnFigure: TypeAlias = dict[str, Any] | bytes
"""The figure of a plot as Vega-Lite's JSON object, or as SVG."""


class Plugins:
    """Everything that plugins register. Made by ``load_plugins``; there is no global instance."""

    def __init__(self) -> None:
        self.unavailable: list[Unavailable] = []
        """Broken plugins and objects, with the reason."""
        missing = self.unavailable
        self.learners: Registry[type[Learner]] = Registry("learner", _not_a(Learner, "name"), missing, "name")
        self.learners.elsewhere = "sklearn"
        self.inputs: Registry[type[Inputs]] = Registry("input distribution", _not_a(Inputs, "kind"), missing, "kind")
        self.targets: Registry[type[Target]] = Registry("target", _not_a(Target, "kind"), missing, "kind")
        self.laws: Registry[type[JointLaw]] = Registry("joint law", _not_a(JointLaw, "kind"), missing, "kind")
        self.labels: Registry[type[Labels]] = Registry("labelling", _not_a(Labels, "kind"), missing, "kind")
        self.data: Registry[type[DataSet]] = Registry("data set", _not_a(DataSet, "kind"), missing, "kind")
        self.metrics: Registry[Metric] = Registry("metric", _not_a_metric, missing, "name")
        self.claims: Registry[type[Claim]] = Registry("claim kind", _not_a(Claim, "kind"), missing, "kind")
        self.suites: Registry[Path] = Registry("suite", _not_a_file, missing)
        self.executors: Registry[type[Executor]] = Registry("executor", _not_a(Executor, "name"), missing, "name")
        self.plots: Registry[Callable[[Sequence[Row]], Mapping[str, Any]]] = Registry("plot", _not_a_function, missing)
        self.verbs: Registry[Callable[..., Any]] = Registry("verb", _not_a_function, missing)
        self.listeners: Registry[Callable[..., Any]] = Registry("listener", _not_a_function, missing)
        self.registries: dict[str, Registry[Any]] = {
            registry.kind: registry for registry in vars(self).values() if isinstance(registry, Registry)
        }
        """The registries by their kind."""
        self.manager = IsolatingManager(PROJECT, self._failed)
        self.manager.add_hookspecs(hookspecs)

    def import_all(self) -> None:
        """Import what is registered by where it is; ``unavailable`` lists what is broken."""
        for registry in self.registries.values():
            self.unavailable += registry.import_all()

    def of_kind(self, kind: str) -> list[Registry[Any]]:
        """The registry of a kind, or all for an empty text. Raises ``UsageError`` for an unknown kind."""
        if kind and kind not in self.registries:
            raise UsageError(f"--kind {kind}: there is no such kind.{suggest(kind, self.registries)}")
        return [self.registries[kind]] if kind else list(self.registries.values())

    def learner(self, name: str, where: str = "") -> type[Learner]:
        """The learner class called ``name``; ``scheme:path`` names a variant of the learner ``scheme``."""
        return self.learners.find(name, where)

    def executor(self, name: str, options: Mapping[str, Any] = MappingProxyType({})) -> Executor:
        """An executor with the values of its options. Raises ``UsageError`` if the name or an option is unknown."""
        return self.executors.get(name).parse(options, f"executor {name!r}")

    def figures(self, rows: Sequence[Row]) -> dict[str, DrawnFigure]:
        """The figures of all plots for the rows of a suite, by name. A plot that raises is left out."""
        figures: dict[str, DrawnFigure] = {}
        for name in self.plots:
            with isolated(partial(self._failed, self.plots.origin(name), f"plot {name!r}")):
                drawn = {str(key): draw_figure(figure) for key, figure in self.plots.get(name)(rows).items()}
                if clashing := sorted(drawn.keys() & figures.keys()):
                    raise ValueError(f"the name {clashing[0]!r} is another plot's")
                figures |= drawn
        return figures

    @contextmanager
    def with_listeners(self, listeners: Sequence[object]) -> Iterator[None]:
        """Pass events to listeners during the block. Unlike plugins, they may raise ``BenchError``."""
        try:
            for listener in listeners:
                name = f"{type(listener).__name__} {id(listener)}"
                self.manager.register(listener, name, passes=(KeyboardInterrupt, BenchError))
            yield
        finally:
            for listener in filter(self.manager.is_registered, listeners):
                self.manager.unregister(listener)

    def add(self, plugin: object, name: str) -> None:
        """Register a plugin object, and its parts: of several with one name the first has it.

        Its hooks that cannot be called are listed as unavailable.
        """
        with isolated(lambda error: self._add_unavailable(name, _registration_error(error)), passes=()):
            self.manager.register(plugin, name)
        for hook in self.manager.get_hookcallers(plugin) or ():
            mine = [impl for impl in hook.get_hookimpls() if impl.plugin is plugin]
            if not hook.has_spec() and not all(impl.optionalhook for impl in mine):
                near = suggest(hook.name, [spec for spec in vars(hookspecs) if spec.startswith("bfc_")])
                self._add_unavailable(name, f"implements a hook {hook.name!r} that does not exist.{near}")
            for impl in mine if hook.name == REGISTER else ():
                with isolated(partial(self._failed, impl.plugin_name, REGISTER), passes=()):
                    impl.function(Register(impl.plugin_name, self._register))

    def add_installed(self, point: EntryPoint) -> None:
        """Import and register an installed plugin."""
        name = _origin(point)
        with isolated(lambda error: self._add_unavailable(name, describe_error(error)), passes=()):
            self.add(point.load(), name)

    def _register(self, plugin: str, kind: str, part: Any, name: str) -> None:
        registry = self.registries[kind]
        name = name or registry.name_of(part)
        try:
            registry.register(name, part, plugin)
        except PluginError as error:
            self._add_unavailable(plugin, str(error), kind, name if isinstance(name, str) else "")

    def _failed(self, plugin: str, what: str, error: BaseException) -> None:
        """A plugin's code has raised ``error``."""
        if what == REGISTER:
            self._add_unavailable(plugin, f"{what} raised {describe_error(error)}")
        else:
            log.warning("plugin %s failed in %s: %s", plugin, what, describe_error(error))

    def _add_unavailable(self, plugin: str, why: str, kind: str = "", name: str = "") -> None:
        self.unavailable.append(Unavailable(plugin, why, kind, name))


def load_plugins(extra: Sequence[object] = ()) -> Plugins:
    """The installed plugins and the plugin objects in ``extra``.

    A broken plugin does not raise: ``unavailable`` lists it with the reason, and the others can be used.
    """
    plugins = Plugins()
    plugins.add(builtin, PROJECT)
    for extra_of_ours in builtin.extras():
        plugins.add(extra_of_ours, extra_of_ours.__name__)
    points = {(point.name, point.value): point for point in entry_points(group=PROJECT)}
    for point in sorted(points.values(), key=_place):
        plugins.add_installed(point)
    for plugin in extra:
        if not plugins.manager.is_registered(plugin):
            plugins.add(plugin, _name(plugin, plugins.manager))
    return plugins


def load_learner(name: str, **options: Any) -> Learner:
    """A learner by name, for example ``load_learner("kernel-ridge", kernel="rbf")``.

    Raises:
        UsageError: The name or an option is unknown, or a value is out of range.
    """
    return load_plugins().learner(name).parse(options, f"learner {name!r}")


def _origin(point: EntryPoint) -> str:
    return f"{point.dist.name}:{point.name}" if point.dist else point.name


def _place(point: EntryPoint) -> tuple[bool, str]:
    """Sort key that puts the framework's distribution first, so that no other can take its names."""
    return point.dist is None or point.dist.name != DISTRIBUTION, _origin(point)


def _name(plugin: object, manager: pluggy.PluginManager) -> str:
    """The name of a module or class, or of the class of an object."""
    name = str(getattr(plugin, "__name__", type(plugin).__name__))
    return f"{name} {id(plugin)}" if manager.has_plugin(name) else name


def _registration_error(error: BaseException) -> str:
    """Why a plugin object could not be registered."""
    if isinstance(error, pluggy.PluginValidationError):
        return f"does not fit the hooks: {' '.join(str(error).split())}"
    if type(error) is ValueError:
        return "is installed twice; uninstall one of the two distributions"
    return describe_error(error)


def _not_a(base: type, attribute: str) -> Callable[[Any], str | None]:
    """A function that says why an object is no concrete subclass of ``base`` with a name."""

    def problem(value: Any) -> str | None:
        if not (isinstance(value, type) and issubclass(value, base)):
            return f"must be a subclass of bfc_bench.{base.__name__}"
        if isabstract(value):
            return f"is abstract: it must define {', '.join(sorted(getattr(value, '__abstractmethods__', ())))}"
        name = getattr(value, attribute, None)
        if not (isinstance(name, str) and name):
            return f'must say what it is called: {attribute}: ClassVar[str] = "..." in the class. Got {name!r}'
        return None

    return problem


def _not_a_metric(value: Any) -> str | None:
    if not isinstance(value, Metric):
        return "must be a bfc_bench.Metric"
    # Claims and curves refer to it as metrics.NAME.
    return None if re.fullmatch(r"[\w-]+", str(value.name)) else "must have a name of letters, digits, - and _"


def _not_a_file(value: Any) -> str | None:
    if not isinstance(value, Path):
        return "must be a pathlib.Path, such as Path(__file__).with_name('mine.toml')"
    return None if value.is_file() else "is not there; does the distribution contain it?"


def _not_a_function(value: Any) -> str | None:
    return None if callable(value) else 'must be a function, or where it is, such as "my_package.module:function"'


def draw_figure(figure: Any) -> DrawnFigure:
    """Draw what a plot gave. Raises ``TypeError`` if it has neither ``to_dict`` nor ``savefig``."""
    if hasattr(figure, "to_dict"):
        return dict(figure.to_dict())
    if not hasattr(figure, "savefig"):
        raise TypeError(f"a plot must give charts of Altair or figures of Matplotlib. Got {type(figure).__name__}")
    svg = BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None})
    return svg.getvalue()
