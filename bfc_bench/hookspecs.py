"""Every hook of bfc_bench. A plugin implements any of them with ``bfc_bench.hookimpl``.

Hooks named ``bfc_register_...`` are called once, when the plugin manager is built, with a ``register`` callback. The
others are events of a run, called in the session's process as they happen. pluggy defines the order of plugins and hook
wrappers. An exception in a hook is reported once with the plugin's name and does not end the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfc_bench.utils.hook_markers import hookspec
from bfc_bench.utils.stability import provisional

if TYPE_CHECKING:
    from bfc_bench.analysis.claims.base import Claim
    from bfc_bench.executors.base import Executor
    from bfc_bench.store.row import Row
    from bfc_bench.tasks.base import DataSet, Inputs, JointLaw, Labels, Target
    from bfc_bench.tasks.metrics import Metric


@hookspec
def bfc_register_learners(register: Callable[..., None]) -> None:
    """Call ``register(MyLearner)`` for each learner class; suites refer to it by its ``name``.

    ``register("my_package.mine:MyLearner", "my-learner")`` imports the class only when a suite names it.
    """


@hookspec
def bfc_register_inputs(register: Callable[[type[Inputs]], None]) -> None:
    """Call ``register(MyInputs)`` for each input distribution; suites say ``inputs = { kind = "<its kind>", ... }``."""


@hookspec
def bfc_register_targets(register: Callable[[type[Target]], None]) -> None:
    """Call ``register(MyTarget)`` for each target; suites say ``target = { kind = "<its kind>", ... }``."""


@hookspec
def bfc_register_laws(register: Callable[[type[JointLaw]], None]) -> None:
    """Call ``register(MyLaw)`` for each joint law of (x, y); suites say ``law = { kind = "<its kind>", ... }``."""


@hookspec
def bfc_register_labels(register: Callable[[type[Labels]], None]) -> None:
    """Call ``register(MyLabels)`` for each way of labelling; suites say ``labels = { kind = "<its kind>", ... }``."""


@hookspec
def bfc_register_data(register: Callable[[type[DataSet]], None]) -> None:
    """Call ``register(MyData)`` for each kind of data set; suites say ``data = { kind = "<its kind>", ... }``."""


@hookspec
def bfc_register_metrics(register: Callable[[Metric], None]) -> None:
    """Call ``register(Metric("name", measure))`` for each metric; claims and curves call its value ``metrics.name``."""


@hookspec
def bfc_register_claims(register: Callable[[type[Claim]], None]) -> None:
    """Call ``register(MyClaim)`` for each kind of claim; suites say ``[[claim]] kind = "<its kind>"``."""


@hookspec
def bfc_register_suites(register: Callable[[str, Path], None]) -> None:
    """Call ``register(name, path)`` for each suite file, so that ``bfc-bench run NAME`` finds it."""


@hookspec
@provisional("0.1.0")
def bfc_register_executors(register: Callable[[type[Executor]], None]) -> None:
    """Call ``register(MyExecutor)`` for each executor class; ``--executor`` and suites refer to it by its ``name``."""


@hookspec
@provisional("0.1.0")
def bfc_register_plots(register: Callable[[str, Callable[[Sequence[Row]], Mapping[str, Any]]], None]) -> None:
    """Call ``register(name, plot)`` for each plot; ``plot(rows)`` returns ``{file stem: chart}``."""


@hookspec
@provisional("0.1.0")
def bfc_register_verbs(register: Callable[[str, Callable[..., Any] | str], None]) -> None:
    """Call ``register(name, command)`` for each verb of ``bfc-bench``; ``command`` is a function for Typer, whose
    annotated parameters are the arguments and options, a ``typer.Typer`` with several of them, or the text
    ``"package.module:name"``: then the module is imported only when the verb is called."""


@hookspec
@provisional("0.1.0")
def bfc_register_listeners(register: Callable[[str, Callable[..., object | None] | str], None]) -> None:
    """Call ``register(name, make)`` for each listener of ``bfc-bench run``. ``make`` returns an object whose hooks are
    events of the run, or None. Its annotated parameters, as those of a verb, become options of ``run``. The text
    ``"package.module:make"`` stands for a function that is imported only when a run starts."""


@hookspec
def bfc_run_started(session: Any) -> None:
    """A run has started; ``session`` is its ``bfc_bench.Session``."""


@hookspec
def bfc_result(result: Row) -> None:
    """A cell has ended with any status, and its row is in the store."""


@hookspec
@provisional("0.1.0")
def bfc_reported(suite: Any) -> str | None:
    """``bfc-bench run`` has written the report of a ``bfc_bench.StoredSuite``, into ``suite.directory``. A text that
    this returns is a command, without its options, that shows the results too; ``run`` advises it."""


@hookspec
def bfc_run_finished(session: Any) -> None:
    """The run has ended; ``session.interrupted`` says whether it was interrupted."""
