"""Every hook of bfc_bench. A plugin implements any of them with ``bfc_bench.hookimpl``.

``bfc_register`` is called once, when plugins are loaded. The others are events of a run, called in the session's
process as they happen, in pluggy's order. An exception in a hook is reported once with the plugin's name and does not
end the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bfc_bench.utils.hook_markers import hookspec

if TYPE_CHECKING:
    from bfc_bench.plugins.register import Register
    from bfc_bench.store.row import Row


@hookspec
def bfc_register(register: Register) -> None:
    """Pass each part of the plugin to ``register``, for example ``register.learner(MyLearner)``."""


@hookspec
def bfc_run_started(session: Any) -> None:
    """A run has started; ``session`` is its ``bfc_bench.Session``."""


@hookspec
def bfc_result(result: Row) -> None:
    """A cell has ended with any status, and its row is in the store."""


@hookspec
def bfc_reported(suite: Any) -> str | None:
    """``bfc-bench run`` has written the report of a ``bfc_bench.StoredSuite``, into ``suite.directory``. A text that
    this returns is a command, without its options, that shows the results too; ``run`` advises it.

    Provisional since 0.1.0: may change in a minor release.
    """


@hookspec
def bfc_run_interrupted(session: Any) -> None:
    """Ctrl-C or SIGTERM has interrupted the run: what ``session.running()`` names is about to be stopped.

    Provisional since 0.1.0: may change in a minor release.
    """


@hookspec
def bfc_run_finished(session: Any) -> None:
    """The run has ended; ``session.interrupted`` says whether it was interrupted."""
