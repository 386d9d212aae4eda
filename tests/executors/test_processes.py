"""Units in processes of their own: whatever becomes of a worker, its unit ends, and no other one is touched."""

from __future__ import annotations

import atexit
import mmap
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bfc_bench.errors import BenchError
from bfc_bench.executors import pipes, worker_context
from bfc_bench.executors.base import Resources, UnitFailure
from bfc_bench.executors.environment import ENVIRONMENT
from bfc_bench.executors.processes import ProcessExecutor, ProcessPool

GRANDCHILD = "import time; time.sleep(60)"


def do(payload: tuple[str, Any]) -> bytes:
    """What a unit does, in a worker."""
    what, value = payload
    return DEEDS[what](value)


def say(value: str) -> bytes:
    return value.encode()


def who(_: None) -> bytes:
    return str(os.getpid()).encode()


def leave(_: None) -> bytes:
    worker_context.last_unit()
    return who(None)


def stop(code: int) -> bytes:
    os._exit(code)


def lose_a_child(file: str) -> bytes:
    """Ends with a child of its own alive, which has the worker's ends of the pipes."""
    child = subprocess.Popen([sys.executable, "-c", GRANDCHILD], close_fds=False)
    Path(file).write_text(str(child.pid))
    os._exit(0)


def half(_: None) -> bytes:
    """Killed in the middle of its answer."""

    def send(file: int, message: bytes, *others: bytes) -> None:
        os.write(file, pipes.LENGTH.pack(len(message)) + message[: len(message) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    pipes.send = send  # type: ignore[assignment]
    return b"x" * 1000


def garbage(_: None) -> bytes:
    def send(file: int, message: bytes, *others: bytes) -> None:
        os.write(file, b"\xff" * 64)

    pipes.send = send  # type: ignore[assignment]
    return b""


def words_of_a_worker(_: None) -> bytes:
    """Says what a worker must not say now."""
    send = pipes.send
    pipes.send = lambda file, *messages: send(file, b"?")  # type: ignore[assignment,misc]
    return b""


def forged(message: bytes) -> bytes:
    """Sends a message that no worker sends, in the place of its answer."""
    send = pipes.send
    pipes.send = lambda file, *messages: send(file, message)  # type: ignore[assignment,misc]
    return b""


def real_time_signal(_: None) -> bytes:
    os.kill(os.getpid(), signal.SIGRTMIN + 6)
    return b""


def closed(_: None) -> bytes:
    os.closerange(3, 1000)
    time.sleep(60)
    return b""


def late(seconds: tuple[float, float]) -> bytes:
    """Prepares itself, then starts its clock, twice."""
    before, after = seconds
    time.sleep(before)
    worker_context.clock_starts()
    time.sleep(after / 2)
    worker_context.clock_starts()
    time.sleep(after / 2)
    return b"done"


def astray(away: float) -> bytes:
    """Says that its clock starts at another time than now, then does not return within its time."""
    now = time.monotonic
    time.monotonic = lambda: now() + away  # type: ignore[assignment]
    worker_context.clock_starts()
    time.monotonic = now
    time.sleep(1.2 if away < 0 else 30)
    return b"done"


def leaves_words(file: str) -> bytes:
    """Registers something for the end of its process, and prints half a line."""
    atexit.register(Path(file).write_text, "ended")
    print("half a line", end="")
    return b"done"


def terminated(_: None) -> bytes:
    os.kill(os.getpid(), signal.SIGTERM)
    return b""


def crash(_: None) -> bytes:
    os.kill(os.getpid(), signal.SIGSEGV)
    return b""


def environment(_: None) -> bytes:
    """As the system shows it to whoever may read ``/proc``."""
    return Path("/proc/self/environ").read_bytes()


def crowded(_: None) -> bytes:
    """Has asked for nearly all that it may when it crashes, as a compiler does that does not check what it gets."""
    worker_context.may_take(10**8)
    worker_context.clock_starts()
    held = mmap.mmap(-1, 95_000_000, flags=mmap.MAP_PRIVATE)
    time.sleep(3)  # until the session has looked, on a busy machine too
    os.kill(os.getpid(), signal.SIGSEGV)
    return bytes(held[:1])


def refused(_: None) -> bytes:
    """Is refused what is far too much, and only until the unit has ended."""
    worker_context.may_take(10**8)
    try:
        bytearray(3 * 10**8)
    except MemoryError:
        return b"refused"
    return b"given"


def asks(_: None) -> bytes:
    return str(len(bytearray(3 * 10**8))).encode()


def raising(_: None) -> bytes:
    raise SystemExit("enough")


def seen(_: None) -> bytes:
    """What a worker is told of GPUs."""
    names = ("CUDA_VISIBLE_DEVICES", "XLA_PYTHON_CLIENT_MEM_FRACTION", "BFC_BENCH_GPU_SHARE", "JAX_PLATFORMS")
    return " ".join([str(os.getpid()), *(os.environ.get(name, "-") or "none" for name in names)]).encode()


def variables(names: tuple[str, ...]) -> bytes:
    return "|".join(os.environ.get(name, "none") for name in names).encode()


def nap(seconds: float) -> bytes:
    time.sleep(seconds)
    return seen(None)


DEEDS: dict[str, Callable[[Any], bytes]] = {
    f.__name__: f
    for f in (
        *(say, who, leave, stop, lose_a_child, half, garbage, words_of_a_worker, closed, late, astray, raising),
        *(forged, real_time_signal),
        *(terminated, crash, environment, crowded, refused, asks, seen, nap, variables, leaves_words),
    )
}
DEATHS = {
    "stop": ("killed", "exit code 0"),
    "half": ("lost", "SIGKILL"),
    "terminated": ("lost", "SIGTERM"),
    "crash": ("killed", "SIGSEGV"),
    "garbage": ("killed", "closed its connection"),
    "words_of_a_worker": ("killed", "closed its connection"),
    "closed": ("killed", "closed its connection"),
    "real_time_signal": ("killed", "ended by signal"),
}
FORGED = {
    "nested error": b"!" + b"[" * 100_000,
    "nested clock": b"c" + b"[" * 100_000,
    "a number for a reason": b'![1, "trace"]',
    "three texts": b'!["a", "b", "c"]',
    "an endless limit": b"c[1e400, 1e400, 0, 0]",
    "a limit without what was held": b"c[1.0, 5]",
    "no clock": b"c[]",
    "half a text": b'!["\xff", ""]',
}


@pytest.fixture(params=["fork", "spawn"])
def pool(request: pytest.FixtureRequest) -> Iterator[ProcessPool]:
    pool = ProcessExecutor(start=request.param).open(do, jobs=1)
    yield pool
    pool.close(now=True)


def outcomes(pool: ProcessPool, *payloads: tuple[str, Any], seconds: float = 60.0) -> list[bytes | UnitFailure]:
    """What becomes of units, in their order."""
    for key, payload in enumerate(payloads):
        pool.submit(key, payload, Resources(seconds))
    found = dict(pool.outcomes())
    return [found[key] for key in range(len(payloads))]


def test_messages_that_are_sent_at_once_come_one_by_one() -> None:
    reading, writing = os.pipe()
    inbox, sent = pipes.Inbox(reading), [b"result", b"", b"ready" * 1000]
    pipes.send(writing, *sent)
    assert inbox.read()
    assert list(inbox.messages()) == sent
    os.close(writing)
    assert not inbox.read()
    os.close(reading)


@pytest.mark.parametrize("how", DEATHS)
def test_a_death_is_its_units_own_and_is_noticed_at_once(pool: ProcessPool, how: str) -> None:
    assert outcomes(pool, ("say", "before")) == [b"before"]
    started = time.monotonic()
    pool.submit(0, (how, 0), Resources(60.0))
    ((_, fault),) = pool.outcomes()
    assert time.monotonic() - started < 30  # of 60 s allowed
    assert isinstance(fault, UnitFailure)
    kind, reason = DEATHS[how]
    assert (fault.kind, reason in fault.reason) == (kind, True), fault
    assert outcomes(pool, ("say", "after")) == [b"after"]


@pytest.mark.parametrize("message", FORGED.values(), ids=FORGED)
def test_a_forged_message_costs_its_unit_only(pool: ProcessPool, message: bytes) -> None:
    fault, after = outcomes(pool, ("forged", message), ("say", "after"))
    assert isinstance(fault, UnitFailure)
    assert (fault.kind, "closed its connection" in fault.reason, after) == ("killed", True, b"after")


def test_what_a_worker_started_ends_with_it_and_holds_up_nobody(pool: ProcessPool, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    assert outcomes(pool, ("say", "before")) == [b"before"]
    started = time.monotonic()
    (fault,) = outcomes(pool, ("lose_a_child", str(file)))
    assert time.monotonic() - started < 30  # of 60 s allowed
    assert isinstance(fault, UnitFailure)
    assert "exit code 0" in fault.reason
    state = subprocess.run(["ps", "-o", "stat=", "-p", file.read_text()], capture_output=True, text=True, check=False)
    assert state.stdout.strip()[:1] in ("", "Z")  # "ZN" under nice


def test_a_units_time_counts_from_when_it_says_so_and_only_once(pool: ProcessPool) -> None:
    found = outcomes(pool, ("late", (1.0, 0.1)), ("late", (0.0, 1.2)), ("late", (0.0, 30.0)), seconds=0.8)
    assert found[0] == b"done"
    assert [fault.kind for fault in found[1:] if isinstance(fault, UnitFailure)] == ["timeout", "timeout"]
    assert "0.8 s" in found[2].reason  # type: ignore[union-attr]


def test_a_worker_whose_clock_is_in_the_future_has_no_more_time_than_others(pool: ProcessPool) -> None:
    (fault,) = outcomes(pool, ("astray", 1e6), seconds=0.8)
    assert isinstance(fault, UnitFailure)
    assert (fault.kind, "0.8 s" in fault.reason) == ("timeout", True)


def test_a_worker_whose_clock_is_in_the_past_has_no_less_time_than_since_it_got_its_unit(pool: ProcessPool) -> None:
    assert outcomes(pool, ("astray", -1e6), seconds=20.0) == [b"done"]


def test_memory_is_refused_to_the_unit_that_has_a_limit_only(pool: ProcessPool) -> None:
    assert outcomes(pool, ("refused", None), ("asks", None)) == [b"refused", b"300000000"]


def test_a_crash_at_the_limit_is_for_want_of_memory(pool: ProcessPool) -> None:
    (fault,) = outcomes(pool, ("crowded", None))
    assert isinstance(fault, UnitFailure)
    assert (fault.kind, "nearly all of the 0.1 GB allowed" in fault.reason) == ("memory", True), fault


def test_no_worker_ever_sees_a_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_TRACKING_TOKEN", "AWS_ACCESS_KEY_ID", "GH_TOKEN", "DB_PASSWORD"):
        monkeypatch.setenv(name, "hunter2")
    monkeypatch.setenv("PROXY", "http://me:hunter2@proxy")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    pool = ProcessExecutor().open(do, jobs=1)
    (seen,) = outcomes(pool, ("environment", None))
    assert os.environ["MLFLOW_TRACKING_TOKEN"] == "hunter2"  # MLflow is told of rows meanwhile
    pool.close()
    assert isinstance(seen, bytes)
    assert b"hunter2" not in seen
    assert b"TOKENIZERS_PARALLELISM=false" in seen
    shown = subprocess.run(["printenv", "DB_PASSWORD"], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "hunter2"


def test_what_a_unit_raises_is_told(pool: ProcessPool) -> None:
    raised, after, unknown = outcomes(pool, ("raising", None), ("say", "after"), ("nothing", None))
    assert (raised.kind, raised.reason, after) == ("raised", "SystemExit: enough", b"after")  # type: ignore[union-attr]
    assert "in raising" in raised.traceback  # type: ignore[union-attr]
    assert unknown.reason == "KeyError: 'nothing'"  # type: ignore[union-attr]


def test_a_worker_is_kept_until_it_asks_to_be_replaced(pool: ProcessPool) -> None:
    first, second, third, fourth = outcomes(pool, ("who", None), ("leave", None), ("who", None), ("who", None))
    assert first == second != third == fourth


def placed(executor: ProcessExecutor, units: int = 6) -> dict[str, list[str]]:
    """The distinct workers of units on the CPU and on GPUs, by what they are told."""
    pool = executor.open(do, jobs=2)
    try:
        for key in range(2 * units):
            pool.submit(key, ("nap", 0.2), Resources(60.0, device="cuda" if key % 2 else "cpu"))
        told = {outcome.decode() for _, outcome in pool.outcomes()}
    finally:
        pool.close()
    workers: dict[str, list[str]] = {}
    for worker in sorted(told):
        pid, _, environment = worker.partition(" ")
        workers.setdefault(environment, []).append(pid)
    return workers


def test_every_gpu_has_a_worker_of_its_own_beside_those_on_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    workers = placed(ProcessExecutor(gpus=[0, "GPU-5"]))
    counts = {environment: len(pids) for environment, pids in workers.items()}
    assert counts.pop("none - - cpu") in (1, 2)  # of two, of which one may have done all before the other was there
    assert counts == {"0 0.450 0.450 -": 1, "GPU-5 0.450 0.450 -": 1}
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "7"


def test_workers_that_share_a_gpu_share_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    workers = placed(ProcessExecutor(gpus=[1], jobs_per_gpu=2))
    assert workers.keys() == {"1 0.225 0.225 -", "none - - cpu"}
    assert max(map(len, workers.values())) <= 2  # one may have done all before the other was there


def test_workers_on_a_gpu_repeat_themselves_and_those_on_the_cores_are_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_autotune_level=2")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    names = ("XLA_FLAGS", "CUBLAS_WORKSPACE_CONFIG")
    told = {}
    for device in ("cpu", "cuda"):
        pool = ProcessExecutor(gpus=[0]).open(do, jobs=1)
        try:
            pool.submit(0, ("variables", names), Resources(60.0, device=device))  # type: ignore[arg-type]
            ((_, outcome),) = pool.outcomes()
            flags, cublas = outcome.decode().split("|")  # type: ignore[union-attr]
            told[device] = flags.split(), cublas
        finally:
            pool.close()
    flags, cublas = told["cuda"]
    assert flags == [*told["cpu"][0], "--xla_gpu_deterministic_ops=true"]
    assert "--xla_gpu_autotune_level=2" in flags
    assert cublas == ":4096:8"
    assert told["cpu"][1] == "none"
    assert not any("deterministic" in flag for flag in told["cpu"][0])


def test_workers_on_the_cores_see_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    pool = ProcessExecutor().open(do, jobs=1)
    (told,) = outcomes(pool, ("seen", None))
    pool.close()
    assert told.partition(b" ")[2] == b"none - - cpu"  # type: ignore[union-attr]


def test_a_unit_for_a_gpu_is_refused_where_there_is_none(pool: ProcessPool) -> None:
    assert pool.slots("cuda") == 0
    with pytest.raises(BenchError, match=r"a unit needs a GPU, and none is visible here\. Use --device cpu"):
        pool.submit(0, ("seen", None), Resources(60.0, device="cuda"))


def test_large_messages_and_more_units_meanwhile(pool: ProcessPool) -> None:
    text = "x" * 5_000_000
    pool.submit(0, ("say", text), Resources(60.0))
    seen = []
    for key, outcome in pool.outcomes():
        seen.append(outcome)
        if key < 3:
            pool.submit(key + 1, ("say", text), Resources(60.0))
    assert seen == [text.encode()] * 4


class Ending:
    """A function that ends the process which unpickles it."""

    def __call__(self, payload: tuple[str, Any]) -> bytes:
        return do(payload)

    def __reduce__(self) -> tuple[Callable[[int], None], tuple[int]]:
        return os._exit, (3,)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_that_cannot_start_end_the_run_with_a_reason(start: Any) -> None:
    pool = ProcessExecutor(start=start).open(Ending(), jobs=2)
    pool.submit(0, ("say", "never"), Resources(60.0))
    with pytest.raises(BenchError, match=r"worker processes in a row ended before they could work, .* exit code 3"):
        list(pool.outcomes())
    pool.close(now=True)


def test_workers_do_at_their_end_what_was_registered_for_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pool = ProcessExecutor().open(do, jobs=1)
    assert outcomes(pool, ("leaves_words", str(tmp_path / "said"))) == [b"done"]
    pool.close()
    assert (tmp_path / "said").read_text() == "ended"
    assert capfd.readouterr().out == "half a line"


def test_closing_ends_every_worker_and_the_environment_is_theirs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    before = dict(os.environ)
    pool = ProcessExecutor().open(do, jobs=2)
    assert outcomes(pool, ("variables", ("OMP_NUM_THREADS",))) == [ENVIRONMENT["OMP_NUM_THREADS"].encode()]
    pids = outcomes(pool, ("who", None), ("who", None))
    assert dict(os.environ) == before
    pool.close()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)  # type: ignore[arg-type]
