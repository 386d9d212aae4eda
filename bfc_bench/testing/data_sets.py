"""Requirements of a data set."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from tempfile import TemporaryDirectory

import numpy as np

from bfc_bench.tasks.base import DataSet, DataSetContents
from bfc_bench.tasks.data_task import DataTask
from bfc_bench.tasks.labels.clean import Clean
from bfc_bench.tasks.load_data import digest_of, read
from bfc_bench.testing.global_state import preserved
from bfc_bench.testing.requirement import require, requirement, skip


@dataclass
class DataTrial:
    """A tested data set."""

    data: DataSet

    @cached_property
    def contents(self) -> DataSetContents:
        """Its contents, read once."""
        return self.read()

    def read(self, seed: int = 0) -> DataSetContents:
        """Its contents, read again with the global generators at ``seed``."""
        with preserved(seed):
            return read(self.data, type(self.data).__name__)


@requirement()
def what_it_needs_is_there(trial: DataTrial) -> None:
    """``missing_files()`` is None: files and libraries are there."""
    if (missing := trial.data.missing_files()) is not None:
        skip(missing)


@requirement(what_it_needs_is_there)
def contents_can_be_learned_from(trial: DataTrial) -> None:
    """``load`` gives x (N, d) and y (N,), finite; y holds class numbers if the classes have names."""
    contents = trial.contents
    named, d = len(contents.columns), contents.points.x.shape[1]
    require(named in (0, d), f"columns must name all {d} columns, or none. Got {named}")


@requirement(contents_can_be_learned_from)
def contents_are_the_same_at_every_call(trial: DataTrial) -> None:
    """``load`` gives the same digest at each call, independent of the global generators. Cells record this digest."""
    digests = {digest_of(trial.read(seed)) for seed in (0, 1)}
    require(
        len(digests) == 1,
        "load gives other contents when it is called again; fix its seeds and its order",
    )


@requirement(contents_can_be_learned_from)
def contents_do_not_depend_on_the_working_directory(trial: DataTrial) -> None:
    """Workers may have another working directory, so ``load`` uses the paths that the suite made absolute."""
    paths = [value for name, value in trial.data.plain().items() if DataSet.is_path(name) and value]
    if any(not os.path.isabs(str(path)) for path in paths):
        skip("its path is relative; a suite makes it absolute")
    here = os.getcwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            elsewhere = digest_of(trial.read())
        finally:
            os.chdir(here)
    require(elsewhere == digest_of(trial.contents), "load gives other contents in another working directory")


@requirement(contents_can_be_learned_from)
def samples_can_be_drawn(trial: DataTrial) -> None:
    """A task on it has training points, and a smaller sample is a prefix of a larger one."""
    task = DataTask("check", trial.data, Clean(), 0, "", None, digest_of(trial.contents))
    size = len(trial.contents.points) // 2
    problem = task.problem(0, task.dimension, 0, 100)
    large, small = problem.train(size), problem.train(max(1, size // 2))
    require(large.x.shape == (size, task.dimension), f"a sample of {size} points has shape {large.x.shape}")
    if trial.data.standardize is not True and trial.contents.table is None:
        require(np.array_equal(large.x[: small.n], small.x), "a smaller sample is no prefix of a larger one")
