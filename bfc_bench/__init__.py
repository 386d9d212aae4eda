"""Sample-complexity benchmarks for hierarchical learning."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bfc_bench.api import (
        as_sklearn,
        judge_claims,
        load_learner,
        load_suite,
        open_store,
        read_results,
        run_suite,
    )
    from bfc_bench.errors import BenchError, Diverged, PluginError, StoreError, UsageError
    from bfc_bench.learner import (
        BatchLearner,
        Capabilities,
        Context,
        Cost,
        Data,
        Failure,
        Job,
        Learner,
        Outline,
        Predictor,
        TaskFacts,
    )
    from bfc_bench.markers import hookimpl

_HOMES = {
    "bfc_bench.api": (
        *("as_sklearn", "judge_claims", "load_learner", "load_suite", "open_store", "read_results", "run_suite"),
    ),
    "bfc_bench.errors": ("BenchError", "Diverged", "PluginError", "StoreError", "UsageError"),
    "bfc_bench.learner": (
        *("BatchLearner", "Capabilities", "Context", "Cost", "Data", "Failure"),
        *("Job", "Learner", "Outline", "Predictor", "TaskFacts"),
    ),
    "bfc_bench.markers": ("hookimpl",),
}

__all__ = [
    "BatchLearner",
    "BenchError",
    "Capabilities",
    "Context",
    "Cost",
    "Data",
    "Diverged",
    "Failure",
    "Job",
    "Learner",
    "Outline",
    "PluginError",
    "Predictor",
    "StoreError",
    "TaskFacts",
    "UsageError",
    "as_sklearn",
    "hookimpl",
    "judge_claims",
    "load_learner",
    "load_suite",
    "open_store",
    "read_results",
    "run_suite",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import bfc_bench`` and ``--help`` stay fast."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'bfc_bench' has no attribute {name!r}")
