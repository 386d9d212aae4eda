"""What travels to a worker (plain settings) and what the worker builds from it (data, where they are used)."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from bfc_bench.learner import Array, Context, Data, Learner
from bfc_bench.plugins import Plugins, load_plugins
from bfc_bench.run.resolve import Cell
from bfc_bench.seeds import seed_of
from bfc_bench.tasks.task import Problem, Task, build_task
from bfc_bench.toolkit.arrays import convert

TRAIN_POINTS = 2000
"""Training points on which ``train_nmse`` is measured, the first of the sample."""


@dataclass(frozen=True)
class Common:
    """What all cells of a run share."""

    suite: str
    version: int
    seed: int
    test_size: int
    device: str
    cell_seconds: float
    memory_bytes: int
    release: str
    """Version of bfc-bench."""
    provenance: str


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

    common: Common
    tasks: Mapping[str, str]
    """Task definitions by name, as JSON."""
    learners: Mapping[str, LearnerSpec]
    """By label."""
    cells: tuple[Cell, ...]

    def seed(self, cell: Cell) -> int:
        """The learner's seed for a cell: one per (task, d, replicate), so that learners and sizes are paired."""
        return seed_of(self.common.seed, cell.task, cell.d, cell.replicate, "learner")


@dataclass(frozen=True)
class Work:
    """One cell with its problem and its learner, built in the worker."""

    batch: Batch
    cell: Cell
    problem: Problem
    learner: Learner
    candidates: tuple[Learner, ...]

    @classmethod
    def prepare(cls, batch: Batch, cell: Cell) -> Work:
        """Build from plain data, or take from what this worker has built before."""
        common, spec = batch.common, batch.learners[cell.label]
        problem = _problem(batch.tasks[cell.task], common.seed, cell.d, cell.replicate, common.test_size)
        candidates = tuple(_learner(spec.name, options) for options in spec.candidates)
        return cls(batch, cell, problem, _learner(spec.name, spec.options), candidates)

    def context(self, learner: Learner) -> Context:
        """What the learner may know besides its training points."""
        common, unlabeled = self.batch.common, self.problem.unlabeled
        return Context(
            seed=self.batch.seed(self.cell),
            device=common.device,
            square_mean=self.problem.square_mean,
            unlabeled=None if unlabeled is None else self.convert(unlabeled),
            margin_column=self.problem.task.labels.margin_column,
            oracle=self.problem.facts(learner.oracle()),
            seconds=common.cell_seconds,
            memory_bytes=common.memory_bytes,
        )

    def convert(self, x: np.ndarray) -> Array:
        """``x`` as the array kind and on the device that the learner wants."""
        return convert(x, self.learner.capabilities.arrays[0], self.batch.common.device)

    @cached_property
    def train(self) -> Data:
        """The n training points, as NumPy arrays."""
        return self.problem.train(self.cell.n)

    def converted(self, data: Data) -> Data:
        """A training set as the learner wants it."""
        return replace(data, x=self.convert(data.x), y=self.convert(data.y))


def warm_up(device: str) -> None:
    """In a new worker: find the plugins, so that the first cell's time is its own."""
    if device == "cpu" and multiprocessing.parent_process() is not None:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")  # JAX takes memory of a GPU that it sees, even to use the CPU
    _plugins()


@lru_cache(maxsize=1)
def _plugins() -> Plugins:
    return load_plugins()


@lru_cache(maxsize=256)
def _task(definition: str) -> Task:
    plugins = _plugins()
    return build_task(
        **json.loads(definition),
        known_inputs=plugins.inputs,
        known_targets=plugins.targets,
        known_labels=plugins.labels,
        where="suite",
    )


@lru_cache(maxsize=4)
def _problem(definition: str, seed: int, d: int, replicate: int, test_size: int) -> Problem:
    return _task(definition).problem(seed, d, replicate, test_size)


@lru_cache(maxsize=1024)
def _learner(name: str, options: str) -> Learner:
    return _plugins().learner(name).parse(json.loads(options), "suite")
