"""What is sent to a worker: batches of cells with their tasks and learners, and how the worker prepares them."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from importlib import import_module
from typing import TypeAlias

import numpy as np

from bfc_bench.errors import UsageError, describe_error
from bfc_bench.executors.base import Preload, dumps
from bfc_bench.learner import Array, ArrayKind, Data, Failure, Job, Learner, Predictor
from bfc_bench.run.array_guard import Columns, guarded_copy
from bfc_bench.run.grid import Cell, Grid, GridLearner
from bfc_bench.store.row import COLUMNS, schema
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


@dataclass(frozen=True)
class Batch:
    """Cells that one worker gets together, all of one learner class."""

    grid: Grid
    """The part of the grid that they need."""
    device: Device
    memory: Mapping[Device, int]
    """Memory limits of a cell by where it is, in bytes: of the host, and of the GPU in a run for one."""
    cells: tuple[Cell, ...]
    seconds: float = 0.0
    """Estimated seconds."""

    @property
    def learner(self) -> Learner:
        """The learner of one of the labels."""
        return next(iter(self.grid.entries.values())).learner

    @property
    def array_kind(self) -> ArrayKind:
        """The kind of arrays that the learner wants."""
        return self.learner.capabilities.arrays[0]


Copies: TypeAlias = dict[tuple[str, str, int], tuple[np.ndarray, Array, Columns]]
"""What learners of a batch were given, by what it is, its sample and its size: an array, its copy, and its columns."""


@dataclass(eq=False)
class CellFit:
    """A cell in the worker: its points, and what has become of its fit so far."""

    batch: Batch
    cell: Cell
    problem: Problem
    train: Data
    """The n training points as NumPy arrays."""
    test_x: np.ndarray
    """The test inputs, (m, d)."""
    unlabeled: np.ndarray | None
    """Inputs without labels, (n_0, d), or None if the task has none."""
    ranking: list[tuple[Learner, float | None]]
    """Learners to fit, the best first, with their validation errors; the next one is for when training diverges."""
    copies: Copies
    """Shared by the cells of a batch."""
    tried: list[Learner] = field(default_factory=list)
    """Candidates that tuning has fitted."""
    outcome: Predictor | Failure | None = None
    """Result of the fit; None until it has ended."""

    @classmethod
    def prepare(cls, batch: Batch, cell: Cell, copies: Copies) -> CellFit:
        """Draw the points, before the clock starts."""
        grid, learner, n = batch.grid, batch.grid.entries[cell.label].learner, cell.n
        problem = drawn_problem(grid.tasks[cell.task], grid.suite.seed, cell.d, cell.replicate, grid.suite.test_size)
        problem = problem.framed if learner.takes_frames() else problem
        _load(batch.array_kind, batch.device)
        points = problem.train(n), problem.test_inputs(n), problem.unlabeled_inputs(n)
        _ = problem.truth, problem.test_hidden
        return cls(batch, cell, problem, *points, [(learner, None)], copies)

    @property
    def entry(self) -> GridLearner:
        """The learner of the suite."""
        return self.batch.grid.entries[self.cell.label]

    @property
    def learner(self) -> Learner:
        """The learner that is fitted."""
        return self.ranking[0][0]

    def copy(self, what: str, sample: str, x: np.ndarray, columns: Columns = ()) -> Array:
        """A copy of ``x`` for learners; the same copy for the same ``what``, sample and size."""
        key, batch = (what, sample, len(x)), self.batch
        if key not in self.copies:
            self.copies[key] = x, guarded_copy(x, batch.array_kind, batch.device, columns), columns
        return self.copies[key][1]

    def job(self, learner: Learner, train: Data) -> Job:
        """A fit of ``learner`` to ``train``, with copies of all arrays."""
        batch, unlabeled, columns = self.batch, self.unlabeled, train.columns
        if unlabeled is not None:
            unlabeled = self.copy("unlabelled inputs", self.train.sample, unlabeled, columns)
        x, y = self.copy("inputs", train.sample, train.x, columns), self.copy("labels", train.sample, train.y)
        context = replace(
            self.problem.context(self.cell.n),
            device=batch.device,
            unlabeled=unlabeled,
            oracle=deepcopy(dict(self.problem.facts(learner.oracle()))),
            seconds=batch.grid.suite.budget.cell_seconds,
            memory_bytes=batch.memory[batch.device],
        )
        return Job(learner, replace(train, x=x, y=y), context)


def preload_of(grid: Grid) -> Preload:
    """By name of each learner class, a function for an executor, which imports what its cells need.

    Raises ``UsageError`` naming a part that cannot be sent to another process.
    """
    shared = [_pickled(f"task {name!r}", task) for name, task in grid.tasks.items()]
    shared += [_pickled(f"metric {metric.name!r}", metric) for metric in grid.metrics]
    learners: dict[str, list[bytes]] = {}
    for label, entry in grid.entries.items():
        learners.setdefault(entry.learner.name, []).append(_pickled(f"learner {label!r}", entry))
    return {name: partial(import_parts, [*own, *shared]) for name, own in learners.items()}


def _pickled(what: str, part: object) -> bytes:
    try:
        return dumps(part)
    except Exception as error:
        raise UsageError(
            f"{what} cannot be sent to a worker process: {describe_error(error)}. Define it in a module that can be "
            "imported, without what only this process has, or use the executor 'serial'."
        ) from None


def import_parts(parts: Sequence[bytes]) -> None:
    """Import the modules of pickled parts and the libraries of the first, a learner, without initialising a device.

    The schemas that pydantic builds at the first use of a class are built too, so that no worker builds them again.
    """
    entry, *others = map(pickle.loads, parts)
    if not missing(required := entry.learner.capabilities.required):  # otherwise its cells are skipped
        import_libraries(required)
    type(entry.learner).model_rebuild()
    for other in others:
        for part in other.parts.values() if isinstance(other, Task) else ():
            type(part).model_rebuild()
    schema(frozenset(COLUMNS))


def import_libraries(distributions: Iterable[str]) -> None:
    """Import the modules of distributions, as far as they have the usual names."""
    for distribution in sorted(distributions):
        with suppress(ImportError):
            import_module(MODULES.get(distribution, distribution.replace("-", "_")))


def load_libraries(batch: Batch) -> None:
    """Import and initialise the libraries of the batch's learner, whose time and memory no cell is charged for."""
    learner, device = batch.learner, batch.device
    libraries = learner.libraries()
    import_libraries(libraries)
    _load(batch.array_kind, device)
    if "jax" in libraries and device == "cpu":  # otherwise it would allocate most of a GPU's memory
        _load("jax", device)
    if "torch" in sys.modules and device == "cuda":
        prepare_torch(device)


@cache
def _load(kind: ArrayKind, device: str) -> None:
    """Import an array library and initialise its device."""
    convert(np.zeros((1, 1)), kind, device)


@lru_cache(maxsize=4)
def drawn_problem(task: Task, seed: int, d: int, replicate: int, test_size: int) -> Problem:
    """A problem with the points that were drawn already; the session forgets them at the end of a run."""
    return task.problem(seed, d, replicate, test_size)
