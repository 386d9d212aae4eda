"""Starts new Python processes, with the session's search path and an environment of their own."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from multiprocessing import spawn
from multiprocessing.process import current_process
from tempfile import TemporaryFile
from typing import Any

from bfc_bench.errors import UsageError
from bfc_bench.executors.processes.worker import end_group, has_ended, work

BOOTSTRAP = """
import os, pickle, sys
with os.fdopen(int(sys.argv[1]), "rb") as file:
    settings = pickle.load(file)
    sys.path[:] = settings["sys_path"]
    begin, *arguments = pickle.load(file)
begin(settings, *arguments)
"""
"""The program of a new process. It sets the search path before it unpickles what may need it."""


def launch(
    function: Callable[..., object], arguments: tuple[Any, ...], environment: Mapping[str, str], files: Collection[int]
) -> subprocess.Popen[bytes]:
    """Start a process that calls a picklable function, in an environment, and keeps open files.

    Unlike ``multiprocessing``, the process imports the session's script only if the call needs what is defined there,
    since a script without ``if __name__ == "__main__":`` would run again. Raises ``UsageError`` if it does.
    """
    try:
        settings = spawn.get_preparation_data("worker")
    except RuntimeError:  # this process is importing the script
        raise UsageError(
            "the script starts a run when a worker imports it, which happens because a plugin is defined in it. Put "
            'what the script does under `if __name__ == "__main__":`, or define the plugin in a module of its own.'
        ) from None
    call = pickle.dumps((function, arguments))
    wanted = {"sys_path", "sys_argv"}
    if b"__main__" in call:
        wanted |= {"init_main_from_name", "init_main_from_path"}
    settings = {name: value for name, value in settings.items() if name in wanted}
    # As multiprocessing does, the new interpreter gets this one's options, such as -O and -W.
    options = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    with TemporaryFile() as file:
        file.write(pickle.dumps(settings) + pickle.dumps((_begin, call)))
        file.seek(0)
        command = [sys.executable, *options, "-c", BOOTSTRAP, str(file.fileno())]
        return subprocess.Popen(command, env=environment, pass_fds=[file.fileno(), *files])


def _begin(settings: dict[str, Any], call: bytes) -> None:
    current_process()._inheriting = True  # type: ignore[attr-defined]  # so that the script cannot start a run
    spawn.prepare(settings)
    del current_process()._inheriting  # type: ignore[attr-defined]
    function, arguments = pickle.loads(call)
    function(*arguments)


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
