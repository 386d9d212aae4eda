"""Batches as plain settings that are sent to a worker, and the problems and learners that it builds from them."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from importlib import import_module
from types import ModuleType

import numpy as np

from bfc_bench.errors import UsageError
from bfc_bench.learner import ArrayKind, Context, Data, Learner
from bfc_bench.plugins import Plugins, load_plugins
from bfc_bench.run.array_guard import ArrayGuard
from bfc_bench.run.grid import Cell
from bfc_bench.seeds import seed_of
from bfc_bench.tasks.build import build_task
from bfc_bench.tasks.metrics import Metric
from bfc_bench.tasks.task import Problem, Task
from bfc_bench.toolkit.arrays import convert
from bfc_bench.toolkit.libraries import missing
from bfc_bench.toolkit.precision import Device, prepare_torch

TRAIN_POINTS = 2000
"""Training points on which ``train_nmse`` is measured, the first of the sample."""
MODULES = {
    "neural-tangents": "bfc_bench.toolkit.neural_tangents",
    "scikit-learn": "sklearn.base",
    "scipy": "scipy.linalg",
}
"""The module to import for a distribution that has another name, or whose parts are imported one by one."""


class UninstalledPlugins:
    """Plugin objects that are not installed and must be sent to the workers, which find installed plugins themselves.

    Modules are sent by name; other objects are pickled. Two instances are equal if they hold the same objects.
    """

    def __init__(self, plugins: Sequence[object] = ()) -> None:
        self.plugins = tuple(plugins)

    @classmethod
    def of(cls, plugins: Plugins) -> UninstalledPlugins:
        """The uninstalled plugins that register something. Plugins that only listen stay in the session."""
        return cls([plugin for plugin in plugins.extra if plugins.registers(plugin)])

    def check(self) -> None:
        """Raises ``UsageError`` naming a plugin that cannot be sent to another process."""
        for plugin in self.plugins:
            try:
                pickle.dumps(UninstalledPlugins([plugin]))
                problem = _unimportable(plugin)
            except Exception as error:
                problem = str(error)
            if problem:
                raise UsageError(
                    f"plugin {plugin!r} cannot be sent to a worker process: {problem}. Define it in a module that can "
                    "be imported, or use the executor 'serial'."
                )

    def __reduce__(self) -> tuple[Callable[[bytes], UninstalledPlugins], tuple[bytes]]:
        sent = [_Module(plugin.__name__) if isinstance(plugin, ModuleType) else plugin for plugin in self.plugins]
        return _unpickled, (pickle.dumps(sent),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UninstalledPlugins) and list(map(id, self.plugins)) == list(map(id, other.plugins))

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.plugins)))


@dataclass(frozen=True)
class _Module:
    """The name of a module, in place of the module, which cannot be pickled."""

    name: str


@cache
def _unpickled(sent: bytes) -> UninstalledPlugins:
    """The plugins that were sent to this process, unpickled once."""
    return UninstalledPlugins([import_module(p.name) if isinstance(p, _Module) else p for p in pickle.loads(sent)])


def _unimportable(plugin: object) -> str:
    """Why another process cannot import the module that defines a plugin, or an empty string."""
    home = plugin.__name__ if isinstance(plugin, ModuleType) else plugin.__module__
    module = sys.modules.get(home)
    if getattr(module, "__spec__", None) or (home == "__main__" and hasattr(module, "__file__")):
        return ""
    return f"it is defined in {home!r}, which no other process can import"


@dataclass(frozen=True)
class RunSettings:
    """Settings that all cells of a run share."""

    suite: str
    version: int
    seed: int
    test_size: int
    device: Device
    cell_seconds: float
    """Time limit of a cell, in seconds."""
    memory_bytes: int
    """Memory limit of a cell on the host."""
    release: str
    """Version of bfc-bench."""
    provenance: str
    """Id of the session."""
    gpu_bytes: int = 0
    """GPU memory limit of a cell."""

    @property
    def bytes(self) -> int:
        """Memory limit of a cell on its device."""
        return self.memory_bytes if self.device == "cpu" else self.gpu_bytes


@dataclass(frozen=True)
class LearnerSpec:
    """A learner and its tuning candidates as plain data: a name and options as JSON."""

    name: str
    version: int
    options: str
    candidates: tuple[str, ...]
    tuned: tuple[str, ...]
    """Names of the tuned options."""


@dataclass(frozen=True)
class Batch:
    """Cells that one worker gets together, all of one learner class."""

    common: RunSettings
    tasks: Mapping[str, str]
    """Task definitions by name, as JSON."""
    learners: Mapping[str, LearnerSpec]
    """By label."""
    cells: tuple[Cell, ...]
    seconds: float = 0.0
    """Estimated seconds."""

    @property
    def learner(self) -> str:
        """Name of the learner class."""
        return next(iter(self.learners.values())).name

    def seed(self, cell: Cell) -> int:
        """The learner's seed for a cell: one per (task, d, replicate), so that learners and sizes are paired.

        Tasks with the same teacher have the same seed, so that nothing else differs between their fits.
        """
        return _learner_seed(self.common.seed, self.tasks[cell.task], cell.d, cell.replicate)


@lru_cache(maxsize=256)
def _learner_seed(seed: int, definition: str, d: int, replicate: int) -> int:
    """``Batch.seed`` from the suite's seed and the task's definition."""
    task = json.loads(definition)
    return seed_of(seed, str(task.get("teacher") or task["name"]), d, replicate, "learner")


@dataclass(frozen=True)
class CellWork:
    """A cell with its problem and learner, built in the worker."""

    batch: Batch
    cell: Cell
    problem: Problem
    learner: Learner
    candidates: tuple[Learner, ...]
    metrics: tuple[Metric, ...]

    @classmethod
    def prepare(cls, batch: Batch, cell: Cell, extra: UninstalledPlugins) -> CellWork:
        """Build the problem and the learner, both cached in this worker, and draw the points."""
        common, spec = batch.common, batch.learners[cell.label]
        problem = _problem(extra, batch.tasks[cell.task], common.seed, cell.d, cell.replicate, common.test_size)
        candidates = tuple(_learner(extra, spec.name, options) for options in spec.candidates)
        learner = _learner(extra, spec.name, spec.options)
        problem = problem.framed if learner.takes_frames() else problem
        _load(learner.capabilities.arrays[0], common.device)
        work = cls(batch, cell, problem, learner, candidates, _metrics(extra))
        _ = work.train, work.test_x, work.unlabeled, problem.truth, problem.test_hidden  # before the clock starts
        return work

    def array_guard(self) -> ArrayGuard:
        """A guard for arrays of the kind that the learner wants."""
        return ArrayGuard(self.learner.capabilities.arrays[0], self.batch.common.device)

    def context(self, learner: Learner, guard: ArrayGuard) -> Context:
        """The facts that the learner gets beside its training points."""
        common, unlabeled, square_mean = self.batch.common, self.unlabeled, self.problem.square_mean
        return Context(
            seed=self.batch.seed(self.cell),
            device=common.device,
            square_mean=None if square_mean is None else np.array(square_mean),
            unlabeled=None
            if unlabeled is None
            else guard.guarded_copy("unlabelled inputs", self.train.sample, unlabeled, self.train.columns),
            margin_column=self.problem.task.labels.margin_column,
            oracle=deepcopy(dict(self.problem.facts(learner.oracle()))),
            seconds=common.cell_seconds,
            memory_bytes=common.bytes,
        )

    @cached_property
    def train(self) -> Data:
        """The n training points as NumPy arrays."""
        return self.problem.train(self.cell.n)

    @cached_property
    def test_x(self) -> np.ndarray:
        """The test inputs, (m, d)."""
        return self.problem.test_inputs(self.cell.n)

    @cached_property
    def unlabeled(self) -> np.ndarray | None:
        """Inputs without labels, (n_0, d), or None if the task has none."""
        return self.problem.unlabeled_inputs(self.cell.n)


def preload_steps(learners: Iterable[str], extra: UninstalledPlugins) -> dict[str, Callable[[], object]]:
    """By learner, a function that loads the plugins and imports its libraries, and initialises no device."""
    return {name: partial(_import_learner, name, extra) for name in learners}


def _import_learner(name: str, extra: UninstalledPlugins) -> None:
    required = _plugins(extra).learner(name).capabilities.required
    if not missing(required):  # otherwise its cells are skipped
        import_libraries(required)


def import_libraries(distributions: Iterable[str]) -> None:
    """Import the modules of distributions, as far as they have the usual names."""
    for distribution in sorted(distributions):
        with suppress(ImportError):
            import_module(MODULES.get(distribution, distribution.replace("-", "_")))


def load_libraries(batch: Batch, extra: UninstalledPlugins) -> None:
    """Import and initialise the libraries of the batch's learner, whose time and memory no cell is charged for."""
    spec, device = next(iter(batch.learners.values())), batch.common.device
    learner = _learner(extra, spec.name, spec.options)
    libraries = learner.libraries()
    import_libraries(libraries)
    _load(learner.capabilities.arrays[0], device)
    if "jax" in libraries and device == "cpu":  # otherwise it would allocate most of a GPU's memory
        _load("jax", device)
    if "torch" in sys.modules and device == "cuda":
        prepare_torch(device)


@cache
def _load(kind: ArrayKind, device: str) -> None:
    """Import an array library and initialise its device."""
    convert(np.zeros((1, 1)), kind, device)


@lru_cache(maxsize=4)
def _plugins(extra: UninstalledPlugins) -> Plugins:
    return load_plugins(extra.plugins)


@lru_cache(maxsize=4)
def _metrics(extra: UninstalledPlugins) -> tuple[Metric, ...]:
    known = _plugins(extra).metrics
    return tuple(known.get(name) for name in known)


@lru_cache(maxsize=256)
def _task(extra: UninstalledPlugins, definition: str) -> Task:
    return build_task(**json.loads(definition), kinds=_plugins(extra).kinds, where="suite")


@lru_cache(maxsize=4)
def _problem(extra: UninstalledPlugins, definition: str, seed: int, d: int, replicate: int, test_size: int) -> Problem:
    return _task(extra, definition).problem(seed, d, replicate, test_size)


def forget_plugins() -> None:
    """Clear all caches, since a later run in this process may use other plugins."""
    for cached in (_plugins, _metrics, _task, _problem, _learner):
        cached.cache_clear()


@lru_cache(maxsize=1024)
def _learner(extra: UninstalledPlugins, name: str, options: str) -> Learner:
    return _plugins(extra).learner(name).parse(json.loads(options), "suite")
