"""What travels to a worker (plain settings) and what the worker builds from it (data, where they are used)."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib import import_module
from types import ModuleType

import numpy as np

from bfc_bench.errors import UsageError
from bfc_bench.learner import ArrayKind, Context, Data, Learner
from bfc_bench.plugins import Plugins, load_plugins
from bfc_bench.run.array_guard import ArrayGuard, own
from bfc_bench.run.grid import Cell
from bfc_bench.run.preload import import_libraries
from bfc_bench.seeds import seed_of
from bfc_bench.tasks.build import build_task
from bfc_bench.tasks.metrics import Metric
from bfc_bench.tasks.task import Problem, Task
from bfc_bench.toolkit.arrays import convert
from bfc_bench.toolkit.canary import miscompiled
from bfc_bench.toolkit.libraries import missing
from bfc_bench.toolkit.precision import Device, prepare_torch

TRAIN_POINTS = 2000
"""Training points on which ``train_nmse`` is measured, the first of the sample."""


class UninstalledPlugins:
    """Plugin objects that are not installed, on their way to the workers, which find the installed ones themselves.

    A module travels as its name, anything else is pickled. Two are equal that hold the same objects.
    """

    def __init__(self, plugins: Sequence[object] = ()) -> None:
        self.plugins = tuple(plugins)

    @classmethod
    def of(cls, plugins: Plugins) -> UninstalledPlugins:
        """Those that register something; what only listens stays with the session."""
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
        return _arrived, (pickle.dumps(sent),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UninstalledPlugins) and list(map(id, self.plugins)) == list(map(id, other.plugins))

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.plugins)))


@dataclass(frozen=True)
class _Module:
    """Stands for a module, which cannot be pickled."""

    name: str


@cache
def _arrived(sent: bytes) -> UninstalledPlugins:
    """The plugins that were sent to this process, made once."""
    return UninstalledPlugins([import_module(p.name) if isinstance(p, _Module) else p for p in pickle.loads(sent)])


def _unimportable(plugin: object) -> str:
    """Why the module that defines a plugin cannot be imported in another process, or an empty text."""
    home = plugin.__name__ if isinstance(plugin, ModuleType) else plugin.__module__
    module = sys.modules.get(home)
    if getattr(module, "__spec__", None) or (home == "__main__" and hasattr(module, "__file__")):
        return ""
    return f"it is defined in {home!r}, which no other process can import"


@dataclass(frozen=True)
class RunSettings:
    """What all cells of a run share."""

    suite: str
    version: int
    seed: int
    test_size: int
    device: Device
    cell_seconds: float
    memory_bytes: int
    release: str
    """Version of bfc-bench."""
    provenance: str
    gpu_bytes: int = 0
    """What a cell that computes on a GPU may take of its memory."""

    @property
    def bytes(self) -> int:
        """What a cell may take where it computes."""
        return self.memory_bytes if self.device == "cpu" else self.gpu_bytes


@dataclass(frozen=True)
class LearnerSpec:
    """A learner and its tuning candidates as plain data: a name and JSON texts of options."""

    name: str
    version: int
    options: str
    candidates: tuple[str, ...]
    tuned: tuple[str, ...]
    """Names of the options that tuning chooses."""


@dataclass(frozen=True)
class Batch:
    """Cells that are handed to one worker together, all of one learner."""

    common: RunSettings
    tasks: Mapping[str, str]
    """Task definitions by name, as JSON."""
    learners: Mapping[str, LearnerSpec]
    """By label."""
    cells: tuple[Cell, ...]

    def seed(self, cell: Cell) -> int:
        """The learner's seed for a cell: one per (task, d, replicate), so that learners and sizes are paired.

        Tasks that share a teacher share it too, so that nothing else differs between their fits.
        """
        return _learner_seed(self.common.seed, self.tasks[cell.task], cell.d, cell.replicate)


@lru_cache(maxsize=256)
def _learner_seed(seed: int, definition: str, d: int, replicate: int) -> int:
    """``Batch.seed`` from the suite's seed and the task's definition."""
    task = json.loads(definition)
    return seed_of(seed, str(task.get("teacher") or task["name"]), d, replicate, "learner")


@dataclass(frozen=True)
class CellWork:
    """One cell with its problem and its learner, built in the worker."""

    batch: Batch
    cell: Cell
    problem: Problem
    learner: Learner
    candidates: tuple[Learner, ...]

    metrics: tuple[Metric, ...]

    @classmethod
    def prepare(cls, batch: Batch, cell: Cell, extra: UninstalledPlugins) -> CellWork:
        """Build from plain data, or take from what this worker has built before, and draw the points."""
        common, spec = batch.common, batch.learners[cell.label]
        problem = _problem(extra, batch.tasks[cell.task], common.seed, cell.d, cell.replicate, common.test_size)
        candidates = tuple(_learner(extra, spec.name, options) for options in spec.candidates)
        learner = _learner(extra, spec.name, spec.options)
        _load(learner.capabilities.arrays[0], common.device)
        work = cls(batch, cell, problem, learner, candidates, _metrics(extra))
        _ = work.train, work.test_x, work.unlabeled, problem.truth, problem.test_hidden  # drawn here, on nobody's time
        return work

    def array_guard(self) -> ArrayGuard:
        """A place from which to lend arrays of the learner's kind."""
        return ArrayGuard(self.learner.capabilities.arrays[0], self.batch.common.device)

    def context(self, learner: Learner, guard: ArrayGuard) -> Context:
        """What the learner may know besides its training points."""
        common, unlabeled, square_mean = self.batch.common, self.unlabeled, self.problem.square_mean
        return Context(
            seed=self.batch.seed(self.cell),
            device=common.device,
            square_mean=None if square_mean is None else np.array(square_mean),
            unlabeled=None
            if unlabeled is None
            else guard.guarded_copy("unlabelled inputs", self.train.sample, unlabeled),
            margin_column=self.problem.task.labels.margin_column,
            oracle=own(self.problem.facts(learner.oracle())),
            seconds=common.cell_seconds,
            memory_bytes=common.bytes,
        )

    @cached_property
    def train(self) -> Data:
        """The n training points, as NumPy arrays."""
        return self.problem.train(self.cell.n)

    @cached_property
    def test_x(self) -> np.ndarray:
        """The test inputs, (m, d)."""
        return self.problem.test_inputs(self.cell.n)

    @cached_property
    def unlabeled(self) -> np.ndarray | None:
        """Inputs without labels, (n_0, d), where the task offers them."""
        return self.problem.unlabeled_inputs(self.cell.n)


def warm_up(device: Device, extra: UninstalledPlugins, learner: str = "") -> None:
    """In a new worker: find the plugins, and import what a learner needs, so that the first cell's time is its own."""
    if device == "cpu" and multiprocessing.parent_process() is not None:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")  # JAX takes memory of a GPU that it sees, even to use the CPU
    plugins = _plugins(extra)
    if learner:
        cls = plugins.learner(learner)
        if not missing(cls.capabilities.required):  # otherwise its cells are skipped, and a worker has others to run
            _load_libraries(cls, device)


def load_libraries(batch: Batch, extra: UninstalledPlugins) -> None:
    """Import what the batch's learner needs and wake its libraries, so that no cell's time or memory has that in it."""
    spec = next(iter(batch.learners.values()))
    _load_libraries(_plugins(extra).learner(spec.name), batch.common.device)
    _learner(extra, spec.name, spec.options)  # which may be made of parts that import more


def build_learner(batch: Batch, label: str, extra: UninstalledPlugins) -> Learner:
    """The learner of a label, with its options."""
    return _learner(extra, batch.learners[label].name, batch.learners[label].options)


def _load_libraries(learner: type[Learner], device: Device) -> None:
    import_libraries(learner)
    _load(learner.capabilities.arrays[0], device)
    if "jax" in sys.modules and device == "cpu":  # it would take most of a GPU's memory
        _load("jax", device)
    if "torch" in sys.modules and device == "cuda":  # before settings are compared, so that they are no learner's doing
        prepare_torch(device)


@cache
def _load(kind: ArrayKind, device: str) -> None:
    """Import an array library and wake its device, so that no cell's time has that in it.

    JAX is left alone where its compiler fails on this machine: its learners are skipped, and the process goes on.
    """
    if kind == "jax" and device == "cpu" and miscompiled({"jax"}):
        return
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


def forget_problems() -> None:
    """Draw them again when they are wanted: something that they are made with was changed."""
    _problem.cache_clear()


def forget_plugins() -> None:
    """Load them again when they are wanted: a process that goes on may have others now."""
    for cached in (_plugins, _metrics, _task, _problem, _learner):
        cached.cache_clear()


@lru_cache(maxsize=1024)
def _learner(extra: UninstalledPlugins, name: str, options: str) -> Learner:
    return _plugins(extra).learner(name).parse(json.loads(options), "suite")
