"""What a run needs at its end is loaded while its workers are busy."""

from __future__ import annotations

import threading
from importlib import import_module

from bfc_bench.run.session import Session
from bfc_bench.utils.hook_markers import hookimpl

AT_THE_END = ("bfc_bench.report.html", "bfc_bench.cli.summary", "scipy.special", "pyarrow.parquet", "pandas")
"""The last because pyarrow asks whether what it is given is of pandas."""


class BackgroundImports:
    """A listener to a run that loads what draws the report, in a thread, while others do the run's work."""

    @hookimpl
    def bfc_run_started(self, session: Session) -> None:
        """Load it if there is something to wait for."""
        if session.plan.todo:
            threading.Thread(target=lambda: [import_module(name) for name in AT_THE_END], daemon=True).start()
