"""Starts new Python processes, with the session's search path and an environment of their own."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from tempfile import TemporaryFile
from typing import Any

from bfc_bench.executors.base import dumps
from bfc_bench.executors.processes.worker import end_group, has_ended, work

BOOTSTRAP = """
import os, pickle, sys
with os.fdopen(int(sys.argv[1]), "rb") as file:
    sys.path[:], sys.argv[:] = pickle.load(file)
    function, arguments = pickle.load(file)
function(*arguments)
"""
"""The program of a new process. It sets the search path before it unpickles what may need it."""


def launch(
    function: Callable[..., object], arguments: tuple[Any, ...], environment: Mapping[str, str], files: Collection[int]
) -> subprocess.Popen[bytes]:
    """Start a process that calls a function, in an environment, and keeps open files.

    Unlike that of ``multiprocessing``, it never imports the session's script, which might run again: what is defined
    there is sent by value.
    """
    # As multiprocessing does, the new interpreter gets this one's options, such as -O and -W.
    options = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    with TemporaryFile() as file:
        file.write(pickle.dumps((sys.path, sys.argv)) + dumps((function, arguments)))
        file.seek(0)
        command = [sys.executable, *options, "-c", BOOTSTRAP, str(file.fileno())]
        return subprocess.Popen(command, env=environment, pass_fds=[file.fileno(), *files])


class SpawnedProcess:
    """A worker that is a new interpreter, which imports what its unit needs itself."""

    def __init__(
        self, call: Callable[[Any], bytes], environment: Mapping[str, str], group: str, unit: int, notes: int
    ) -> None:
        self._process = launch(work, (os.getpid(), unit, notes, call), environment, [unit, notes])
        self.status = None
        """There is no file that is readable when ``exit_code`` may have changed."""

    def exit_code(self) -> int | None:
        """None while it runs, then its exit code, or the negative number of the signal that ended it."""
        if self._process.returncode is None and has_ended(self._process.pid):
            end_group(self._process.pid)  # before its id may be used again
        return self._process.poll()

    def abandon(self) -> None:
        """End it before it has begun."""
        self._process.kill()
