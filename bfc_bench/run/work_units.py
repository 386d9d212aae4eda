"""Batches as plain settings that are sent to a worker, and the problems and learners that it builds from them."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from importlib import import_module
from types import ModuleType
from typing import TypeAlias

import numpy as np

from bfc_bench.errors import UsageError
from bfc_bench.learner import ArrayKind, Context, Data, Learner
from bfc_bench.plugins import Plugins, load_plugins
from bfc_bench.run.array_guard import ArrayGuard
from bfc_bench.run.grid import Cell
from bfc_bench.tasks.build import build_task
from bfc_bench.tasks.metrics import Metric
from bfc_bench.tasks.task import Problem, Task, learner_seed
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


Extra: TypeAlias = tuple[object, ...]
"""Plugin objects that register something and are not installed, since workers find those. A text names a module, which
cannot be pickled."""


def uninstalled(plugins: Plugins, *, sent: bool) -> Extra:
    """The plugin objects that cells need; those that only listen stay in the session.

    Raises ``UsageError`` naming a plugin that cannot be ``sent`` to another process.
    """
    needed = [plugin for plugin in plugins.extra if plugins.registers(plugin)]
    return tuple(map(_sendable, needed) if sent else needed)


def _sendable(plugin: object) -> object:
    sent = plugin.__name__ if isinstance(plugin, ModuleType) else plugin
    home = sent if isinstance(sent, str) else plugin.__module__
    module = sys.modules.get(home)
    try:
        pickle.dumps(sent)
        problem = f"it is defined in {home!r}, which no other process can import"
        if getattr(module, "__spec__", None) or (home == "__main__" and hasattr(module, "__file__")):
            return sent
    except Exception as error:
        problem = str(error)
    raise UsageError(
        f"plugin {plugin!r} cannot be sent to a worker process: {problem}. Define it in a module that can "
        "be imported, or use the executor 'serial'."
    )


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
        task = json.loads(self.tasks[cell.task])
        return learner_seed(self.common.seed, str(task.get("teacher") or task["name"]), cell.d, cell.replicate)


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
    def prepare(cls, batch: Batch, cell: Cell, extra: Extra) -> CellWork:
        """Build the problem and the learner, both cached in this worker, and draw the points."""
        common, spec, plugins = batch.common, batch.learners[cell.label], _plugins(extra)
        problem = _problem(plugins, batch.tasks[cell.task], common.seed, cell.d, cell.replicate, common.test_size)
        candidates = tuple(_learner(plugins, spec.name, options) for options in spec.candidates)
        learner = _learner(plugins, spec.name, spec.options)
        problem = problem.framed if learner.takes_frames() else problem
        _load(learner.capabilities.arrays[0], common.device)
        metrics = tuple(map(plugins.metrics.get, plugins.metrics))
        work = cls(batch, cell, problem, learner, candidates, metrics)
        _ = work.train, work.test_x, work.unlabeled, problem.truth, problem.test_hidden  # before the clock starts
        return work

    def context(self, learner: Learner, guard: ArrayGuard) -> Context:
        """The facts that the learner gets beside its training points."""
        common, unlabeled = self.batch.common, self.unlabeled
        if unlabeled is not None:
            unlabeled = guard.guarded_copy("unlabelled inputs", self.train.sample, unlabeled, self.train.columns)
        return replace(
            self.problem.context(self.cell.n),
            device=common.device,
            unlabeled=unlabeled,
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


def import_learner(name: str, extra: Extra) -> None:
    """Load the plugins and import the libraries of a learner, without initialising a device."""
    required = _plugins(extra).learner(name).capabilities.required
    if not missing(required):  # otherwise its cells are skipped
        import_libraries(required)


def import_libraries(distributions: Iterable[str]) -> None:
    """Import the modules of distributions, as far as they have the usual names."""
    for distribution in sorted(distributions):
        with suppress(ImportError):
            import_module(MODULES.get(distribution, distribution.replace("-", "_")))


def load_libraries(batch: Batch, extra: Extra) -> None:
    """Import and initialise the libraries of the batch's learner, whose time and memory no cell is charged for."""
    spec, device = next(iter(batch.learners.values())), batch.common.device
    learner = _learner(_plugins(extra), spec.name, spec.options)
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


_LOADED: dict[tuple[object, ...], Plugins] = {}


def _plugins(extra: Extra) -> Plugins:
    """The installed plugins and these, loaded once; they need not be hashable."""
    key = tuple(plugin if isinstance(plugin, str) else id(plugin) for plugin in extra)
    if key not in _LOADED:
        _LOADED[key] = load_plugins([import_module(name) if isinstance(name, str) else name for name in extra])
    return _LOADED[key]


@lru_cache(maxsize=256)
def _task(plugins: Plugins, definition: str) -> Task:
    return build_task(**json.loads(definition), kinds=plugins, where="suite")


@lru_cache(maxsize=4)
def _problem(plugins: Plugins, definition: str, seed: int, d: int, replicate: int, test_size: int) -> Problem:
    return _task(plugins, definition).problem(seed, d, replicate, test_size)


def forget_plugins() -> None:
    """Load plugins again when they are needed, since a later run in this process may use other ones."""
    _LOADED.clear()


@lru_cache(maxsize=1024)
def _learner(plugins: Plugins, name: str, options: str) -> Learner:
    return plugins.learner(name).parse(json.loads(options), "suite")
