"""The command that runs all tests ends, whatever a test does, and says which test it was."""

import shutil
import sys
import tomllib
from configparser import ConfigParser
from pathlib import Path

import pytest
from waiting import completed

ROOT = Path(__file__).parents[2]
COMMAND = ConfigParser(interpolation=None)
COMMAND.read(ROOT / "tox.ini")
WORDS = COMMAND["testenv:tests"]["commands"].replace("{posargs}", "").split()


def copy_conftest(folder):
    for name in ("conftest.py", "browser.py", "installed_faulty.py", "small_tasks.py", "stored_rows.py"):
        shutil.copy(ROOT / "tests" / name, folder)


def run(folder, code, **limits):
    """README's command on two files of tests, of which one misbehaves, with shorter limits."""
    copy_conftest(folder)
    (folder / "test_bad.py").write_text(f"import itertools, os, signal, time\n\n\ndef test_guilty():\n    {code}\n")
    (folder / "test_good.py").write_text("def test_innocent():\n    pass\n")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"] | limits
    kept = ("faulthandler_timeout", "faulthandler_exit_on_timeout")
    (folder / "pytest.ini").write_text("[pytest]\n" + "".join(f"{name} = {settings[name]}\n" for name in kept))
    command = [sys.executable, "-m", *WORDS, "-p", "no:cacheprovider"]
    return completed(command, cwd=folder, timeout=120)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crashed while running 'test_bad.py::test_guilty'"),
        # It never lets another thread or a signal handler run.
        ("sum(itertools.repeat(1))", "crashed while running 'test_bad.py::test_guilty'"),
    ],
)
def test_it_ends_and_names_the_test(tmp_path, code, said):
    ran = run(tmp_path, code, faulthandler_timeout=3)
    assert ran.returncode == 1
    assert said in ran.stdout
    assert "1 failed" in ran.stdout


def test_it_ends_where_a_process_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setenv("BFC_TESTS_SECONDS", "8")
    ran = run(tmp_path, "os.kill(os.getpid(), signal.SIGSTOP)")
    assert ran.returncode == 1
    assert "The tests did not end in 8 s." in ran.stderr


def test_signals_are_heard_in_the_background_of_a_shell(tmp_path):
    code = "assert [signal.getsignal(n) for n in (1, 2)] == [signal.SIG_DFL, signal.default_int_handler]"
    (tmp_path / "ignore.py").write_text(
        "import runpy, signal, sys\n"
        "for number in (signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)\n"
        "sys.argv = sys.argv[1:]\nrunpy.run_module('pytest', run_name='__main__')\n"
    )
    copy_conftest(tmp_path)
    (tmp_path / "test_heard.py").write_text(f"import signal\n\n\ndef test_heard():\n    {code}\n")
    command = [sys.executable, "ignore.py", "pytest", "-q", "-p", "no:cacheprovider", "test_heard.py"]
    ran = completed(command, cwd=tmp_path, timeout=120)
    assert ran.returncode == 0, ran.stdout
