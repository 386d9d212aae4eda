"""A process for each unit: whatever becomes of it, its unit ends, and no other one is touched."""

import atexit
import mmap
import os
import pickle
import signal
import threading
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from executor_contract import failure
from units_of_work import call, end, grow, outcomes, say, signalled, wait_for
from waiting import wait_until

from bfc_bench.errors import BenchError
from bfc_bench.executors import worker_context
from bfc_bench.executors.environment import ENVIRONMENT
from bfc_bench.executors.processes import ProcessExecutor, ProcessPool
from bfc_bench.executors.processes.fork_server import CAN_FORK
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.grid import GridLearner
from bfc_bench.run.work_units import import_parts

forks = pytest.mark.skipif(not CAN_FORK, reason="workers are forked on Linux only")
TAKEN: list[str] = []
"""Steps that this process, or the one from which it was forked, has taken."""
FILLED: list[bytes] = []


def take(step):
    TAKEN.append(step)


def start_a_thread():
    threading.Thread(target=time.sleep, args=(600.0,), daemon=True).start()


def fill(memory):
    FILLED.append(b"1" * memory)


def raise_an_error():
    raise ImportError("nothing here")


def who():
    """Process and parent, its threads, and the steps that were taken."""
    return f"{os.getpid()} {os.getppid()} {threading.active_count()} {','.join(TAKEN) or '-'}".encode()


def nap(seconds):
    time.sleep(seconds)
    return who()


def close_files():
    os.closerange(3, 1000)
    return b"done"


def crowded():
    """Has asked for nearly all that it may when it crashes, as a compiler does that does not check what it gets."""
    worker_context.may_take(10**8)
    held = mmap.mmap(-1, 95_000_000, flags=mmap.MAP_PRIVATE)
    time.sleep(3)  # until the session has looked, on a busy machine too
    os.kill(os.getpid(), signal.SIGSEGV)
    return bytes(held[:1])


def leave_words(file):
    """Registers something for the end of its process, and prints half a line."""
    atexit.register(Path(file).write_text, "ended")
    print("half a line", end="")
    return b"done"


def variables(*names):
    time.sleep(0.2)
    return "|".join([str(os.getpid()), *(os.environ.get(name, "-") or "none" for name in names)]).encode()


def environment():
    """As the system shows it to whoever may read ``/proc``."""
    return Path("/proc/self/environ").read_bytes()


@contextmanager
def opened(preload=None, jobs=1, **options):
    pool = ProcessExecutor(**options).open(call, preload, jobs)
    assert isinstance(pool, ProcessPool)
    try:
        yield pool
    finally:
        pool.close(now=True)


@pytest.fixture(params=["fork", "spawn"] if CAN_FORK else ["spawn"])
def pool(request):
    with opened(start=request.param) as pool:
        yield pool


def alone(*units, groups="", preload=None, jobs=1):
    """What becomes of units in a pool of their own."""
    with opened(preload, jobs) as pool:
        return outcomes(pool, *units, groups=groups)


def test_each_unit_has_a_process_that_ends_with_it(pool):
    pids = [int(told.split()[0]) for told in outcomes(pool, *[(who,)] * 3)]
    assert len(set(pids)) == 3
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


DEATHS = [
    ((signalled, signal.SIGTERM), "lost", "SIGTERM"),
    ((signalled, signal.SIGRTMIN + 6), "killed", "ended by signal"),
    ((close_files,), "killed", "exit code 1"),
]
"""What ends a worker besides what the contract of executors has, and what becomes of its unit."""


def test_a_death_is_its_units_own_and_is_noticed_at_once(pool):
    started = time.monotonic()
    *faults, after = outcomes(pool, *(unit for unit, _, _ in DEATHS), (say, "after"), seconds=300.0)
    assert time.monotonic() - started < 300  # of as many allowed for each
    for fault, (_, kind, reason) in zip(faults, DEATHS, strict=True):
        assert reason in failure(fault, kind).reason
    assert after == b"after"


def test_a_crash_at_the_limit_is_for_want_of_memory(pool):
    (fault,) = outcomes(pool, (crowded,))
    assert "nearly all of the 0.1 GB allowed" in failure(fault, "out-of-memory").reason


def test_workers_do_at_their_end_what_was_registered_for_it(tmp_path, capfd):
    assert alone((leave_words, str(tmp_path / "said"))) == [b"done"]
    assert (tmp_path / "said").read_text() == "ended"
    assert capfd.readouterr().out == "half a line"


class Ending:
    """A function that ends the process which unpickles it."""

    def __call__(self, payload):
        return call(payload)

    def __reduce__(self):
        return end, (3,)


@pytest.mark.parametrize("start", ["fork", "spawn"] if CAN_FORK else ["spawn"])
def test_workers_that_cannot_start_end_the_run_with_a_reason(start):
    pool = ProcessExecutor(start=start).open(Ending(), jobs=2)
    pool.submit(0, (say, ("never",)), 60.0)
    with pytest.raises(BenchError, match="worker processes in a row ended before they could work"):
        list(pool.outcomes())
    pool.close(now=True)


# --- what is imported once ---


@forks
def test_what_a_group_needs_is_imported_once_and_not_in_its_workers():
    steps = {"a": partial(take, "a"), "b": partial(take, "b")}
    told = [text.decode().split() for text in alone(*[(who,)] * 6, groups="ababab", preload=steps, jobs=2)]
    assert len({parent for _, parent, *_ in told}) == 1
    assert all(text[3].split(",").count("a") <= 1 for text in told)
    assert {"a" in text[3] for text in told[::2]} == {"b" in text[3] for text in told[1::2]} == {True}


@forks
@pytest.mark.parametrize("broken", [start_a_thread, end, partial(signalled, signal.SIGSEGV), raise_an_error])
def test_an_import_that_cannot_precede_a_fork_is_left_out_and_the_others_are_made(broken):
    steps = {"a": partial(take, "a"), "b": broken}
    told = [text.decode().split() for text in alone(*[(who,)] * 3, groups="bab", preload=steps)]
    assert [threads for _, _, threads, _ in told] == ["1"] * 3
    assert told[1][3] == told[2][3] == "a"


@forks
def test_workers_outlive_the_slot_that_had_to_start_another_process_to_fork_them():
    with opened({"a": start_a_thread}, jobs=2) as pool:
        pool.submit(0, (say, ("quick",)), 60.0, group="a")
        pool.submit(1, (nap, (2.0,)), 60.0)
        pool.close()
        assert [isinstance(outcome, bytes) for _, outcome in sorted(pool.outcomes())] == [True, True]


@forks
def test_no_learner_of_this_project_starts_a_thread_when_it_is_imported():
    plugins = load_plugins()
    names = (*plugins.learners, "sklearn:svm.SVR", "ensemble:quad-densenet")
    learners = [plugins.learner(name).model_construct() for name in names]
    sent = [pickle.dumps(GridLearner("", learner, (), (), ())) for learner in learners]
    steps = {name: partial(import_parts, [part]) for name, part in zip(names, sent, strict=True)}
    with opened(steps) as pool:
        for key, learner in enumerate(steps):
            pool.submit(key, (who, ()), 300.0, group=learner)
        told = [text.split() for _, text in pool.outcomes()]
    assert {threads for _, _, threads, _ in told} == {b"1"}
    assert len({parent for _, parent, *_ in told}) == 1


@forks
def test_the_memory_of_what_is_imported_is_charged_to_no_unit():
    units = [(grow, 20_000_000), (grow, 20_000_000), (grow, 90_000_000)]
    kept, other, excess = alone(*units, groups="aaa", preload={"a": partial(fill, 300_000_000)}, jobs=2)
    assert (kept, other) == (b"grown", b"grown")
    failure(excess, "out-of-memory")


@forks
def test_a_server_that_is_killed_costs_the_units_that_run_and_is_replaced():
    with opened() as pool:
        server = int(outcomes(pool, (who,))[0].split()[1])
        threading.Timer(0.5, os.kill, (server, signal.SIGKILL)).start()
        lost, after = outcomes(pool, (nap, 30.0), (who,))
    assert "SIGKILL" in failure(lost, "lost").reason
    assert int(after.split()[1]) != server


# --- environments ---


def test_no_worker_ever_sees_a_credential(monkeypatch):
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_TRACKING_TOKEN", "AWS_ACCESS_KEY_ID", "GH_TOKEN", "DB_PASSWORD"):
        monkeypatch.setenv(name, "hunter2")
    monkeypatch.setenv("PROXY", "http://me:hunter2@proxy")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    (seen,) = alone((environment,))
    assert os.environ["MLFLOW_TRACKING_TOKEN"] == "hunter2"  # MLflow is told of rows meanwhile
    assert b"hunter2" not in seen
    assert b"TOKENIZERS_PARALLELISM=false" in seen


def test_the_environment_of_workers_is_theirs_alone(pool, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    before = dict(os.environ)
    names = ("OMP_NUM_THREADS", "NPROC", "XLA_FLAGS")
    (told,) = outcomes(pool, (variables, *names))
    _, openmp, threads, flags = told.decode().split("|")
    assert (openmp, threads) == ("1", "1")
    assert ENVIRONMENT["XLA_FLAGS"] in flags
    assert dict(os.environ) == before


GPU_NAMES = ("CUDA_VISIBLE_DEVICES", "XLA_PYTHON_CLIENT_MEM_FRACTION", "BFC_BENCH_GPU_SHARE", "JAX_PLATFORMS")


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ({"gpus": [0, "GPU-5"]}, {"0|0.450|0.450|-", "GPU-5|0.450|0.450|-"}),
        ({"gpus": [1], "jobs_per_gpu": 2}, {"1|0.225|0.225|-"}),
    ],
    ids=["a GPU each", "shared"],
)
def test_workers_on_a_gpu_see_it_alone_with_their_share_of_its_memory(monkeypatch, options, seen):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    with opened(jobs=2, **options) as pool:
        on_gpus = outcomes(pool, *[(variables, *GPU_NAMES)] * 4, device="cuda")
        on_cores = outcomes(pool, (variables, *GPU_NAMES), device="cpu")
    assert {told.decode().partition("|")[2] for told in on_gpus} == seen
    assert [told.decode().partition("|")[2] for told in on_cores] == ["none|-|-|cpu"]


def test_workers_on_a_gpu_repeat_themselves_and_those_on_the_cores_are_as_ever(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_autotune_level=2")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    told = {}
    with opened(gpus=[0]) as pool:
        for device in ("cpu", "cuda"):
            (text,) = outcomes(pool, (variables, "XLA_FLAGS", "CUBLAS_WORKSPACE_CONFIG"), device=device)
            _, flags, cublas = text.decode().split("|")
            told[device] = flags.split(), cublas
    assert told["cuda"] == ([*told["cpu"][0], "--xla_gpu_deterministic_ops=true"], ":4096:8")
    assert "--xla_gpu_autotune_level=2" in told["cuda"][0]
    assert told["cpu"][1] == "-"
    assert not any("deterministic" in flag for flag in told["cpu"][0])


def test_a_unit_for_a_gpu_is_refused_where_there_is_none(pool):
    assert pool.slots("cuda") == 0
    with pytest.raises(BenchError, match=r"a unit needs a GPU, and none is visible here\. Use --device cpu"):
        pool.submit(0, (who, ()), 60.0, device="cuda")


def test_the_pool_knows_which_units_run(tmp_path):
    go, before = tmp_path / "go", time.monotonic()
    with opened(jobs=2) as pool:
        for key in range(3):
            pool.submit(key, (wait_for, (str(go),)), 60.0)
        wait_until(lambda: len(pool.running()) == 2)
        assert set(pool.running()) == {0, 1}
        assert all(before <= began <= time.monotonic() for began in pool.running().values())
        go.touch()
        assert dict(pool.outcomes()) == dict.fromkeys(range(3), b"")
        assert not pool.running()
