"""What a learner could leave behind in its process so that the numbers of others were wrong, or they failed.

Compared before and after a learner is settings (``settings.py``: of Python, NumPy, torch and JAX), functions
(``functions.py``: of the same, and those that measure) and what runs (``running.py``: threads, processes, timers). What
differs is put back where it can be, and named. ``run`` looks at all of it around what is fitted together, the
conformance kit around a fit, so that the kit finds before a run what the run would find.

Watched is what can alter other learners' numbers, or end or hang what comes after. Left out is what cannot: states of
global random generators, since streams are keyed and nothing reads those; ``atexit``, since a worker that does not end
is killed; umask, locale, decimal context, print options; and what importing a library changes by itself, such as
``sys.meta_path``, new names in modules, filters that silence a warning, and most variables of the environment.

Libraries are looked at once they are loaded, and never imported. One that comes between two looks is compared with the
settings that it has when it is imported; its functions are taken as they are.
"""

from functools import cache

from bfc_bench.process_state.functions import GlobalFunctions
from bfc_bench.process_state.settings import GlobalSetting, GlobalSettings
from bfc_bench.process_state.threads_and_children import ThreadsAndChildren

__all__ = ["GlobalFunctions", "GlobalSetting", "GlobalSettings", "ProcessState", "ThreadsAndChildren", "process_state"]


class ProcessState:
    """How a process was when this was made, or when ``snapshot`` was last called."""

    def __init__(self) -> None:
        self._parts = (GlobalSettings(), GlobalFunctions(), ThreadsAndChildren())

    def snapshot(self) -> None:
        """Take what is now for what shall be."""
        for part in self._parts:
            part.snapshot()

    def track_new(self) -> None:
        """Look at libraries that have been loaded since, too, and take them as they are."""
        for part in self._parts:
            part.track_new()

    def restore(self) -> list[str]:
        """What is no longer as it was, each named; it is as it was after that, where it can be."""
        return [what for part in self._parts for what in part.restore()]


@cache
def process_state() -> ProcessState:
    """Those of this process."""
    return ProcessState()
