"""``bfc-bench data``: listing, showing, fetching; where data sets are looked for; bad data end in one line."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from data_files import mnist_files, write

from bfc_bench.cli.app import run
from bfc_bench.tasks.data import public
from bfc_bench.tasks.data.mnist import Mnist

pytestmark = pytest.mark.usefixtures("nowhere")
IMAGES = np.random.default_rng(0).integers(0, 256, (200, 4, 4)).astype(np.uint8)
MNIST = mnist_files(IMAGES, (np.arange(200) % 10).astype(np.uint8))


@pytest.fixture
def brought(tmp_path):
    return write(tmp_path / "brought", MNIST)


def test_the_list_says_what_is_there_and_what_to_type(capsys, brought):
    assert run(["data", "list"]) == 0
    states = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "here" in states["digits"]
    assert "not here; `bfc-bench data get mnist`" in states["mnist"]
    assert "options needed: path, target" in states["table"]
    assert run(["data", "list", "--data", str(brought)]) == 0
    states = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "not here" not in states["mnist"]


def test_show_prints_what_is_held_and_writes_a_sheet_of_examples(capsys, brought, tmp_path):
    sheet = tmp_path / "sheet.png"
    assert run(["data", "show", "mnist", "--set", "pool=2", "--data", str(brought), "--output", str(sheet)]) == 0
    out = capsys.readouterr().out
    assert "200 to train on, 200 to test on" in out
    assert "images of 1 x 2 x 2" in out
    assert "10: 0 (20), 1 (20)" in out
    assert f"examples: {sheet}" in out
    assert sheet.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_show_of_values_has_their_range(capsys):
    assert run(["data", "show", "diabetes"]) == 0
    out = capsys.readouterr().out
    assert "points: 442, no test part" in out
    assert "columns: age, sex, bmi" in out
    assert "target: 25 to 346, mean 152.133, deviation 77.0" in out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["show", "digit"], "unknown data set 'digit'. Did you mean 'digits'?"),
        (["show", "mnist"], "`bfc-bench data get mnist` fetches it"),
        (["show", "digits", "--set", "pool=2"], "unknown option 'pool'"),
        (["get", "digits"], "data set 'digits' is not one that can be fetched"),
        (["get", "mnits"], "Did you mean 'mnist'?"),
        (["list", "--data", "/none"], "--data /none: there is no such folder"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(capsys, arguments, expected):
    assert run(["data", *arguments]) == 2
    message = capsys.readouterr().err
    assert expected in message
    assert len(message.splitlines()) == 1


@pytest.fixture
def server():
    """Serves what is in its dict ``files``."""
    files: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            content = files.get(self.path.lstrip("/"))
            self.send_response(200 if content else 404)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *arguments):
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.files = files
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.fixture
def published(server, monkeypatch):
    """MNIST at an address of this machine, with the checksums of what is there."""
    pytest.importorskip("pooch")
    server.files |= MNIST
    monkeypatch.setattr(Mnist, "source", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setattr(Mnist, "checksums", {n: hashlib.md5(c).hexdigest() for n, c in server.files.items()})
    return server


def test_get_fetches_and_then_it_is_there(capsys, published, tmp_path):
    assert run(["data", "get", "mnist"]) == 0
    folder = Path(capsys.readouterr().out.strip())
    assert folder == tmp_path / "XDG_CACHE_HOME" / "bfc-bench" / "data" / "mnist"
    assert sorted(path.name for path in folder.iterdir()) == sorted(published.files)
    published.files.clear()  # nothing is fetched twice
    assert run(["data", "get", "mnist"]) == 0
    assert run(["data", "show", "mnist", "--output", str(tmp_path / "m.png")]) == 0


def test_another_file_than_the_original_is_not_kept(capsys, published, tmp_path):
    name = "train-images-idx3-ubyte.gz"
    published.files[name] += b"more"
    assert run(["data", "get", "mnist"]) == 1
    message = capsys.readouterr().err
    assert f"mnist: {name} could not be fetched from http://127.0.0.1" in message
    assert "hash" in message
    assert len(message.splitlines()) == 1
    assert not (tmp_path / "XDG_CACHE_HOME" / "bfc-bench" / "data" / "mnist" / name).exists()


def test_without_pooch_it_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pooch", None)
    assert run(["data", "get", "mnist"]) == 2
    assert "python -m pip install 'bfc-bench[data]'" in capsys.readouterr().err


def test_a_run_never_downloads(capsys, monkeypatch, suite_file, tmp_path):
    monkeypatch.setattr(public, "fetch", lambda *arguments: pytest.fail("fetched"))
    task = {"name": "m", "data": {"kind": "mnist"}, "n": [10]}
    suite = suite_file(task=[task], learner=[{"name": "kernel-ridge"}])
    assert run(["run", str(suite), "--store", str(tmp_path / "store")]) == 2
    assert "`bfc-bench data get mnist` fetches it" in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


def test_plan_and_workers_of_a_run_find_what_data_names(capsys, suite_file, cli, brought, tmp_path):
    task = {"name": "m", "data": {"kind": "mnist", "pool": 2}, "n": [20, 50]}
    suite = suite_file(task=[task], learner=[{"name": "sklearn:neighbors.KNeighborsClassifier"}])
    store = tmp_path / "store"
    assert run(["plan", str(suite), "--store", str(store), "--data", str(brought)]) == 0
    assert "2 to do" in capsys.readouterr().out
    done = cli("run", suite, "--store", store, "--jobs", "1", "--data", brought)
    assert done.returncode == 0, done.stderr
    done = cli("results", suite, "--store", store, "--format", "json")
    rows = json.loads(done.stdout)
    assert [(row["n"], row["status"]) for row in rows] == [(20, "ok"), (50, "ok")]
