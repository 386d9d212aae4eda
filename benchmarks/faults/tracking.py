"""Faults of MLflow servers that are down, wrong or silent, and leaks of their credentials."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from benchmarks.faults import Family
from benchmarks.faults.place import Place, end, group_of, numbers, wait_until

FAULTS = Family("tracking")
SECRET = "s3cr3t-hunter2"
RUN = "exit 0, a warning; rows and report as without MLflow"
ANSWERS = {
    "an error (500)": (b"500 No", b"text/plain", b"broken"),
    "a page of HTML": (b"200 OK", b"text/html", b"<html><body>Welcome</body></html>"),
    "broken JSON": (b"200 OK", b"application/json", b'{"experiments": [{'),
}


@contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """Run a server that passes every connection to ``answer``, and yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    threading.Thread(target=_answer, args=(answer, connection), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


def _answer(answer: Callable[[socket.socket], None], connection: socket.socket) -> None:
    with connection, suppress(OSError):
        answer(connection)


@cache
def _suite(place: Place) -> Path:
    return place.suite(replicates=2)


@cache
def _without(place: Place) -> Path:
    """A store made without MLflow."""
    store = place.new("store")
    place.bench("run", _suite(place), "--store", store, "--no-mlflow", "--executor", "serial")
    return store


def _ran(place: Place, address: str) -> str:
    """Outcome of a run that logs to an address, compared with one that logs nothing."""
    store = place.new("store")
    patience = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "5", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1"}
    run = ("run", _suite(place), "--store", store, "--executor", "serial", "--tracking-uri", address)
    ended = place.bench(*run, timeout=300, **patience)
    warned = "a warning" if "warning: " in ended.stdout + ended.stderr else f"no warning: {ended.stdout[-300:]}"
    same = numbers(place.rows(store)) == numbers(place.rows(_without(place)))
    page = (store / "reports" / "tiny@1" / "report.html").exists()
    as_without = "rows and report as without MLflow" if same and page else f"rows {same}, report {page}"
    return f"exit {ended.returncode}, {warned}; {as_without}"


@FAULTS("nothing listens where MLflow should be", RUN)
def _closed(place: Place) -> str:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    return _ran(place, f"http://127.0.0.1:{port}")


@FAULTS("MLflow's server accepts and never answers", RUN)
def _silent(place: Place) -> str:
    with serving(lambda connection: threading.Event().wait(300) and None) as port:
        return _ran(place, f"http://127.0.0.1:{port}")


def _answering(status: bytes, kind: bytes, body: bytes) -> Callable[[Place], str]:
    def answer(connection: socket.socket) -> None:
        connection.recv(65536)
        head = b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
        connection.sendall(head % (status, kind, len(body)) + body)

    def provoke(place: Place) -> str:
        with serving(answer) as port:
            return _ran(place, f"http://127.0.0.1:{port}")

    return provoke


for what, told in ANSWERS.items():
    FAULTS(f"MLflow's server answers with {what}", RUN)(_answering(*told))


@FAULTS("sync after all that, twice", "2 runs of 4 values, then nothing new")
def _twice(place: Place) -> str:
    store = _without(place)
    said = [place.bench("sync", _suite(place), "--store", store) for _ in range(2)]
    shown = place.in_mlflow(f"sqlite:///{store / 'mlflow.db'}")
    first, second = (f"exit {one.returncode}" if one.returncode else "" for one in said)
    new = place.in_mlflow(f"sqlite:///{store / 'mlflow.db'}") != shown
    return first or second or f"{shown[0]} runs of {shown[1]} values, then {'more' if new else 'nothing new'}"


@FAULTS("MLflow's database killed while it is made", "the next run makes it: exit 0, 4 values")
def _migration(place: Place) -> str:
    store = place.new("store")
    run = ("run", _suite(place), "--store", store, "--executor", "serial")
    process = place.start(*run)
    try:
        wait_until(lambda: [file for file in store.glob("*mlflow.db*") if file.stat().st_size], 120)
        process.kill()
        process.wait()
    finally:
        end(process)
    again = place.bench(*run)
    shown = place.in_mlflow(f"sqlite:///{store / 'mlflow.db'}")
    return f"the next run makes it: exit {again.returncode}, {shown[1] if shown else 'no'} values"


@FAULTS("a password in --tracking-uri", "not in store, report, log or output; not in the processes' lists")
def _password(place: Place) -> str:
    store = place.new("store")
    suite = place.suite([("slow", "slow", {"seconds": 0.5})], replicates=4)
    leaks = set[str]()

    def refuse(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 401 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")

    with serving(refuse) as port:
        address = f"http://user:{SECRET}@127.0.0.1:{port}"
        command = [sys.executable, "-m", "bfc_bench", "run", str(suite), "--store", str(store)]
        log = place.new("log")
        with log.open("wb") as file:
            process = subprocess.Popen(
                command,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**place.environment, "MLFLOW_TRACKING_URI": address},
                cwd=place.folder,
                start_new_session=True,
            )
            try:
                while process.poll() is None:
                    for pid in group_of(process.pid):
                        if pid != process.pid and SECRET.encode() in _command_and_environment(pid):
                            leaks.add("a worker's command line or environment")
                    wait_until(lambda: process.poll() is not None, 0.3)
            finally:
                process.send_signal(signal.SIGKILL) if process.poll() is None else None
                end(process)
    files = [path for path in [*store.rglob("*"), log] if path.is_file()]
    leaks |= {path.name for path in files if SECRET.encode() in path.read_bytes()}
    clean = "not in store, report, log or output; not in the processes' lists"
    return clean if not leaks else f"in {', '.join(sorted(leaks))}"


def _command_and_environment(pid: int) -> bytes:
    with suppress(OSError):
        return b"".join(Path("/proc", str(pid), name).read_bytes() for name in ("cmdline", "environ"))
    return b""
