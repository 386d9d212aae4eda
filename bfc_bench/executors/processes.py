"""Runs units in a pool of spawned processes with one thread each.

A unit that exceeds its time is killed with its worker; the death of a worker, whatever the cause, fails only the unit
that it was running. Workers are spawned, never forked, since JAX and CUDA do not survive a fork.
"""

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, TimeoutError
from functools import partial
from typing import Any

from bfc_bench.executors.base import Fault

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
"""Every numerical library reads its thread count from here when it is loaded."""
ENVIRONMENT = {**ONE_THREAD, "MALLOC_MMAP_THRESHOLD_": str(2**26), "MALLOC_TRIM_THRESHOLD_": str(2**26)}
"""Environment of a worker. GNU's C library keeps that much freed memory for the next arrays: fresh pages for every
array cost as much as what is computed in it."""


class ProcessExecutor:
    """Runs units in spawned processes with one thread each, and stops those that exceed their time."""

    enforces_limits = True

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def open(self, call: Callable[[Any], Any], prepare: Callable[[], object] | None = None) -> "ProcessPool":
        """A pool of ``jobs`` workers that apply ``call``; each runs ``prepare`` first."""
        return ProcessPool(call, self.jobs, prepare)


class ProcessPool:
    """An open pool of worker processes."""

    def __init__(self, call: Callable[[Any], Any], jobs: int, prepare: Callable[[], object] | None = None) -> None:
        import pebble

        self._call = call
        self._environment = {name: os.environ.get(name) for name in ENVIRONMENT}
        os.environ.update(ENVIRONMENT)
        if xla_flags := self._environment["XLA_FLAGS"]:
            os.environ["XLA_FLAGS"] = f"{xla_flags} {ONE_THREAD['XLA_FLAGS']}"
        self._pool = pebble.ProcessPool(
            max_workers=jobs,
            context=multiprocessing.get_context("spawn"),
            initializer=_start,
            initargs=(os.getpid(), prepare),
        )
        self._done: queue.SimpleQueue[tuple[int, float, Future[Any]]] = queue.SimpleQueue()
        self._pending = 0

    def submit(self, key: int, payload: Any, seconds: float) -> None:
        """Queue one unit; its worker is killed when it has run for ``seconds``."""
        self._pending += 1
        future = self._pool.schedule(self._call, args=(payload,), timeout=seconds)
        future.add_done_callback(partial(self._finished, key, seconds))

    def _finished(self, key: int, seconds: float, future: "Future[Any]") -> None:
        self._done.put((key, seconds, future))

    def outcomes(self) -> Iterator[tuple[int, Any | Fault]]:
        """(key, result or Fault) in the order in which units end."""
        while self._pending:
            try:
                key, seconds, future = self._done.get(timeout=1.0)
            except queue.Empty:
                continue  # gives the main thread a chance to see Ctrl-C
            self._pending -= 1
            yield key, _outcome(future, seconds)

    def close(self, now: bool = False) -> None:
        """Wait for the workers to end; with ``now`` stop them first."""
        try:
            if now:
                self._pool.stop()
            else:
                self._pool.close()
            self._pool.join()
        finally:
            for name, value in self._environment.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


def _outcome(future: "Future[Any]", seconds: float) -> Any | Fault:
    from pebble import ProcessExpired

    try:
        return future.result()
    except TimeoutError:
        return Fault("timeout", f"did not return within {seconds:g} s and was stopped")
    except ProcessExpired as error:
        return Fault("killed", _death(error.exitcode))
    except CancelledError:
        return Fault("killed", "cancelled")
    except Exception as error:
        return Fault("raised", f"{type(error).__name__}: {error}", traceback.format_exc())


def _death(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        name = signal.Signals(-exitcode).name
        hint = " (the system may have run out of memory)" if name == "SIGKILL" else ""
        return f"the worker process was ended by {name}{hint}"
    return f"the worker process ended itself with exit code {exitcode}"


def _start(parent: int, prepare: Callable[[], object] | None) -> None:
    """In a new worker: arrange its end with the session's, even if that is killed without a word; then prepare."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the session's to handle

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="end-with-parent").start()
    if prepare is not None:
        with contextlib.suppress(Exception):  # the first unit meets the same error and reports it
            prepare()
