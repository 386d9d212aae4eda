"""A process that imports what units need, once, and forks a worker from itself whenever one is needed.

A new interpreter needs seconds to import torch or JAX; a fork of this process needs milliseconds and shares its
memory. The process runs no unit, starts no thread and initialises no device, since only the thread that forks is
copied. It imports what the units of one group need when it is told to, and forks between two imports, so that the
first units run while the libraries of others are still being imported. If an import starts threads or ends the
process, another process takes its place that leaves it out, and workers import that themselves.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from typing import Any, NoReturn

from bfc_bench.executors.base import Preload
from bfc_bench.executors.launch import launch
from bfc_bench.executors.memory import children
from bfc_bench.executors.worker import leave, serve_only, work

PATIENCE = 10.0
"""Seconds for the process to fork a worker, or to end."""
PACKET = 1000
"""Largest message in bytes."""


class ForkServer:
    """The process, as the session sees it."""

    def __init__(
        self,
        call: Callable[[Any], bytes],
        preload: Preload,
        environment: Mapping[str, str],
        left_out: Set[str] = frozenset(),
    ) -> None:
        """Start the process, which may take a second until it is ``idle``.

        Args:
            call: Picklable function from payload to result, which workers apply.
            preload: By group of units, a picklable function that imports what they need. Its errors are ignored.
            environment: The environment of the process and its workers.
            left_out: Groups whose imports workers do themselves.
        """
        self._call, self._preload, self._environment, self._left_out = call, preload, environment, left_out
        self._imported: set[str] = set()
        self._importing: str | None = None
        """The group whose import was begun last and is not known to have ended well."""
        self._started = False
        self.idle = False
        """Whether the process can fork now: it has started, and is not importing."""
        self.threaded = False
        """Whether an import has started threads, after which the process does not fork any more."""
        self._forked: int | None = None
        self._codes: dict[int, int | None] = {}
        """Exit codes of the workers by id; None while they run."""
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setblocking(False)
        with theirs:
            arguments = (os.getpid(), theirs.fileno(), call, dict(preload))
            self._process = launch(serve, arguments, environment, [theirs.fileno()])

    @property
    def pid(self) -> int:
        """Id of the process and of its process group."""
        return self._process.pid

    def fileno(self) -> int:
        """The descriptor that is readable when the process has sent something or has ended, for ``select``."""
        return self._socket.fileno()

    def update(self) -> bool:
        """Read what the process has sent. Returns False if it has ended; the workers it had forked end with it."""
        while True:
            try:
                packet = self._socket.recv(PACKET)
            except BlockingIOError:
                return True
            except OSError:
                packet = b""
            if not packet:
                return False
            match json.loads(packet):
                case ["idle", threads]:
                    self._started = True
                    self.threaded = threads > 1
                    self.idle = not self.threaded
                    if self.idle and self._importing is not None:
                        self._imported.add(self._importing)
                        self._importing = None
                case ["forked", pid]:
                    self._forked, self._codes[pid] = pid, None
                case ["ended", pid, code]:
                    self._codes[pid] = code

    def has(self, group: str) -> bool:
        """Whether everything is imported that can be imported here for units of a group."""
        return group in self._imported or group in self._left_out or group not in self._preload

    def prepare(self, group: str) -> None:
        """Have the idle process import what units of a group need."""
        self.idle, self._importing = False, group
        with suppress(OSError):  # it has ended, which the next ``update`` shows
            self._socket.send(json.dumps(["import", group]).encode())

    def successor(self) -> ForkServer | None:
        """Start a process for one that has ended or has threads, without the import that caused this.

        Returns None if this one never started.
        """
        if not self._started:
            return None
        left_out = self._left_out if self._importing is None else {*self._left_out, self._importing}
        return ForkServer(self._call, self._preload, self._environment, left_out)

    def fork(self, units: int, messages: int) -> ForkedProcess:
        """Fork a worker.

        Args:
            units: File descriptor where units come from.
            messages: File descriptor where messages go to.

        Raises:
            OSError: The process has ended, or does not answer.
        """
        self._forked = None
        socket.send_fds(self._socket, [json.dumps(["fork"]).encode()], [units, messages])
        until = time.monotonic() + PATIENCE
        while self._forked is None:
            answered, _, _ = select.select([self._socket], [], [], max(0.0, until - time.monotonic()))
            if not answered or not self.update():
                raise OSError("the process that forks workers does not answer")
        return ForkedProcess(self, self._codes, self._forked)

    def forget(self, pid: int) -> None:
        """Let the process reap a worker that has ended, whose id the system may then use again."""
        with suppress(OSError):
            self._socket.send(json.dumps(["forget", pid]).encode())

    def close(self) -> None:
        """End the process and the workers that are left."""
        self._socket.close()
        if self._started:  # it does what it was sent, then ends
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(PATIENCE)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait(PATIENCE)
        for pid, code in self._codes.items():
            if code is None:  # it ends with the process that forked it
                self._codes[pid] = -signal.SIGKILL


class ForkedProcess:
    """A worker that was forked; only the process that forked it learns how it ends."""

    def __init__(self, server: ForkServer, codes: Mapping[int, int | None], pid: int) -> None:
        self._server, self._codes, self.pid = server, codes, pid

    def exit_code(self) -> int | None:
        """None while it runs, then its exit code, or the negative number of the signal that ended it."""
        if self._codes[self.pid] is None and not self._server.update():
            return -signal.SIGKILL  # it ends with the process that forked it
        return self._codes[self.pid]

    def forget(self) -> None:
        """Let the system use its id again."""
        self._server.forget(self.pid)


def serve(session: int, connection: int, call: Callable[[Any], bytes], preload: Preload) -> NoReturn:
    """Import and fork as the session says, until it closes its end of the connection.

    Args:
        session: Process id of the session.
        connection: File descriptor of a socket to the session.
        call: Function from payload to result, which workers apply.
        preload: By group of units, a function that imports what they need.
    """
    gc.disable()  # imports make millions of objects that stay, and collections take a fifth of their time
    serve_only(session)
    forks = Forks(socket.socket(fileno=connection), call, preload)
    with suppress(ConnectionError):  # the session has ended
        forks.idle()
        while forks.wait():
            pass
    leave()


class Forks:
    """The workers that this process has forked."""

    def __init__(self, channel: socket.socket, call: Callable[[Any], bytes], preload: Preload) -> None:
        self._channel, self._call, self._preload = channel, call, preload
        self._own = os.getpid()
        self._ended: dict[int, bool] = {}
        """By process id, whether the worker has ended; without those whose id the system may use again."""
        self._wake, self._woken = os.pipe()
        os.set_blocking(self._woken, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)

    def idle(self) -> None:
        """Tell the session that this process can fork, or that it has threads."""
        gc.freeze()  # so that no collection in a worker copies the pages of what was imported
        _send(self._channel, "idle", _threads())

    def wait(self) -> bool:
        """Wait for a message of the session, or the end of a worker. Returns False if the session has ended."""
        readable: list[int] = select.select([self._channel.fileno(), self._wake], [], [])[0]
        if self._wake in readable:
            os.read(self._wake, PACKET)
            self._report()
        if self._channel.fileno() not in readable:
            return True
        packet, files, _, _ = socket.recv_fds(self._channel, PACKET, 2)
        match json.loads(packet or "null"):
            case ["fork"]:
                self._fork(*files)
            case ["import", group]:
                with suppress(Exception):  # a unit that needs it meets the same error and reports it
                    self._preload[group]()
                self.idle()
            case ["forget", pid]:
                if os.waitpid(pid, os.WNOHANG) != (0, 0):
                    del self._ended[pid]
        return bool(packet)

    def _report(self) -> None:
        """Tell the session which workers have ended, and kill what they have left behind."""
        for pid in [pid for pid, ended in self._ended.items() if not ended]:
            if (code := _code(pid)) is not None:
                self._ended[pid] = True
                _send(self._channel, "ended", pid, code)
        for orphan in set(children(self._own)) - self._ended.keys():
            with suppress(OSError):
                os.kill(orphan, signal.SIGKILL)
                os.waitpid(orphan, 0)

    def _fork(self, units: int, messages: int) -> None:
        pid = os.fork()
        if not pid:
            self._work(units, messages)
        os.close(units)
        os.close(messages)
        with suppress(OSError):  # the worker does it too
            os.setpgid(pid, pid)
        self._ended[pid] = False
        _send(self._channel, "forked", pid)

    def _work(self, units: int, messages: int) -> NoReturn:
        """Be a worker."""
        try:
            gc.enable()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for file in (self._wake, self._woken, self._channel.detach()):
                os.close(file)
            work(self._own, units, messages, self._call)
        finally:
            os._exit(1)


def _send(channel: socket.socket, *message: object) -> None:
    with suppress(BrokenPipeError):  # the session has ended, which the next read shows
        channel.send(json.dumps(message).encode())


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))


def _code(pid: int) -> int | None:
    """Exit code of a child, negative for a signal, or None while it runs; the child keeps its id."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
