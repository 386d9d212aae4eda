"""Workers that are forked: what is imported before, what cannot be, and what they leave behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bfc_bench.executors import worker_context
from bfc_bench.executors.base import Preload, Resources, UnitFailure
from bfc_bench.executors.memory import children, family, held_exactly
from bfc_bench.executors.processes import ProcessExecutor, ProcessPool
from bfc_bench.executors.processes.fork_server import ForkServer
from bfc_bench.executors.processes.pool import IDLE
from bfc_bench.plugins import load_plugins
from bfc_bench.run.work_units import UninstalledPlugins, preload_steps

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")

DOUBLE_FORK = """
import os, sys, time
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
open(sys.argv[1] + ".part", "w").write(str(os.getpid()))
os.rename(sys.argv[1] + ".part", sys.argv[1])
held = bytearray(int(sys.argv[2]))
held[::4096] = b"1" * len(held[::4096])
time.sleep(60)
"""
TAKEN: list[str] = []
"""Steps that this process, or the one from which it was forked, has taken."""


def take(step: str) -> None:
    TAKEN.append(step)


def start_a_thread() -> None:
    take("thread")
    threading.Thread(target=time.sleep, args=(600.0,), daemon=True).start()


def wait_for(file: str) -> None:
    """Import nothing until another unit has written a file."""
    for _ in range(1000):
        if Path(file).exists():
            take("found")
            return
        time.sleep(0.02)


def write(file: str) -> bytes:
    Path(file).touch()
    return b"written"


def end() -> None:
    os._exit(9)


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def raise_an_error() -> None:
    raise ImportError("nothing here")


def call(payload: tuple[Callable[..., bytes], tuple[Any, ...]]) -> bytes:
    function, arguments = payload
    return function(*arguments)


def tell() -> bytes:
    """The steps that were taken, threads, process and parent."""
    return f"{','.join(TAKEN) or '-'} {threading.active_count()} {os.getpid()} {os.getppid()}".encode()


def nap(seconds: float) -> bytes:
    time.sleep(seconds)
    return str(os.getpid()).encode()


def leave_a_daemon(file: str, memory: int, limit: int, seconds: float) -> bytes:
    worker_context.may_take(limit)
    worker_context.clock_starts()
    subprocess.run([sys.executable, "-c", DOUBLE_FORK, file, str(memory)], check=True)
    while not Path(file).exists():
        time.sleep(0.01)
    time.sleep(seconds)
    return f"{os.getpid()} {Path(file).read_text()}".encode()


def grow(memory: int, seconds: float) -> bytes:
    worker_context.may_take(50_000_000)
    worker_context.clock_starts()
    held = bytearray(memory)
    held[::4096] = b"1" * len(held[::4096])
    time.sleep(seconds)
    return b"grown"


def opened(preload: Preload | None = None, jobs: int = 1, **options: Any) -> ProcessPool:
    pool = ProcessExecutor(**options).open(call, preload, jobs)
    assert isinstance(pool, ProcessPool)
    return pool


@pytest.fixture
def pool() -> Iterator[ProcessPool]:
    pool = opened()
    yield pool
    pool.close(now=True)


def outcomes(pool: ProcessPool, *units: tuple[Any, ...], groups: str = "", seconds: float = 60.0) -> list[Any]:
    """What becomes of units (function, *arguments), in their order; ``groups`` has a letter for each."""
    for key, (function, *arguments) in enumerate(units):
        pool.submit(key, (function, tuple(arguments)), Resources(seconds, group=groups[key : key + 1]))
    ended = dict(pool.outcomes())
    return [ended[key] for key in range(len(units))]


def server(pool: ProcessPool) -> ForkServer:
    assert pool._server is not None
    return pool._server


@pytest.mark.parametrize("broken", [start_a_thread, end, crash, raise_an_error])
def test_an_import_that_cannot_precede_a_fork_is_left_out_and_the_others_are_made(broken: Callable[[], None]) -> None:
    pool = opened({"a": partial(take, "a"), "b": broken, "c": partial(take, "c")})
    told = [text.decode().split() for text in outcomes(pool, *[(tell,)] * 3, groups="bac")]
    assert [threads for _, threads, *_ in told] == ["1"] * 3
    (_, *_), (after_a, *_), (last, *_) = told
    assert (after_a[0], last) == ("a", "a,c")
    assert int(told[2][3]) == server(pool).pid
    pool.close()


def test_units_run_while_what_others_need_is_imported(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    pool = opened({"a": partial(take, "a"), "b": partial(wait_for, str(begun))}, jobs=2)
    told = outcomes(pool, (write, str(begun)), (tell,), groups="ab")
    assert told[0] == b"written"
    assert told[1].split()[0] == b"a,found"
    pool.close()


def test_a_worker_goes_on_when_an_import_for_others_starts_a_thread(tmp_path: Path) -> None:
    pool = opened({"a": partial(take, "a"), "b": start_a_thread}, jobs=2)
    (first,) = outcomes(pool, (tell,), groups="a")
    other, again = outcomes(pool, (tell,), (tell,), groups="ba")
    assert again == first
    assert other.split()[1] == b"1"
    assert other.split()[3] != first.split()[3]
    parents = [int(told.split()[3]) for told in (first, other)]
    pool.close()
    assert not any(Path(f"/proc/{parent}").exists() for parent in parents)


def test_no_learner_of_this_project_starts_a_thread_when_it_is_imported() -> None:
    plugins = load_plugins()
    steps = preload_steps([*plugins.learners, "sklearn:svm.SVR"], UninstalledPlugins())
    pool = opened(steps)
    for key, learner in enumerate(steps):
        pool.submit(key, (tell, ()), Resources(300.0, group=learner))
    assert {told.split()[1] for _, told in pool.outcomes()} == {b"1"}
    assert server(pool)._imported == set(steps)
    assert not pool._retired
    assert len(os.listdir(f"/proc/{server(pool).pid}/task")) == 1
    pool.close()


def test_the_memory_of_what_is_imported_is_held_once_and_charged_to_no_unit() -> None:
    pool = opened({"": partial(call, (fill, (300_000_000,)))}, jobs=2)
    assert outcomes(pool, (grow, 20_000_000, 1.0), (grow, 20_000_000, 1.0)) == [b"grown", b"grown"]
    assert held_exactly(family(server(pool).pid)) < 500_000_000
    (excess,) = outcomes(pool, (grow, 90_000_000, 20.0))
    assert isinstance(excess, UnitFailure)
    assert excess.kind == "memory"
    pool.close()


FILLED: list[bytearray] = []


def fill(memory: int) -> bytes:
    FILLED.append(bytearray(b"1") * memory)
    return b""


def test_units_of_one_group_follow_each_other_in_a_process_and_others_do_not(pool: ProcessPool) -> None:
    told = [text.split()[2] for text in outcomes(pool, *[(tell,)] * 6, groups="aababb")]
    assert len(set(told)) == 2
    assert told[0] == told[1] == told[3] != told[2] == told[4] == told[5]


def test_with_isolation_of_units_each_has_a_process_of_its_own() -> None:
    pool = opened(isolation="unit", jobs=2)
    assert len({text.split()[2] for text in outcomes(pool, *[(tell,)] * 8)}) == 8
    pool.close()


def test_the_idle_workers_that_are_needed_last_are_ended(pool: ProcessPool) -> None:
    groups = "abcd" + "abc" * 2
    told = [text.split()[2] for text in outcomes(pool, *[(tell,)] * len(groups), groups=groups)]
    first = dict(zip(groups[:4], told[:4], strict=True))
    assert IDLE == 2
    assert told[4:6] == [first["a"], first["b"]]  # when d was to run, c was needed last
    assert told[6] != first["c"]


def test_a_process_that_left_its_worker_and_its_group_ends_with_it(pool: ProcessPool, tmp_path: Path) -> None:
    outcome = outcomes(pool, (leave_a_daemon, str(tmp_path / "daemon"), 0, 10**9, 0.0))[0]
    worker, daemon = map(int, outcome.split())
    assert daemon in children(worker)
    pool.close()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{daemon}/stat").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{daemon}/stat").exists()


def test_its_memory_counts_and_what_was_imported_does_not(tmp_path: Path) -> None:
    pool = opened({"a": partial(call, (fill, (300_000_000,)))})
    fits, excess = outcomes(
        pool,
        (leave_a_daemon, str(tmp_path / "small"), 20_000_000, 100_000_000, 1.0),
        (leave_a_daemon, str(tmp_path / "large"), 200_000_000, 100_000_000, 30.0),
        groups="ab",
    )
    assert isinstance(fits, bytes)
    assert isinstance(excess, UnitFailure)
    assert excess.kind == "memory"
    pool.close()


def test_a_server_that_is_killed_costs_the_units_that_run_and_is_replaced(pool: ProcessPool) -> None:
    assert outcomes(pool, (tell,))
    before = server(pool).pid
    threading.Timer(0.5, os.kill, (before, signal.SIGKILL)).start()
    lost, after = outcomes(pool, (nap, 30.0), (nap, 0.0))
    assert isinstance(lost, UnitFailure)
    assert (lost.kind, "SIGKILL" in lost.reason, after.isdigit()) == ("lost", True, True)
    assert server(pool).pid != before


def test_a_worker_whose_server_was_killed_counts_as_killed_and_is_not_waited_for(pool: ProcessPool) -> None:
    assert outcomes(pool, (tell,))
    (worker,) = pool._workers
    os.kill(server(pool).pid, signal.SIGKILL)
    select.select([server(pool)], [], [])
    assert worker.process.exit_code() == -signal.SIGKILL


def test_a_plugin_that_the_script_defines_runs_in_workers_if_the_script_has_a_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(guard='if __name__ == "__main__":'))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["b'ran'"]), done.stderr
    script.write_text(SCRIPT.format(guard="if True:"))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
    assert 'Put what the script does under `if __name__ == "__main__":`' in done.stderr


SCRIPT = """
from bfc_bench.executors.base import Resources
from bfc_bench.executors.processes import ProcessExecutor

def call(payload):
    return payload

{guard}
    pool = ProcessExecutor().open(call, jobs=1)
    pool.submit(0, b"ran", Resources(60.0))
    for key, outcome in pool.outcomes():
        print(outcome)
    pool.close()
"""
