"""Every hook of bfc_bench. A plugin implements any of them with ``bfc_bench.hookimpl``.

Those named ``bfc_register_...`` are called once, when the plugin manager is built, and hand the plugin a ``register``
callback. The events are called in the session's process, in the order in which things happen. Order of plugins and hook
wrappers are pluggy's; an exception is reported once with the plugin's name and stops nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bfc_bench.learner import Learner
from bfc_bench.utils.hook_markers import hookspec
from bfc_bench.utils.stability import provisional

if TYPE_CHECKING:
    from bfc_bench.analysis.claims.base import Claim
    from bfc_bench.executors.base import Executor
    from bfc_bench.store.row import Row
    from bfc_bench.store.store import Store
    from bfc_bench.tasks.base import DataSet, Inputs, Labels, Target
    from bfc_bench.tasks.metrics import Metric


class RunSession(Protocol):
    """What the events of a run are told about it; ``bfc_bench.Session`` has more."""

    id: str
    suite: str
    version: int
    store: Store
    """Open for writing; ``store.directory`` is its folder."""
    provenance: dict[str, Any]
    """Versions, machine, precision and command line."""
    warnings: list[str]
    interrupted: bool
    statuses: Counter[str]
    """Rows of this run by status."""


@hookspec
def bfc_register_learners(register: Callable[[type[Learner]], None]) -> None:
    """Call ``register(MyLearner)`` for each learner class; its ``name`` is how suites refer to it."""


@hookspec
def bfc_register_inputs(register: Callable[[type[Inputs]], None]) -> None:
    """Call ``register(MyInputs)`` for each input distribution; suites say ``inputs = { kind = "<its kind>", ... }``."""


@hookspec
def bfc_register_targets(register: Callable[[type[Target]], None]) -> None:
    """Call ``register(MyTarget)`` for each target; suites say ``target = { kind = "<its kind>", ... }``."""


@hookspec
def bfc_register_labels(register: Callable[[type[Labels]], None]) -> None:
    """Call ``register(MyLabels)`` for each way of labelling; suites say ``labels = { kind = "<its kind>", ... }``."""


@hookspec
def bfc_register_data(register: Callable[[type[DataSet]], None]) -> None:
    """Call ``register(MyData)`` for each kind of data set; suites say ``data = { kind = "<its kind>", ... }``."""


@hookspec
def bfc_register_metrics(register: Callable[[Metric], None]) -> None:
    """Call ``register(Metric("name", measure))``; rows have its value, claims and curves call it ``metrics.name``."""


@hookspec
def bfc_register_claims(register: Callable[[type[Claim]], None]) -> None:
    """Call ``register(MyClaim)`` for each kind of claim; suites say ``[[claim]] kind = "<its kind>"``."""


@hookspec
def bfc_register_suites(register: Callable[[str, Path], None]) -> None:
    """Call ``register(name, path)`` for each suite file, so that ``bfc-bench run NAME`` finds it."""


@hookspec
@provisional("0.1.0")
def bfc_register_executors(register: Callable[[type[Executor]], None]) -> None:
    """Call ``register(MyExecutor)`` for each executor class; ``--executor`` and suites call it by its ``name``."""


@hookspec
@provisional("0.1.0")
def bfc_register_plots(register: Callable[[str, Callable[[Sequence[Row]], Mapping[str, Any]]], None]) -> None:
    """Call ``register(name, plot)``; ``plot(rows)`` gives ``{file stem: matplotlib figure}`` for the report."""


@hookspec
@provisional("0.1.0")
def bfc_register_verbs(register: Callable[[str, Callable[..., Any]], None]) -> None:
    """Call ``register(name, command)`` for each verb of ``bfc-bench``. ``command`` is a function whose annotated
    parameters are its arguments and options, as Typer reads them."""


@hookspec
def bfc_run_started(session: RunSession) -> None:
    """A run begins."""


@hookspec
def bfc_result(result: Row) -> None:
    """A cell has ended, whatever its status, and its row is committed to the store."""


@hookspec
def bfc_run_finished(session: RunSession) -> None:
    """The run has ended; ``session.interrupted`` says whether it was cut short."""
