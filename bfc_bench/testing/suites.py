"""Requirements of a suite file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bfc_bench.plugins import load_plugins
from bfc_bench.run.grid import Grid, resolve
from bfc_bench.suite.model import Suite, read_suite
from bfc_bench.testing.requirement import require, requirement, skip


@dataclass
class SuiteTrial:
    """A tested suite file."""

    path: Path

    @cached_property
    def suite(self) -> Suite:
        """The suite as it is written in the file."""
        return read_suite(self.path)

    @cached_property
    def grid(self) -> Grid:
        """The suite with every name resolved."""
        return resolve(self.suite, load_plugins(), str(self.path))


@requirement()
def the_file_is_a_suite(trial: SuiteTrial) -> None:
    """Its keys are known and their values are in range."""
    require(bool(trial.suite.task and trial.suite.learner), "a suite must have a task and a learner")


@requirement(the_file_is_a_suite)
def what_it_names_is_installed(trial: SuiteTrial) -> None:
    """Learners, inputs, targets, labels, data and claims exist, and their options are valid."""
    require(bool(trial.grid.tasks), "there must be a task")


@requirement(what_it_names_is_installed)
def it_plans_cells(trial: SuiteTrial) -> None:
    """Every learner has at least one cell."""
    planned = {cell.label for cell in trial.grid.cells()}
    idle = [entry.label for entry in trial.suite.learner if entry.label not in planned]
    require(not idle, f"no cell is planned for {', '.join(idle)}")


@requirement(what_it_names_is_installed)
def claims_can_be_decided(trial: SuiteTrial) -> None:
    """There are enough replicates for an interval."""
    if not trial.suite.claim:
        skip("it makes no claim")
    require(trial.suite.replicates >= 3, f"claims need 3 replicates or more. Got {trial.suite.replicates}")
