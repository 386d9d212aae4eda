"""Starts a Python process that calls a function, with the session's search path and an environment of its own.

Unlike ``multiprocessing``, the process imports the script that started the session only if it unpickles something that
is defined there. A script without ``if __name__ == "__main__":`` would otherwise run again in each worker.
"""

from __future__ import annotations

import os
import pickle
import runpy
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from types import ModuleType
from typing import Any

from bfc_bench.errors import UsageError

BOOTSTRAP = """
import os, pickle, sys
with os.fdopen(int(sys.argv[1]), "rb") as file:
    sys.path[:], sys.argv[:] = pickle.load(file)
    begin, *arguments = pickle.load(file)
begin(*arguments)
"""
"""The program of a new process. It sets the search path before it unpickles what may need it."""


def launch(
    function: Callable[..., object], arguments: tuple[Any, ...], environment: Mapping[str, str], files: Collection[int]
) -> subprocess.Popen[bytes]:
    """Start a process that calls a function.

    Args:
        function: Picklable function.
        arguments: Its picklable arguments.
        environment: The environment of the process.
        files: File descriptors that the process keeps, under the same numbers.

    Raises:
        UsageError: This process is importing the session's script, which would start processes without end.
    """
    if Script.running:
        raise UsageError(
            "the script starts a run when a worker imports it, which happens because a plugin is defined in it. Put "
            'what the script does under `if __name__ == "__main__":`, or define the plugin in a module of its own.'
        )
    reading, writing = os.pipe()
    # As multiprocessing does, the new interpreter gets this one's options, such as -O and -W.
    options = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    with os.fdopen(writing, "wb") as file:
        process = subprocess.Popen(
            [sys.executable, *options, "-c", BOOTSTRAP, str(reading)], env=environment, pass_fds=[reading, *files]
        )
        os.close(reading)
        with suppress(BrokenPipeError):  # it has ended, which its exit code will show
            file.write(pickle.dumps((sys.path, sys.argv)))
            file.write(pickle.dumps((_begin, *_script(), pickle.dumps((function, arguments)))))
            file.flush()
    return process


def _script() -> tuple[str, str]:
    """Module name and path of the session's script; empty where there is none."""
    main = sys.modules["__main__"]
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    return spec.name if spec is not None else "", os.path.abspath(file) if file is not None else ""


def _begin(module: str, path: str, call: bytes) -> None:
    sys.modules["__main__"] = Script(module, path)
    function, arguments = pickle.loads(call)
    function(*arguments)


class Script(ModuleType):
    """Stands for the session's script as ``__main__``, and runs it when a name of it is asked for."""

    running = False
    """Whether the script is being run."""

    def __init__(self, module: str, path: str) -> None:
        super().__init__("__main__")
        self._module, self._path = module, path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or Script.running or not (self._module or self._path):
            raise AttributeError(f"module '__main__' has no attribute {name!r}")
        Script.running = True
        try:
            if self._module:
                names = runpy.run_module(self._module, run_name="__mp_main__", alter_sys=True)
            else:
                names = runpy.run_path(self._path, run_name="__mp_main__")  # the name that multiprocessing gives it
        finally:
            Script.running = False
        main = ModuleType("__mp_main__")
        vars(main).update(names)
        sys.modules["__main__"] = sys.modules["__mp_main__"] = main
        return getattr(main, name)
