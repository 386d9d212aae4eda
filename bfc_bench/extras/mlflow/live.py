"""Logs to MLflow while a run goes on, in a background thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from bfc_bench.extras.mlflow.client import connection, default_uri
from bfc_bench.extras.mlflow.sync_cache import is_current
from bfc_bench.store.row import Row
from bfc_bench.utils.hook_markers import hookimpl
from bfc_bench.utils.masking import masked

THREAD = "mlflow"
"""Name of the threads that log to MLflow during a run."""


class MlflowTracker:
    """A listener of runs that keeps MLflow seconds behind the store.

    The run never waits for a server that is down or hangs; it only gives one warning. The thread uses at most a
    twentieth of a core and ends at its first error; ``bfc-bench sync`` logs the rest. A run without work does not
    import MLflow if it is up to date.
    """

    def __init__(
        self,
        uri: str | None = None,
        *,
        warn: Callable[[str], None],
        git: str | None = None,
        interval: float = 5.0,
        patience: float = 60.0,
    ) -> None:
        """Create a tracker."""
        self._requested_uri = uri
        self._uri = ""
        self._suite = ""
        self._version = 0
        self._store_dir: Path | None = None
        self._warn = warn
        self._git = git
        self._interval = interval
        self._patience = patience
        self._rows: dict[str, Row] = {}
        self._changed = False
        """Whether rows were added since the last sync."""
        self._behind = True
        """Whether a complete sync may have something to log."""
        self._lock = threading.Lock()
        self._finished = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._warned = False

    @property
    def failed(self) -> bool:
        """Whether live logging has stopped because of an error of MLflow."""
        return self._error is not None

    @hookimpl
    def bfc_run_started(self, session: Any) -> None:
        """Start the thread with the rows of earlier runs, unless logging has failed before."""
        if self.failed:
            return
        self._finished = threading.Event()
        self._suite, self._version, self._store_dir = session.suite, session.version, session.store.directory
        self._uri = default_uri(session.store.directory, self._requested_uri)
        rows = session.store.rows(self._suite, self._version)
        self._rows = {row.cell: row for row in rows}
        self._behind = not is_current(session.store.directory, self._uri, self._suite, self._version, rows)
        # A daemon thread, because a request that hangs must not keep the process alive.
        self._thread = threading.Thread(target=self._sync_repeatedly, name=THREAD, daemon=True)
        self._thread.start()

    @hookimpl
    def bfc_result(self, result: Row) -> None:
        """Pass the row to the thread."""
        with self._lock:
            self._rows.pop(result.cell, None)
            self._rows[result.cell] = result  # moved to the end, as in the store
            self._changed = self._behind = True
        self._warn_once()

    @hookimpl
    def bfc_run_finished(self, session: Any) -> None:
        """Request the last sync and wait for it, at most ``patience`` seconds."""
        self._finished.set()
        self._await()

    @hookimpl
    def bfc_reported(self, suite: Any) -> str:
        """Log the report, for at most ``patience`` seconds, unless logging has failed before."""
        if not self.failed:
            self._log_report(suite)
        return "bfc-bench ui"

    def _log_report(self, suite: Any) -> None:
        def call() -> None:
            from bfc_bench.extras.mlflow.stored_suite import log_report_of

            try:
                log_report_of(suite, self._requested_uri)
            except Exception as error:
                self._error = error

        self._thread = threading.Thread(target=call, name=THREAD, daemon=True)
        self._thread.start()
        self._await()

    def _await(self) -> None:
        if self._thread is None:
            return
        self._thread.join(self._patience)
        if self._thread.is_alive() and self._error is None:
            self._error = TimeoutError(
                f"MLflow at {masked(self._uri)}: not up to date {self._patience:g} s after the end of the run"
            )
        self._warn_once()

    def _sync_repeatedly(self) -> None:
        pause = self._interval
        try:
            if self._behind:
                self._prepare()
            while not self._finished.wait(pause):
                started = time.monotonic()
                self._sync(complete=False)
                pause = max(self._interval, 20 * (time.monotonic() - started))
            self._sync(complete=True)
        except Exception as error:
            self._error = error

    def _prepare(self) -> None:
        """Import MLflow and create its database, which takes seconds, during the first cells."""
        import_module("bfc_bench.extras.mlflow.sync")
        with connection(self._uri):
            pass

    def _sync(self, complete: bool) -> None:
        from bfc_bench.extras.mlflow.sync import sync

        with self._lock:
            changed, self._changed = self._changed, False
            rows = list(self._rows.values())
        if changed or (complete and self._behind):
            sync(
                rows,
                self._uri,
                suite=self._suite,
                version=self._version,
                store_dir=self._store_dir,
                git=self._git,
                complete=complete,
            )

    def _warn_once(self) -> None:
        if self._error is not None and not self._warned:
            self._warned = True
            self._warn(
                f"{masked(str(self._error), self._uri)}. Live logging stops; results are safe in the store. "
                f"`bfc-bench sync {self._suite}` brings MLflow up to date."
            )
