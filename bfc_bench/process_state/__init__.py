"""Detects and restores changes of global state that a learner leaves in its process.

Compared before and after a fit are settings (``settings.py``: Python, NumPy, torch, JAX), functions (``functions.py``:
of these libraries and of this package's metrics), and threads, child processes and timers
(``threads_and_children.py``). ``run`` compares them around cells that are fitted together, the conformance kit around
a fit.

Only state is compared that can change the numbers of other learners, or end or hang later cells. Ignored are: global
random generators, which nothing reads; ``atexit``, since a worker that does not end is killed; umask, locale, decimal
context and print options; and what importing a library changes, such as ``sys.meta_path``, new names in modules,
filters that silence a warning, and most environment variables.

Libraries are compared once they are loaded, and never imported here. A library that was loaded since the snapshot is
compared with its settings at import; its functions are taken as they are.
"""

from functools import cache

from bfc_bench.process_state.functions import GlobalFunctions
from bfc_bench.process_state.settings import GlobalSetting, GlobalSettings
from bfc_bench.process_state.threads_and_children import ThreadsAndChildren

__all__ = ["GlobalFunctions", "GlobalSetting", "GlobalSettings", "ProcessState", "ThreadsAndChildren", "process_state"]


class ProcessState:
    """The state of this process at the last ``snapshot``."""

    def __init__(self) -> None:
        self._parts = (GlobalSettings(), GlobalFunctions(), ThreadsAndChildren())

    def snapshot(self) -> None:
        """Record the present state."""
        for part in self._parts:
            part.snapshot()

    def track_new(self) -> None:
        """Also record libraries that were loaded since the snapshot."""
        for part in self._parts:
            part.track_new()

    def restore(self) -> list[str]:
        """Restore what has changed, where possible. Returns a description of each change."""
        return [change for part in self._parts for change in part.restore()]


@cache
def process_state() -> ProcessState:
    """The one instance of this process."""
    return ProcessState()
