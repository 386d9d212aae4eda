import ctypes
import os
import signal
import subprocess
import sys
import threading
import warnings
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest
from browser import CHROMIUM, DRIVER
from installed_faulty import install_faulty
from small_tasks import write_suite
from stored_rows import read_results

from bfc_bench import RunOptions, run_suite
from bfc_bench.tasks.data.mnist import FashionMnist
from bfc_bench.toolkit.libraries import missing
from bfc_bench.toolkit.xla import VARIABLE, with_instructions

# Where ``benchmarks`` is; last, so that the installed bfc_bench stays the one that is tested.
sys.path.append(str(Path(__file__).parents[1]))
# Tests import JAX in processes that later run programs of learners.
os.environ[VARIABLE] = with_instructions(os.environ.get(VARIABLE, ""))
# Caches, and Chromium, need a home that can be written.
if not os.access(os.path.expanduser("~"), os.W_OK):
    os.environ["HOME"] = (HOME := TemporaryDirectory()).name
# Runs log to MLflow in its own tests alone.
os.environ["BFC_BENCH_NO_MLFLOW"] = "1"
ALL_SECONDS = float(os.environ.get("BFC_TESTS_SECONDS", "3600"))
"""Time limit for all tests together."""


def pytest_configure(config):
    """Make sure that signals are received and that the tests end in time.

    A background command of a non-interactive shell ignores SIGINT and SIGHUP, and so do its children, but tests need
    programs that receive both.
    """
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):  # runs no tests itself
        last = threading.Timer(ALL_SECONDS, _end)
        last.daemon = True
        last.start()


def pytest_runtest_setup(item):
    """Skip what this machine lacks the program or the files for."""
    if item.get_closest_marker("browser") and not (CHROMIUM and DRIVER):
        pytest.skip("needs Chromium and its driver")
    if item.get_closest_marker("images") and (missing_images := FashionMnist().missing_files()):
        pytest.skip(missing_images)


def _end():
    """End this process and those that run tests, even if one of them is stopped."""
    print(f"The tests did not end in {ALL_SECONDS:g} s.", file=sys.__stderr__, flush=True)
    for process in psutil.Process().children(recursive=True):
        process.kill()
    os._exit(1)


@pytest.fixture(autouse=True, scope="module")
def without_old_programs():
    """Drops what JAX has compiled for a file of tests, and gives its memory back, gigabytes by the end."""
    yield
    if jax := sys.modules.get("jax"):
        jax.clear_caches()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)


@pytest.fixture
def usable():
    """Skips a test of a learner whose library is missing."""

    def skip_where_not(learner):
        if reason := missing(learner.capabilities.required):
            pytest.skip(reason)

    return skip_where_not


@pytest.fixture
def faulty(tmp_path, monkeypatch):
    """A folder with an installed distribution of faulty learners, on the path of this process and its workers."""
    return install_faulty(tmp_path / "site", monkeypatch)


@pytest.fixture
def suite_file(tmp_path):
    """Writes a tiny suite file: ``suite_file(learner=[...], replicates=1, ...)``."""

    return partial(write_suite, tmp_path)


@pytest.fixture
def rows_of(suite_file, tmp_path):
    """Runs a tiny suite and gives its rows: ``rows_of(learner=[...])``; in this process, or in a number of workers."""

    def rows(jobs=None, **values):
        path = suite_file(**values)
        run_suite(path, RunOptions(store=tmp_path / "store", jobs=jobs, executor="processes" if jobs else "serial"))
        return read_results(path, store=tmp_path / "store")

    return rows


@pytest.fixture
def bench():
    """Runs ``bfc-bench`` in a separate process."""

    def run(*arguments, timeout=120, **options):
        command = [sys.executable, "-m", "bfc_bench", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, **options)

    return run


@pytest.fixture
def cli(capsys):
    """Runs ``bfc-bench`` in this process, with the warnings that a process of its own would show."""
    from bfc_bench.cli.app import run

    def call(*arguments):
        capsys.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", UserWarning)
            code = run([*map(str, arguments)])
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    return call


@pytest.fixture
def printed(cli):
    """What a command that succeeds prints: ``printed("plan", path)``."""

    def out(*arguments):
        done = cli(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return out


@pytest.fixture
def refused(cli):
    """What is said of a command that is bad usage, exit code 2: ``refused("plan", "no-such-suite")``."""

    def err(*arguments):
        done = cli(*arguments)
        assert done.returncode == 2, done.stdout + done.stderr
        return done.stderr

    return err


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """No public data set is there but those that a test puts into the folder."""
    for name in ("XDG_DATA_DIRS", "XDG_CACHE_HOME", "BFC_BENCH_DATA"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    return tmp_path / "BFC_BENCH_DATA"


@pytest.fixture
def tmpfs(tmp_path):
    """A file system of 600 kB."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"cannot mount a small file system here: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=False)
