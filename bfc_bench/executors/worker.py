"""A worker process: it says that it is ready, takes a unit, says what became of it, and so on."""

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
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from bfc_bench.errors import describe_error
from bfc_bench.executors import pipes, worker_context
from bfc_bench.executors.memory import READABLE, Memory, memory

READY, CLOCK, RESULT, RAISED = b"+", b"c", b"=", b"!"
"""How the messages of a worker begin: it waits for a unit; the unit's clock starts, with its reading and what it may
take of memory; the unit's result; what the unit raised and its traceback. All but results are JSON."""
GROWTH = 1 / 4
"""Share of what a unit may take by which a worker may grow from unit to unit before another takes its place."""
REFUSED = 2
"""Times what a unit may take that the system refuses it. The session ends the worker of a unit that holds too much,
since compilers and kernels of XLA fail in any way when they are refused memory; this is for what asks for more than can
be, or takes it before the session looks."""
DEATH_OF_PARENT = 1
"""PR_SET_PDEATHSIG of Linux: a signal for this process when the one that started it ends."""


def work(
    units: Connection,
    messages: Connection,
    session: int,
    call: Callable[[Any], bytes],
    prepare: Callable[[], object] | None,
) -> None:
    """Apply ``call`` to what comes from ``units``, and send to ``messages``, until the session closes its end."""
    _end_with(session)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the session's to handle
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # a group in the background may print nevertheless
    os.setpgid(0, 0)  # so that what a learner starts ends with its worker
    if prepare is not None:
        with contextlib.suppress(Exception):  # the first unit meets the same error and reports it
            prepare()
    with contextlib.suppress(EOFError, BrokenPipeError):
        allowance = Allowance()
        pipes.send(messages.fileno(), READY)
        while _serve(units.fileno(), messages.fileno(), call, allowance):
            pass
    _leave()


def _leave() -> NoReturn:
    """End after what was registered for it; taking large libraries apart would take most of a second."""
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(0)


class Allowance:
    """The memory that this process's units may take, each beyond what the process held when the unit said so."""

    def __init__(self) -> None:
        self._free = resource.getrlimit(resource.RLIMIT_DATA)
        self._modules = 0
        self._usual = 0
        """What the process held when it had last imported something: libraries stay, and are no unit's."""
        self._granted: tuple[int, Memory] | None = None

    def grant(self, memory_bytes: int, refuse: bool) -> None:
        """Let the unit take so much from now on; where the process has grown, it is its last one.

        The memory that is refused is more than is allowed, see ``REFUSED``.
        """
        if not READABLE:
            return
        now = memory()
        if len(sys.modules) != self._modules:
            self._modules, self._usual = len(sys.modules), now.held
        elif now.held - self._usual > GROWTH * memory_bytes:
            worker_context.last_unit()
        if refuse:
            soft, hard = self._free
            limit = now.asked + REFUSED * memory_bytes
            if soft == resource.RLIM_INFINITY or limit < soft:
                resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
        self._granted = memory_bytes, now

    def withdraw(self) -> None:
        """The unit has ended; what it leaves to be said must not fail."""
        if self._granted is not None:
            resource.setrlimit(resource.RLIMIT_DATA, self._free)
            self._granted = None

    def said(self) -> list[int]:
        """For the session: what the unit may take, and what the process held and had asked for before; or nothing."""
        if self._granted is None:
            return []
        allowed, before = self._granted
        return [allowed, before.held, before.asked]


def _serve(units: int, messages: int, call: Callable[[Any], bytes], allowance: Allowance) -> bool:
    """One unit; whether there may be another one."""
    stays = True

    def leave() -> None:
        nonlocal stays
        stays = False

    received = pipes.receive(units)
    worker_context.context.clock_starts = lambda: pipes.send(
        messages, CLOCK + json.dumps([time.monotonic(), *allowance.said()]).encode()
    )
    worker_context.context.last_unit = leave
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


def _end_with(session: int) -> None:
    """End when the session has, even if it is killed without a word and a unit lets no other thread run.

    Linux kills this process with the thread that started it; what units have started is the guard's to end.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DEATH_OF_PARENT, signal.SIGKILL)
    if os.getppid() != session:  # it ended before that was said
        os._exit(1)
