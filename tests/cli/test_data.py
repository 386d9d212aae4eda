"""``bfc-bench data``: listing, showing, fetching; where data sets are looked for; bad data end in one line."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from data_files import mnist_files, write
from served_folder import served

from bfc_bench.tasks.data import public
from bfc_bench.tasks.data.mnist import Mnist

pytestmark = pytest.mark.usefixtures("nowhere")
IMAGES = np.random.default_rng(0).integers(0, 256, (200, 4, 4)).astype(np.uint8)
MNIST = mnist_files(IMAGES, (np.arange(200) % 10).astype(np.uint8))


@pytest.fixture
def brought(tmp_path):
    return write(tmp_path / "brought", MNIST)


def test_the_list_says_what_is_there_and_what_to_type(brought, printed):
    states = {line.split()[0]: line for line in printed("data", "list").splitlines()}
    assert "here" in states["digits"]
    assert "not here; `bfc-bench data get mnist`" in states["mnist"]
    assert "options needed: path, target" in states["table"]
    states = {line.split()[0]: line for line in printed("data", "list", "--data", brought).splitlines()}
    assert "not here" not in states["mnist"]


def test_show_prints_what_is_held_and_writes_a_sheet_of_examples(brought, tmp_path, printed):
    sheet = tmp_path / "sheet.png"
    out = printed("data", "show", "mnist", "--set", "pool=2", "--data", brought, "--output", sheet)
    assert "200 to train on, 200 to test on" in out
    assert "images of 1 x 2 x 2" in out
    assert "10: 0 (20), 1 (20)" in out
    assert f"examples: {sheet}" in out
    assert sheet.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_show_of_values_has_their_range(printed):
    out = printed("data", "show", "diabetes")
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
def test_what_cannot_be_done_is_one_line_and_exit_code_2(arguments, expected, refused):
    message = refused("data", *arguments)
    assert expected in message
    assert len(message.splitlines()) == 1


@pytest.fixture
def published(tmp_path, monkeypatch):
    """The folder of MNIST at an address of this machine, with the checksums of what is there."""
    pytest.importorskip("pooch")
    folder = write(tmp_path / "published", MNIST)
    monkeypatch.setattr(Mnist, "checksums", {n: hashlib.md5(c).hexdigest() for n, c in MNIST.items()})
    with served(folder) as address:
        monkeypatch.setattr(Mnist, "source", f"{address}/")
        yield folder


def test_get_fetches_and_then_it_is_there(published, tmp_path, printed):
    folder = Path(printed("data", "get", "mnist").strip())
    assert folder == tmp_path / "XDG_CACHE_HOME" / "bfc-bench" / "data" / "mnist"
    assert sorted(path.name for path in folder.iterdir()) == sorted(MNIST)
    shutil.rmtree(published)  # nothing is fetched twice
    printed("data", "get", "mnist")
    printed("data", "show", "mnist", "--output", tmp_path / "m.png")


def test_another_file_than_the_original_is_not_kept(cli, published, tmp_path):
    name = "train-images-idx3-ubyte.gz"
    write(published, {name: MNIST[name] + b"more"})
    done = cli("data", "get", "mnist")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert f"mnist: {name} could not be fetched from http://127.0.0.1" in done.stderr
    assert "hash" in done.stderr
    assert not (tmp_path / "XDG_CACHE_HOME" / "bfc-bench" / "data" / "mnist" / name).exists()


def test_without_pooch_it_says_what_to_install(monkeypatch, refused):
    monkeypatch.setitem(__import__("sys").modules, "pooch", None)
    assert "python -m pip install 'bfc-bench[data]'" in refused("data", "get", "mnist")


def test_a_run_never_downloads(monkeypatch, suite_file, tmp_path, refused):
    monkeypatch.setattr(public, "fetch", lambda *arguments: pytest.fail("fetched"))
    task = {"name": "m", "data": {"kind": "mnist"}, "n": [10]}
    suite = suite_file(task=[task], learner=[{"name": "kernel-ridge"}])
    assert "`bfc-bench data get mnist` fetches it" in refused("run", suite, "--store", tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_plan_and_workers_of_a_run_find_what_data_names(suite_file, cli, brought, tmp_path, printed):
    task = {"name": "m", "data": {"kind": "mnist", "pool": 2}, "n": [20, 50]}
    suite = suite_file(task=[task], learner=[{"name": "sklearn:neighbors.KNeighborsClassifier"}])
    store = tmp_path / "store"
    assert "2 to do" in printed("plan", suite, "--store", store, "--data", brought)
    printed("run", suite, "--store", store, "--jobs", "1", "--data", brought)
    done = cli("results", suite, "--store", store, "--format", "json")
    rows = json.loads(done.stdout)
    assert [(row["n"], row["status"]) for row in rows] == [(20, "ok"), (50, "ok")]
