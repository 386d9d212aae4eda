"""Laws of a suite file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bfc_bench.plugins import Plugins, load_plugins
from bfc_bench.run.grid import Grid, resolve
from bfc_bench.suite.model import Suite, read_suite
from bfc_bench.testing.exceptions import require, skip
from bfc_bench.testing.requirement import law


@dataclass
class SuiteTrial:
    """A suite file on trial."""

    path: Path

    @cached_property
    def suite(self) -> Suite:
        """What the file says."""
        return read_suite(self.path)

    @cached_property
    def plugins(self) -> Plugins:
        """What is installed."""
        return load_plugins()

    @cached_property
    def grid(self) -> Grid:
        """With everything looked up."""
        return resolve(self.suite, self.plugins, str(self.path))


@law()
def the_file_is_a_suite(trial: SuiteTrial) -> None:
    """Its keys are known and in range."""
    require(bool(trial.suite.task and trial.suite.learner), "a suite must have a task and a learner")


@law(the_file_is_a_suite)
def what_it_names_is_installed(trial: SuiteTrial) -> None:
    """Learners, inputs, targets, labels, data and claims, with their options."""
    require(bool(trial.grid.tasks), "there must be a task")


@law(what_it_names_is_installed)
def it_plans_cells(trial: SuiteTrial) -> None:
    """Every learner has some."""
    found = {cell.label for cell in trial.grid.cells()}
    idle = [entry.label for entry in trial.suite.learner if entry.label not in found]
    require(not idle, f"no cell is planned for {', '.join(idle)}")


@law(what_it_names_is_installed)
def claims_can_be_decided(trial: SuiteTrial) -> None:
    """There are replicates for an interval."""
    if not trial.suite.claim:
        skip("it makes no claim")
    require(trial.suite.replicates >= 3, f"claims need 3 replicates or more. Got {trial.suite.replicates}")
