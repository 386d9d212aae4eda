"""The core works without the extras. That an extra imports no other is a contract of the linter."""

import os
import re
import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest
from waiting import completed

import bfc_bench
from bfc_bench import Register
from bfc_bench.plugins.builtin import EXTRAS

PACKAGE = Path(bfc_bench.__file__).parent
TESTS = Path(__file__).parents[1]
WITHOUT_CORE_TESTS = ("extras", "docs", "benchmarks", "distribution", "minimal")
"""Folders of tests of extras, and of what a copy of the package does not have."""


def without_extras(folder):
    """An environment in which ``bfc_bench`` is a copy without the extras."""
    copy = shutil.copytree(PACKAGE, folder / "bfc_bench", ignore=shutil.ignore_patterns("__pycache__"))
    builtin = copy / "plugins" / "builtin.py"
    builtin.write_text(re.sub(r"^EXTRAS = .*$", "EXTRAS = ()", builtin.read_text(), flags=re.MULTILINE))
    for extra in EXTRAS:
        shutil.rmtree(copy / "extras" / extra)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(TESTS)]), "OMP_NUM_THREADS": "1"}


def bench(environment, *arguments):
    """What ``bfc-bench`` prints there."""
    command = [sys.executable, "-m", "bfc_bench", *map(str, arguments)]
    folder = environment["PYTHONPATH"].partition(os.pathsep)[0]
    done = completed(command, env=environment, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_core_works_without_them(suite_file, tmp_path):
    environment = without_extras(tmp_path / "site")
    claim = {"id": "c", "kind": "reaches", "label": "kernel-ridge", "task": "t", "at_most": 1.0}
    path, store = suite_file(learner=[{"name": "kernel-ridge"}], claim=[claim]), tmp_path / "store"
    assert "report.html" in bench(environment, "run", path, "--store", store)
    for verb in ("results", "claims", "report", "plan"):
        bench(environment, verb, path, "--store", store)
    listed = set(re.findall(r"^│ ([a-z]+) ", bench(environment, "--help"), flags=re.MULTILINE))
    assert {"run", "report", "doctor"} <= listed
    for extra in EXTRAS:
        assert not listed & verbs_of(extra)
        assert verbs_of(extra) or extra == "ray"


def verbs_of(extra):
    """The verbs that an extra registers."""
    found = set()
    add = lambda plugin, kind, part, name: found.add(name) if kind == "verb" else None  # noqa: E731
    import_module(f"bfc_bench.extras.{extra}").bfc_register(Register(extra, add))
    return found


@pytest.mark.slow
def test_smoke_and_the_tests_of_the_core_pass_without_any(tmp_path):
    environment = without_extras(tmp_path / "site")
    assert "132 ok" in bench(environment, "run", "smoke", "--store", tmp_path / "store")
    left_out = [f"--ignore={TESTS / folder}" for folder in WITHOUT_CORE_TESTS]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", str(TESTS), *left_out]
    done = completed(command, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-5000:]
