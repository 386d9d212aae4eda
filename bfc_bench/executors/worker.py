"""A worker process: it says that it is ready, takes a unit, says what became of it, and so on."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from bfc_bench.errors import words
from bfc_bench.executors import pipes, unit

READY, CLOCK, RESULT, RAISED = b"+", b"c", b"=", b"!"
"""How the messages of a worker begin: it waits for a unit; the unit's clock starts, with its reading; the unit's
result; what the unit raised and its traceback, as JSON."""


def work(
    units: Connection,
    messages: Connection,
    session: int,
    call: Callable[[Any], bytes],
    prepare: Callable[[], object] | None,
) -> None:
    """Apply ``call`` to what comes from ``units``, and send to ``messages``, until the session closes its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the session's to handle
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # a group in the background may print nevertheless
    os.setpgid(0, 0)  # so that what a learner starts ends with its worker
    threading.Thread(target=_end_with, args=(session,), daemon=True, name="end-with-session").start()
    if prepare is not None:
        with contextlib.suppress(Exception):  # the first unit meets the same error and reports it
            prepare()
    with contextlib.suppress(EOFError, BrokenPipeError):
        while _serve(units.fileno(), messages.fileno(), call):
            pass


def _serve(units: int, messages: int, call: Callable[[Any], bytes]) -> bool:
    """One unit; whether there may be another one."""
    stays = True

    def leave() -> None:
        nonlocal stays
        stays = False

    pipes.send(messages, READY)
    received = pipes.receive(units)
    unit.ear.clock_starts = lambda: pipes.send(messages, CLOCK + repr(time.monotonic()).encode())
    unit.ear.last_unit = leave
    try:
        answer = RESULT + call(pickle.loads(received))
    except BaseException as error:
        answer = RAISED + json.dumps([words(error), _traceback(error)]).encode()
    pipes.send(messages, answer)
    return stays


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))
    except Exception:
        return ""


def _end_with(session: int) -> None:
    """End when the session has, even if it is killed without a word, with all that runs in this process's group."""
    while os.getppid() == session:
        time.sleep(1.0)
    os.killpg(0, signal.SIGKILL)
