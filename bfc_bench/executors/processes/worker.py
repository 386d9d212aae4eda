"""What a worker process does: it runs one unit, writes the outcome to a file, and ends."""

import atexit
import contextlib
import ctypes
import json
import os
import pickle
import resource
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from bfc_bench.errors import describe_error, traceback_of
from bfc_bench.executors.memory import READABLE, memory
from bfc_bench.executors.worker_context import context

RESULT, RAISED = b"=", b"!"
"""First byte of an outcome: the unit's result follows, or error and traceback as JSON."""
REFUSED = 2
"""The system refuses memory beyond this multiple of a unit's limit. Below it, the session ends a worker that holds too
much, since XLA fails unpredictably when it is refused memory. The multiple stops units that ask for far too much, or
take it before the session looks."""
DEATH_OF_PARENT = 1
"""Linux's PR_SET_PDEATHSIG, which signals this process when its parent ends."""


def work(parent: int, unit: int, notes: int, call: Callable[[Any], bytes]) -> NoReturn:
    """Run a unit and end this process."""
    serve_only(parent)
    note(notes, started=os.getpid())
    context.clock_starts = partial(note, notes, clock=True)
    context.may_take = partial(limit_memory, notes)
    with os.fdopen(unit, "r+b") as file:
        payload = file.read()
        file.seek(0)
        file.truncate()
        free = resource.getrlimit(resource.RLIMIT_DATA)
        try:
            outcome = RESULT + call(pickle.loads(payload))
        except BaseException as error:
            outcome = RAISED + json.dumps([describe_error(error), traceback_of(error)]).encode()
        resource.setrlimit(resource.RLIMIT_DATA, free)
        file.write(outcome)
    leave()


def serve_only(parent: int) -> None:
    """Have this process end with its parent, lead a process group, and ignore signals of the terminal."""
    if sys.platform == "linux":  # even if another thread has Python's lock
        ctypes.CDLL(None).prctl(DEATH_OF_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the call above
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the session handles Ctrl-C
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # lets a background process group print
    os.setpgid(0, 0)  # so that processes which a learner starts end with the worker


def note(notes: int, **facts: object) -> None:
    """Tell the session something: a short line of JSON, which a pipe takes whole or not at all."""
    with contextlib.suppress(OSError):  # the session has ended, or a learner has closed the pipe
        os.write(notes, json.dumps(facts).encode() + b"\n")


def limit_memory(notes: int, memory_bytes: int, refuse: bool) -> None:
    """``worker_context.may_take`` of this process."""
    if not READABLE:
        return
    now = memory()
    if refuse:
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = now.asked + REFUSED * memory_bytes
        if soft == resource.RLIM_INFINITY or limit < soft:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    note(notes, allowed=memory_bytes, held=now.held, asked=now.asked)


def leave() -> NoReturn:
    """Run exit handlers, then end at once: a normal exit with large libraries takes most of a second."""
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(0)


def has_ended(process: int) -> bool:
    """Whether a child of this process has ended; it keeps its id until it is waited for."""
    return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def end_group(leader: int) -> None:
    """Kill a process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
