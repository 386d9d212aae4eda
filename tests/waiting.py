"""Waits for what a busy machine may do late, and for other processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from bfc_bench import hookimpl


def wait_until(condition, seconds=90):
    """Return once ``condition()`` holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"did not happen in {seconds:g} s"
        time.sleep(0.05)


def completed(command, *, check=False, **options):
    """What a command has written and how it ended."""
    return subprocess.run(command, capture_output=True, text=True, check=check, **options)


def alive(pid):
    """Whether a process runs; one that has ended may be left for its parent."""
    listed = ["ps", "-o", "stat=", "-p", pid]
    states = completed(listed).stdout.split()
    return any(not state.startswith("Z") for state in states)


class Dies:
    """A listener that kills its process with SIGKILL when a run has made so many rows."""

    def __init__(self, rows):
        self.left = rows

    @hookimpl
    def bfc_result(self, result):
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)


KILLED = """
import sys
import bfc_bench
from bfc_bench import RunOptions
sys.path.append(sys.argv[1])
from waiting import Dies
suite, store, rows = sys.argv[2:]
options = RunOptions(store=store, executor="serial", listeners=[Dies(int(rows))])
"""


def kill_at(rows, call, suite, store):
    """Make ``call`` with ``bfc_bench``, ``suite`` and ``options`` in a process that is killed at so many rows."""
    command = [sys.executable, "-c", KILLED + call, Path(__file__).parent, suite, store, str(rows)]
    ended = completed(command)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


TRACED = """
import os, signal, sys
from pathlib import Path
from bfc_bench.store.merge import merge
from bfc_bench.store.store import Store
left = {line}
def trace(frame, event, arg):
    global left
    if frame.f_code.co_filename.endswith({files}):
        left -= event == "line"
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
    return trace
folders = [Path(path) for path in sys.argv[1:]]
sys.settrace(trace)
{statement}
"""


def kill_at_line(files, line, statement, *folders):
    """Make a statement of ``merge``, ``Store`` and ``folders`` in a process that dies at that many lines of files."""
    code = TRACED.format(line=line, files=files, statement=statement)
    ended = completed([sys.executable, "-c", code, *folders])
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
