"""The loop of a worker process: reports that it is ready, runs a unit, sends the result, and repeats."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import json
import os
import pickle
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from bfc_bench.errors import describe_error
from bfc_bench.executors import pipes, worker_context
from bfc_bench.executors.memory import READABLE, Memory, held_exactly, memory

READY, CLOCK, RESULT, RAISED = b"+", b"c", b"=", b"!"
"""First byte of a worker's messages: it waits for a unit; the unit's clock starts (time and memory limit); the unit's
result; the unit's error and traceback. All but results are JSON."""
GROWTH = 1 / 4
"""A worker that has grown by more than this fraction of a unit's memory limit is replaced."""
REFUSED = 2
"""The system refuses memory beyond this multiple of a unit's limit. Below it, the session ends a worker that holds too
much, since XLA fails unpredictably when it is refused memory. The multiple stops units that ask for far too much, or
take it before the session looks."""
DEATH_OF_PARENT, SUBREAPER = 1, 36
"""Linux's PR_SET_PDEATHSIG, which signals this process when its parent ends, and PR_SET_CHILD_SUBREAPER."""


def work(parent: int, units: int, messages: int, call: Callable[[Any], bytes]) -> NoReturn:
    """Run units until the session closes its end of the pipe.

    Args:
        parent: Id of the process that started this one.
        units: File descriptor where units come from, as pickled payloads.
        messages: File descriptor where messages go to.
        call: Function from payload to result.
    """
    serve_only(parent)
    for file in (units, messages):
        os.set_inheritable(file, False)
    with contextlib.suppress(EOFError, BrokenPipeError):
        allowance = Allowance()
        pipes.send(messages, READY)
        while _serve(units, messages, call, allowance):
            pass
    leave()


def serve_only(parent: int) -> None:
    """Have this process end with its parent, ignore signals of the terminal, and keep what its children leave behind.

    A process that a unit starts becomes a child of this one if its own parent ends, so that it is seen here.
    """
    _die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the session handles Ctrl-C
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # lets a background process group print
    os.setpgid(0, 0)  # so that processes which a learner starts end with the worker
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def leave() -> NoReturn:
    """Run exit handlers, then end at once: a normal exit with large libraries takes most of a second."""
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(0)


class Allowance:
    """Memory limit of the unit that runs, counted from what the process held when the limit was set."""

    def __init__(self) -> None:
        self._free = resource.getrlimit(resource.RLIMIT_DATA)
        self._modules = 0
        self._baseline = 0
        """Bytes held after the last import. Libraries stay loaded and are not counted as growth."""
        self._shared: int | None = None
        """Bytes held at the first limit that other processes hold too: the pages of the process that forked this."""
        self._granted: tuple[int, Memory] | None = None

    def grant(self, memory_bytes: int, refuse: bool) -> None:
        """Set the unit's limit. If the process has grown too much, this becomes its last unit.

        With ``refuse`` the system refuses memory beyond ``REFUSED`` times the limit.
        """
        if not READABLE:
            return
        now = memory()
        if self._shared is None:
            self._shared = max(0, now.held - held_exactly([os.getpid()]))
        if len(sys.modules) != self._modules:
            self._modules, self._baseline = len(sys.modules), now.held
        elif now.held - self._baseline > GROWTH * memory_bytes:
            worker_context.last_unit()
        if refuse:
            soft, hard = self._free
            limit = now.asked + REFUSED * memory_bytes
            if soft == resource.RLIM_INFINITY or limit < soft:
                resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
        self._granted = memory_bytes, now

    def withdraw(self) -> None:
        """Remove the limit after the unit, so that sending its result cannot fail."""
        if self._granted is not None:
            resource.setrlimit(resource.RLIMIT_DATA, self._free)
            self._granted = None

    def said(self) -> list[int]:
        """The unit's limit, and the bytes that the process held, had asked for and shared before; empty without one."""
        if self._granted is None or self._shared is None:
            return []
        allowed, before = self._granted
        return [allowed, before.held, before.asked, self._shared]


def _serve(units: int, messages: int, call: Callable[[Any], bytes], allowance: Allowance) -> bool:
    """Run one unit. Returns whether this worker may run another one."""
    stays = True

    def end_after_unit() -> None:
        nonlocal stays
        stays = False

    received = pipes.receive(units)
    worker_context.context.clock_starts = lambda: pipes.send(
        messages, CLOCK + json.dumps([time.monotonic(), *allowance.said()]).encode()
    )
    worker_context.context.last_unit = end_after_unit
    worker_context.context.may_take = allowance.grant
    try:
        answer = RESULT + call(pickle.loads(received))
    except BaseException as error:
        allowance.withdraw()
        answer = RAISED + json.dumps([describe_error(error), _traceback(error)]).encode()
    allowance.withdraw()
    pipes.send(messages, answer, *([READY] if stays else []))
    return stays


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))
    except Exception:
        return ""


def _die_with(parent: int) -> None:
    """Have this process end with its parent, even if the parent is killed and a unit blocks all threads here.

    Linux kills this process with the thread that started it. ``reaper`` ends what units have started.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DEATH_OF_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the call above
        os._exit(1)
