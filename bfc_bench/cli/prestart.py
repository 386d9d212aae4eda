"""Prepares what the end of a run needs while its workers are busy."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from bfc_bench.run.session import Session
from bfc_bench.utils.hook_markers import hookimpl

AT_THE_END = ("bfc_bench.report.html", "bfc_bench.cli.summary")
OF_REPLICATES = ("scipy.special", "scipy.optimize")
"""What intervals over replicates need."""


class BackgroundImports:
    """A listener of a run that imports the modules of the report in a thread."""

    @hookimpl
    def bfc_run_started(self, session: Session) -> None:
        """Begin if the run has cells to compute."""
        if session.plan.todo:
            modules = AT_THE_END if session.plan.grid.suite.replicates == 1 else AT_THE_END + OF_REPLICATES
            threading.Thread(target=_prepare, args=[modules], daemon=True).start()


def _prepare(modules: Sequence[str]) -> None:
    with suppress(Exception):  # the report meets the same error and shows it
        for name in modules:
            import_module(name)
