"""Registers the parts of the framework through the same hooks that other plugins use.

The built-in learners and suites are a separate plugin, the package ``bfc_plugins``.
"""

from __future__ import annotations

from collections.abc import Callable

from bfc_bench.analysis.claims import KINDS
from bfc_bench.analysis.claims.base import Claim
from bfc_bench.executors import EXECUTORS
from bfc_bench.executors.base import Executor
from bfc_bench.tasks.base import DataSet, Inputs, JointLaw, Labels, Target
from bfc_bench.tasks.data import DATA_SETS
from bfc_bench.tasks.inputs import INPUTS
from bfc_bench.tasks.labels import LABELS
from bfc_bench.tasks.laws import LAWS
from bfc_bench.tasks.metrics import METRICS, OF_PROBABILITIES, Metric
from bfc_bench.tasks.targets import TARGETS
from bfc_bench.utils.hook_markers import hookimpl


@hookimpl
def bfc_register_inputs(register: Callable[[type[Inputs]], None]) -> None:
    """Register every input law."""
    for inputs in INPUTS:
        register(inputs)


@hookimpl
def bfc_register_targets(register: Callable[[type[Target]], None]) -> None:
    """Register every target."""
    for target in TARGETS:
        register(target)


@hookimpl
def bfc_register_laws(register: Callable[[type[JointLaw]], None]) -> None:
    """Register every joint law."""
    for law in LAWS:
        register(law)


@hookimpl
def bfc_register_labels(register: Callable[[type[Labels]], None]) -> None:
    """Register every labelling."""
    for labels in LABELS:
        register(labels)


@hookimpl
def bfc_register_data(register: Callable[[type[DataSet]], None]) -> None:
    """Register every data set."""
    for data in DATA_SETS:
        register(data)


@hookimpl
def bfc_register_metrics(register: Callable[[Metric], None]) -> None:
    """Register the metrics that have a column of their own and the metrics of probabilities."""
    for metric in (*METRICS, *OF_PROBABILITIES):
        register(metric)


@hookimpl
def bfc_register_claims(register: Callable[[type[Claim]], None]) -> None:
    """Register every kind of claim."""
    for kind in KINDS.values():
        register(kind)


@hookimpl
def bfc_register_executors(register: Callable[[type[Executor]], None]) -> None:
    """Register every executor."""
    for executor in EXECUTORS:
        register(executor)
