"""Registers the learners and suites that ship with bfc_bench, through the same hooks as any other plugin."""

from collections.abc import Callable
from pathlib import Path

import bfc_suites
from bfc_plugins import (
    algorithm_1,
    convolutional,
    hierarchies,
    index_models,
    kernels,
    networks,
    power_laws,
    quadratic,
    quadratic_taylor,
    tangents,
)
from bfc_plugins.sklearn_estimator import SklearnEstimator

from bfc_bench import Learner, hookimpl

FAMILIES = (
    algorithm_1,
    convolutional,
    hierarchies,
    index_models,
    kernels,
    networks,
    power_laws,
    quadratic,
    quadratic_taylor,
    tangents,
)


@hookimpl
def bfc_register_learners(register: Callable[[type[Learner]], None]) -> None:
    """Register every learner of every family."""
    for learner in (*(learner for family in FAMILIES for learner in family.LEARNERS), SklearnEstimator):
        register(learner)


@hookimpl
def bfc_register_suites(register: Callable[[str, Path], None]) -> None:
    """Register every suite file by its stem."""
    folder = next(Path(folder) for folder in bfc_suites.__path__ if Path(folder).is_dir())
    for path in sorted(folder.glob("*.toml")):
        register(path.stem, path)
