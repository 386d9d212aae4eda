"""A process that imports what units need, once, and forks a worker from itself for each unit.

A new interpreter needs seconds to import torch or JAX; a fork of this process needs milliseconds and shares its
memory. The process runs no unit, starts no thread and initialises no device, since only the thread that forks is
copied. It imports what the units of a group need before the first fork for that group, and later the parts of libraries
that a worker has imported: torch's first optimiser step imports 800 modules. If an import starts threads, the process
forks no more, and if it ends the process, the workers end too: in both cases another process takes its place, and
workers of that group import what they need themselves.
"""

from __future__ import annotations

import gc
import os
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib import import_module
from threading import Lock
from typing import Any, NoReturn

from bfc_bench.executors.base import Preload
from bfc_bench.executors.processes.launch import launch
from bfc_bench.executors.processes.worker import end_group, has_ended, leave, serve_only, work

CAN_FORK = sys.platform == "linux"
"""Whether workers may be forked. Elsewhere, libraries of the system must not be used after a fork."""
LIBRARIES = frozenset({"bfc_bench", "bfc_plugins", "jax", "jaxlib", "numpy", "pandas", "scipy", "sklearn", "torch"})
"""If a worker has imported a module of one of these packages, the process imports it too. Other modules may change
settings of these packages when they are imported, and so the results of other learners."""
PACKET = 1000
"""Largest message in bytes."""
PIPE = 2**16
"""Bytes that a pipe holds."""
IMPORTING, FORKED = b"i", b"f"
"""What the process says about a worker: the import of its group has begun; it was forked. The exit code follows."""
PATIENCE = 10.0
"""Seconds for the process to end."""


class ForkServer:
    """The process, as the session sees it."""

    def __init__(self, call: Callable[[Any], bytes], preload: Preload, environment: Mapping[str, str]) -> None:
        """Start the process."""
        self._call, self._preload, self._environment = call, dict(preload), environment
        self._lock = Lock()
        self._starter = ThreadPoolExecutor(1)
        """The thread that starts the processes: Linux ends a process with the thread that started it."""
        self._processes: list[subprocess.Popen[bytes]] = []
        """The process and those before it, whose workers may still run."""
        self._start()

    def _start(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            arguments = (os.getpid(), theirs.fileno(), self._call, self._preload)
            started = self._starter.submit(launch, serve, arguments, self._environment, [theirs.fileno()])
            self._processes.append(started.result())

    def fork(self, group: str, unit: int, notes: int) -> ForkedProcess:
        """Have a worker forked that runs ``work`` with these file descriptors of unit and notes."""
        status, theirs = os.pipe()
        with self._lock:
            message, files = b"=" + group.encode() if group in self._preload else b"-", [unit, notes, theirs]
            try:
                socket.send_fds(self._socket, [message], files)
            except OSError:  # the process has ended, or forks no more
                self._socket.close()
                self._start()
                socket.send_fds(self._socket, [message], files)
            process = self._processes[-1]
        os.close(theirs)
        return ForkedProcess(self, process, group, status)

    def leave_out(self, group: str) -> None:
        """Do not import what units of this group need: that has ended the process, or has started threads."""
        self._preload.pop(group, None)

    def close(self) -> None:
        """End the process and the workers that are left."""
        self._socket.close()
        for process in self._processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
            process.kill()
            process.wait()
        self._processes.clear()
        self._starter.shutdown()


class ForkedProcess:
    """A worker that was forked; the process that forked it says how it ends."""

    def __init__(self, server: ForkServer, process: subprocess.Popen[bytes], group: str, status: int) -> None:
        self._server, self._process, self._group = server, process, group
        self.status = status
        """File descriptor that is readable when ``exit_code`` may have changed."""
        os.set_blocking(status, False)
        self._said = b""
        self._code: int | None = None

    def exit_code(self) -> int | None:
        """None while it runs, then its exit code, or the negative number of the signal that ended it."""
        if self._code is None:
            try:
                while received := os.read(self.status, PACKET):
                    self._said += received
            except BlockingIOError:
                return None
            os.close(self.status)
            if self._said == IMPORTING:
                self._server.leave_out(self._group)
            code = self._said.partition(FORKED)[2]
            self._code = int(code) if code else -signal.SIGKILL  # it has ended with the process that forked it
        return self._code

    def abandon(self) -> None:
        """End the process that was to fork it, which does not do so in time."""
        self._process.kill()


def serve(session: int, connection: int, call: Callable[[Any], bytes], preload: Preload) -> NoReturn:
    """Import and fork as the session asks, until it closes its end of the connection."""
    gc.disable()  # imports make millions of objects that stay, and collections take a fifth of their time
    serve_only(session)
    Forks(socket.socket(fileno=connection), call, preload).serve()
    leave()


class Forks:
    """The workers that this process has forked."""

    def __init__(self, channel: socket.socket, call: Callable[[Any], bytes], preload: Preload) -> None:
        self._channel, self._call, self._preload = channel, call, dict(preload)
        self._own = os.getpid()
        self._workers: dict[int, int] = {}
        """File descriptors where the exit codes of workers go to, by process id."""
        self._woken, self._wake = os.pipe()
        """A pipe to which signals write a byte, and workers the names of the modules that they have imported."""
        os.set_blocking(self._wake, False)
        self._told: list[str] = []
        """Modules of libraries that workers have imported since the last fork for a group."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Fork workers until the session has gone or this process has threads, and wait until they have ended."""
        connected = True
        while connected or self._workers:
            sources: list[Any] = [self._woken, *([self._channel] if connected else [])]
            readable = select.select(sources, [], [])[0]
            if self._woken in readable:
                received = os.read(self._woken, PIPE).decode(errors="replace")
                self._told += [name for name in re.findall(r"[\w.]+", received) if name.partition(".")[0] in LIBRARIES]
                self._report()
            if self._channel in readable:
                connected = self._answer()
        self._channel.close()

    def _report(self) -> None:
        """Tell the session which workers have ended, and kill what they have left in their process group."""
        for pid in list(filter(has_ended, self._workers)):
            end_group(pid)  # before its id may be used again
            _, status = os.waitpid(pid, 0)
            _say(self._workers[pid], str(os.waitstatus_to_exitcode(status)).encode())
            os.close(self._workers.pop(pid))

    def _answer(self) -> bool:
        """Fork a worker. Returns False if this process forks no more."""
        message, files, _, _ = socket.recv_fds(self._channel, PACKET, 3)
        if not message:  # the session has closed the connection, or has ended
            for pid in self._workers:
                end_group(pid)
            return False
        unit, notes, status = files
        if imported := message[:1] == b"=":
            _say(status, IMPORTING)
            steps: list[Callable[[], object]] = [partial(import_module, name) for name in self._told]
            for step in (self._preload.pop(message[1:].decode(), bool), *steps):
                with suppress(Exception):  # a unit that needs it meets the same error and reports it
                    step()
            self._told.clear()
            gc.freeze()  # so that no collection in a worker copies the pages of what was imported
        alone = len(os.listdir("/proc/self/task")) == 1
        if alone:
            self._fork(unit, notes, status, self._telling if imported else self._call)
        else:
            self._channel.close()
        for file in (unit, notes, *([] if alone else [status])):
            os.close(file)
        return alone

    def _telling(self, payload: Any) -> bytes:
        """The call in a worker, which then tells what it has imported."""
        before = set(sys.modules)
        try:
            return self._call(payload)
        finally:
            with suppress(Exception):  # the pipe is full, or a learner has closed it
                new = "\n".join(name for name in sys.modules if name not in before)
                os.write(self._wake, f"\n{new}\n".encode())

    def _fork(self, unit: int, notes: int, status: int, call: Callable[[Any], bytes]) -> None:
        pid = os.fork()
        if pid:
            self._workers[pid] = status
            _say(status, FORKED)
            return
        try:
            gc.enable()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for file in (self._channel.detach(), self._woken, status, *self._workers.values()):
                os.close(file)
            work(self._own, unit, notes, call)
        finally:
            os._exit(1)


def _say(file: int, message: bytes) -> None:
    with suppress(BrokenPipeError):  # the session has ended, which the next read shows
        os.write(file, message)
