"""Sample-complexity benchmarks for hierarchical learning."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bfc_bench.analysis.claims import Claim, PointClaim, Verdict
    from bfc_bench.api import (
        as_sklearn,
        judge_claims,
        load_learner,
        load_suite,
        read_results,
        run_suite,
        run_until_decided,
    )
    from bfc_bench.errors import BenchError, Diverged, PluginError, StoreError, UsageError
    from bfc_bench.executors.base import Executor, Pool, Resources, UnitFailure
    from bfc_bench.learner import (
        BatchLearner,
        Capabilities,
        Context,
        Cost,
        Data,
        DataSpec,
        Failure,
        Job,
        Learner,
        Predictor,
        TaskFacts,
        Theory,
    )
    from bfc_bench.plugins import load_plugins
    from bfc_bench.store.row import Row
    from bfc_bench.stored_suite import StoredSuite, open_store
    from bfc_bench.suite.model import LearnerEntry, Suite, TaskEntry
    from bfc_bench.tasks.base import (
        DataSet,
        DataSetContents,
        InputLaw,
        Inputs,
        LabelledPoints,
        Labelling,
        Labels,
        Target,
        Teacher,
    )
    from bfc_bench.tasks.metrics import Metric, TargetValues
    from bfc_bench.utils.hook_markers import hookimpl

_HOMES = {
    "bfc_bench.analysis.claims": ("Claim", "PointClaim", "Verdict"),
    "bfc_bench.api": (
        *("as_sklearn", "judge_claims", "load_learner", "load_suite"),
        *("read_results", "run_suite", "run_until_decided"),
    ),
    "bfc_bench.errors": ("BenchError", "Diverged", "PluginError", "StoreError", "UsageError"),
    "bfc_bench.executors.base": ("Executor", "UnitFailure", "Resources", "Pool"),
    "bfc_bench.learner": (
        *("BatchLearner", "Capabilities", "Context", "Cost", "Data", "Failure"),
        *("Job", "Learner", "DataSpec", "Predictor", "TaskFacts", "Theory"),
    ),
    "bfc_bench.utils.hook_markers": ("hookimpl",),
    "bfc_bench.plugins": ("load_plugins",),
    "bfc_bench.store.row": ("Row",),
    "bfc_bench.stored_suite": ("StoredSuite", "open_store"),
    "bfc_bench.suite.model": ("LearnerEntry", "Suite", "TaskEntry"),
    "bfc_bench.tasks.base": (
        *("DataSetContents", "DataSet", "Inputs", "Labels", "InputLaw"),
        *("LabelledPoints", "Labelling", "Target", "Teacher"),
    ),
    "bfc_bench.tasks.metrics": ("Metric", "TargetValues"),
}

__all__ = [
    "BatchLearner",
    "BenchError",
    "Capabilities",
    "Claim",
    "Context",
    "Cost",
    "Data",
    "DataSet",
    "DataSetContents",
    "DataSpec",
    "Diverged",
    "Executor",
    "Failure",
    "InputLaw",
    "Inputs",
    "Job",
    "LabelledPoints",
    "Labelling",
    "Labels",
    "Learner",
    "LearnerEntry",
    "Metric",
    "PluginError",
    "PointClaim",
    "Pool",
    "Predictor",
    "Resources",
    "Row",
    "StoreError",
    "StoredSuite",
    "Suite",
    "Target",
    "TargetValues",
    "TaskEntry",
    "TaskFacts",
    "Teacher",
    "Theory",
    "UnitFailure",
    "UsageError",
    "Verdict",
    "as_sklearn",
    "hookimpl",
    "judge_claims",
    "load_learner",
    "load_plugins",
    "load_suite",
    "open_store",
    "read_results",
    "run_suite",
    "run_until_decided",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import bfc_bench`` and ``--help`` stay fast."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'bfc_bench' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What tools that complete names see."""
    return sorted({*globals(), *__all__})
