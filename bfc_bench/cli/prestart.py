"""Prepares what the end of a run needs while its workers are busy."""

from __future__ import annotations

import threading
from contextlib import suppress
from importlib import import_module

from bfc_bench.run.session import Session
from bfc_bench.utils.hook_markers import hookimpl

AT_THE_END = ("bfc_bench.report.html", "bfc_bench.cli.summary", "scipy.special", "pyarrow.parquet", "pandas")
"""pandas because pyarrow checks whether its inputs are pandas objects."""


class BackgroundImports:
    """A listener of a run that imports the modules of the report in a thread."""

    @hookimpl
    def bfc_run_started(self, session: Session) -> None:
        """Begin if the run has cells to compute."""
        if session.plan.todo:
            threading.Thread(target=_prepare, daemon=True).start()


def _prepare() -> None:
    with suppress(Exception):  # the report meets the same error and shows it
        for name in AT_THE_END:
            import_module(name)
