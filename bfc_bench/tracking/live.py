"""Live logging to MLflow while a run goes on: a plugin whose events feed a background thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from bfc_bench.store.row import Row
from bfc_bench.tracking import THREAD
from bfc_bench.tracking.client import connection, default_uri
from bfc_bench.tracking.sync_cache import holds
from bfc_bench.utils.hook_markers import hookimpl
from bfc_bench.utils.masking import masked


class MlflowTracker:
    """Keeps MLflow at most seconds behind the store; a server that is down or hangs costs one warning and no time.

    A run without work that finds MLflow up to date does not even import it.

    The thread takes at most a twentieth of a core: it rests twenty times as long as it worked. After its first error it
    ends, and what is missing is left to ``bfc-bench sync``.
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
        """``uri`` None: ``MLFLOW_TRACKING_URI`` or the store's database. ``warn`` is called in the session's thread.

        ``interval`` is the shortest rest between two syncs, ``patience`` how long the end of the run waits for the
        last one, both in seconds.
        """
        self._given = uri
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
        """Whether rows came since the last sync."""
        self._behind = True
        """Whether MLflow may lack something that a complete sync would log."""
        self._lock = threading.Lock()
        self._finished = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._warned = False

    @property
    def failed(self) -> bool:
        """Whether live logging has stopped because MLflow could not be reached or refused."""
        return self._error is not None

    @hookimpl
    def bfc_run_started(self, session: Any) -> None:
        """Start from the rows of earlier runs; after a failure in one of them, not again."""
        if self.failed:
            return
        self._finished = threading.Event()
        self._suite, self._version, self._store_dir = session.suite, session.version, session.store.directory
        self._uri = default_uri(session.store.directory, self._given)
        rows = session.store.rows(self._suite, self._version)
        self._rows = {row.cell: row for row in rows}
        self._behind = not holds(session.store.directory, self._uri, self._suite, self._version, rows)
        # A daemon: a request that hangs must not keep the process alive.
        self._thread = threading.Thread(target=self._follow, name=THREAD, daemon=True)
        self._thread.start()

    @hookimpl
    def bfc_result(self, result: Row) -> None:
        """Hand the row to the thread."""
        with self._lock:
            self._rows.pop(result.cell, None)
            self._rows[result.cell] = result  # the last one, as in the store
            self._changed = self._behind = True
        self._report()

    @hookimpl
    def bfc_run_finished(self, session: Any) -> None:
        """Ask for the last sync and wait for it, within limits."""
        self._finished.set()
        self._await()

    def attempt(self, log: Callable[[], object]) -> None:
        """Log something more after the run, unless it has failed before, in no more time than the last sync has.

        Whatever MLflow does, the run is what it was.
        """
        if self.failed:
            return

        def call() -> None:
            try:
                log()
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
        self._report()

    def _follow(self) -> None:
        rest = self._interval
        try:
            if self._behind:
                self._prepare()
            while not self._finished.wait(rest):
                started = time.monotonic()
                self._sync(complete=False)
                rest = max(self._interval, 20 * (time.monotonic() - started))
            self._sync(complete=True)
        except Exception as error:
            self._error = error

    def _prepare(self) -> None:
        """Import MLflow and make its database, which takes seconds, while the first cells are computed."""
        import_module("bfc_bench.tracking.sync")
        with connection(self._uri):
            pass

    def _sync(self, complete: bool) -> None:
        from bfc_bench.tracking.sync import sync

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

    def _report(self) -> None:
        if self._error is not None and not self._warned:
            self._warned = True
            self._warn(
                f"{masked(str(self._error), self._uri)}. Live logging stops; results are safe in the store. "
                f"`bfc-bench sync {self._suite}` brings MLflow up to date."
            )
