"""Logs to MLflow while a run goes on, in a background thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bfc_bench.extras.mlflow.client import default_uri
from bfc_bench.store.row import Row
from bfc_bench.utils.hook_markers import hookimpl
from bfc_bench.utils.masking import masked

if TYPE_CHECKING:
    from bfc_bench.run.session import Session

THREAD = "mlflow"
"""Name of the threads that log to MLflow during a run."""
INTERVAL = 5.0
"""Seconds from one sync to the next, at least."""
PATIENCE = 60.0
"""Seconds that the end of a run waits for MLflow."""


class MlflowTracker:
    """A listener of runs that keeps MLflow seconds behind the store.

    The run never waits for a server that is down or hangs; it only gives one warning. The thread uses at most a
    twentieth of a core and ends at its first error; ``bfc-bench sync`` logs the rest. A run without new rows does not
    import MLflow.
    """

    def __init__(self, uri: str | None = None, *, warn: Callable[[str], None]) -> None:
        self._requested_uri = uri
        self._warn = warn
        self._rows: list[Row] = []
        """Rows of earlier runs, then those of this one."""
        self.error: Exception | None = None
        """The error of MLflow that has stopped live logging."""

    @hookimpl
    def bfc_run_started(self, session: Session) -> None:
        """Note which run it is; a command may have several, one after the other."""
        self._session = session
        self._uri = default_uri(session.store.directory, self._requested_uri)
        self._finished = threading.Event()
        self._thread: threading.Thread | None = None

    @hookimpl
    def bfc_result(self, result: Row) -> None:
        """Pass the row to the thread, which the first row starts, unless logging has failed before."""
        session = self._session
        if self._thread is not None:
            self._rows.append(result)
        elif self.error is None:
            self._rows = list(session.store.rows(session.suite, session.version))
            self._start(self._follow)

    @hookimpl
    def bfc_run_finished(self, session: Session) -> None:
        """Request the last sync and wait for it, at most ``PATIENCE`` seconds."""
        self._finished.set()
        self._wait()

    @hookimpl
    def bfc_reported(self, suite: Any) -> str:
        """Log the rest if there are new rows: the report, N*, exponents, theories and views."""
        from bfc_bench.extras.mlflow.sync import sync_suite

        if self._rows and self.error is None:
            self._start(lambda: sync_suite(suite, self._requested_uri))
            self._wait()
        return "bfc-bench ui"

    def _follow(self) -> None:
        """Log rows until the run has finished and all are logged."""
        from bfc_bench.extras.mlflow.sync import sync

        logged, pause, finished = 0, 0.0, False
        while not finished:
            finished = self._finished.wait(pause)
            started, rows = time.monotonic(), list(self._rows)
            if len(rows) > logged:
                sync(rows, self._uri, self._session.store.directory, complete=False)
            logged, pause = len(rows), max(INTERVAL, 20 * (time.monotonic() - started))

    def _start(self, work: Callable[[], object]) -> None:
        def guarded() -> None:
            try:
                work()
            except Exception as error:
                self._stop(error)

        # A daemon thread, because a request that hangs must not keep the process alive.
        self._thread = threading.Thread(target=guarded, name=THREAD, daemon=True)
        self._thread.start()

    def _wait(self) -> None:
        if self._thread is None:
            return
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            late = f"not up to date {PATIENCE:g} s after the end of the run"
            self._stop(TimeoutError(f"MLflow at {masked(self._uri)}: {late}"))

    def _stop(self, error: Exception) -> None:
        """End logging, with a warning for the first error."""
        if self.error is None:
            self.error = error
            self._warn(
                f"{masked(str(error), self._uri)}. Live logging stops; results are safe in the store. "
                f"`bfc-bench sync {self._session.suite}` brings MLflow up to date."
            )
