"""Distributions of other people, installed into an environment of their own and used through the command line."""

import json
import os
import re
import shutil
import sys
import sysconfig
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest
from guide_code import guide_code
from installed_faulty import describe
from waiting import completed

from bfc_bench.cli.new import write_distribution

ROOT = Path(__file__).parents[2]
NEEDS_TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="the code of the guide imports torch")
GOOD = "bfc-bench-nearest-neighbour:nearest-neighbour"


class Outside:
    """A fresh virtual environment that sees what this one has installed."""

    def __init__(self, folder):
        venv.create(folder, with_pip=False)
        self.folder = folder
        self.python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        # addsitedir, not a bare path: an editable installation is a .pth file, which a bare path would not read.
        paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
        line = "import site; " + "; ".join(f"site.addsitedir({path!r})" for path in sorted(paths))
        (self._site_packages() / "parent.pth").write_text(line + "\n")

    def _site_packages(self):
        return Path(sysconfig.get_path("purelib", vars={"base": str(self.folder), "platbase": str(self.folder)}))

    def install(self, *sources):
        """Install from source, without a network."""
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "--disable-pip-version-check", "--quiet"]
        done = completed([*pip, "install", "--no-index", "--no-deps", "--no-build-isolation", *map(str, sources)])
        assert done.returncode == 0, done.stdout + done.stderr

    def bench(self, *arguments, cwd, path=None, exit_code=0):
        """What ``bfc-bench`` writes in the environment, with ``path`` among its installations."""
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        variables |= {"PYTHONPATH": str(path)} if path else {}
        done = completed([self.python, "-m", "bfc_bench", *arguments], cwd=cwd, env=variables, timeout=300)
        assert done.returncode == exit_code, done.stdout + done.stderr
        return done


def write_module(folder, name, code):
    """A distribution of one module, announced to bfc_bench."""
    folder.mkdir(parents=True)
    (folder / f"outside_{name}.py").write_text(code)
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        f'[project]\nname = "outside-{name}"\nversion = "1"\n'
        f'[project.entry-points.bfc_bench]\n{name} = "outside_{name}"\n'
        f'[tool.setuptools]\npy-modules = ["outside_{name}"]\n'
    )
    return folder


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """An environment with the generated learner, and with a distribution that does not import."""
    folder = tmp_path_factory.mktemp("outside")
    environment = Outside(folder / "environment")
    write_distribution("learner", "nearest-neighbour", folder / "good")
    broken = write_module(folder / "broken", "broken", "import a_library_that_is_not_there\n")
    environment.install(folder / "good", broken)
    return environment


def test_a_learner_is_listed_with_its_origin_and_a_broken_plugin_with_the_reason(outside, tmp_path):
    done = outside.bench("list", cwd=tmp_path)
    [line] = [line for line in done.stdout.splitlines() if line.startswith("learner") and " nearest-neighbour " in line]
    assert GOOD in line
    assert "Averages the labels" in line
    [line] = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("outside-broken:broken")]
    assert "unavailable: ModuleNotFoundError: No module named 'a_library_that_is_not_there'" in line
    assert "kernel-ridge" in done.stdout


REGISTERS_A_TAKEN_NAME = """
from typing import ClassVar
from bfc_bench import Learner, hookimpl

class Twin(Learner):
    name: ClassVar[str] = "nearest-neighbour"
    def fit(self, train, ctx):
        raise NotImplementedError

@hookimpl
def bfc_register(register):
    register.learner(Twin)
"""

REGISTERS = """
from bfc_bench import hookimpl

@hookimpl
def bfc_register(register):
    register.{}
"""


BROKEN = {
    "twin": (
        REGISTERS_A_TAKEN_NAME,
        ["learner outside_twin.Twin: the name 'nearest-neighbour'", GOOD, "keeps it, and 'outside-twin:twin'"],
    ),
    "wrong": (REGISTERS.format("inputs(dict)"), ["input distribution builtins.dict must be a subclass of bfc_bench."]),
    "gone": (REGISTERS.format("listener('gone', 'nowhere:gone')"), ["listener 'gone'", "No module named 'nowhere'"]),
    "exits": ("raise SystemExit('no licence')", ["SystemExit: no licence"]),
    "interrupts": ("raise KeyboardInterrupt", ["KeyboardInterrupt"]),
}
"""A module's code, and what is said of it."""


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """Where a distribution for each way of breaking the contract is installed."""
    folder = tmp_path_factory.mktemp("broken")
    for name, (code, _) in BROKEN.items():
        (folder / f"outside_{name}.py").write_text(code)
        describe(folder, f"outside-{name}", name, f"outside_{name}")
    return folder


@pytest.mark.parametrize(("verb", "exit_code"), [("list", 0), ("doctor", 1)])
def test_plugins_that_break_the_contract_are_listed_with_the_reason_and_stop_nothing(
    outside, broken, tmp_path, verb, exit_code
):
    done = outside.bench(verb, cwd=tmp_path, path=broken, exit_code=exit_code)
    assert "Traceback" not in done.stderr
    for name, (_, words) in BROKEN.items():
        [line] = [line for line in done.stdout.splitlines() if f"outside-{name}:{name}: unavailable: " in line]
        assert all(word in line for word in words), line


def test_a_suite_that_needs_what_is_broken_is_told_why(outside, broken, tmp_path):
    outside.bench("plan", "smoke", cwd=tmp_path, path=broken)
    wrong = ["--set", "task.teacher-L3.inputs.kind='wrong'"]
    done = outside.bench("plan", "smoke", *wrong, cwd=tmp_path, path=broken, exit_code=2)
    assert "unknown input distribution 'wrong'" in done.stderr
    assert "Plugin 'outside-exits:exits' is unavailable: SystemExit: no licence" in done.stderr
    assert "Plugin 'outside-wrong:wrong' is unavailable: input distribution builtins.dict must" in done.stderr
    assert "Twin" not in done.stderr
    assert "warning: outside-gone:gone" in outside.bench("run", "--help", cwd=tmp_path, path=broken).stderr


PARTS = {
    "task": [
        {
            "name": "waves",
            "inputs": {"kind": "laplace"},
            "target": {"kind": "wave", "frequency": 0.5},
            "labels": {"kind": "rounded", "step": 0.2},
            "d": [3],
            "n": [10, 14],
        }
    ],
    "learner": [{"name": "ridge-on-squares", "tune": {}}],
    "claim": [
        {"id": "fits", "kind": "overfits", "label": "ridge-on-squares", "task": "waves"},
        {"id": "near", "kind": "reaches", "label": "ridge-on-squares", "task": "waves", "at_most": 50.0}
        | {"metric": "metrics.largest_error"},
    ],
}


@pytest.fixture(scope="module")
def guide(tmp_path_factory):
    """Where the code of the guide is installed."""
    folder = tmp_path_factory.mktemp("guide")
    (folder / "outside_guide.py").write_text(guide_code())
    describe(folder, "outside-guide", "guide", "outside_guide")
    shutil.copy(ROOT / "plugins" / "example" / "first.toml", folder)
    return folder


@NEEDS_TORCH
def test_one_of_each_part_is_listed_with_its_origin(outside, guide, tmp_path):
    done = outside.bench("list", cwd=tmp_path, path=guide)
    lines = [line for line in done.stdout.splitlines() if "outside-guide:guide" in line]
    assert dict(re.split(r"  +", line)[:2] for line in lines) == {
        "learner": "ridge-on-squares",
        "input distribution": "laplace",
        "target": "wave",
        "joint law": "two-coins",
        "labelling": "rounded",
        "data set": "logbook",
        "metric": "largest_error",
        "claim kind": "overfits",
        "suite": "first",
        "executor": "futures",
        "plot": "every cell",
        "verb": "best",
    }


@NEEDS_TORCH
def test_a_suite_of_parts_from_outside_runs_is_judged_and_reported(outside, guide, tmp_path, suite_file):
    suite, store = str(suite_file("guide", replicates=4, **PARTS)), str(tmp_path / "store")

    def bench(verb, *arguments):
        return outside.bench(verb, suite, "--store", store, *arguments, cwd=tmp_path, path=guide).stdout

    heard = bench("run", "--jobs", "2", "--executor", "futures")
    assert "guide: {'ok': 8}" in heard
    fits, near = json.loads(bench("results", "--what", "claims", "--format", "json"))
    assert (fits["kind"], fits["verdict"]) == ("overfits", "supported")
    assert near["statement"] == "The largest_error of ridge-on-squares is at most 50 (waves, d = 3, n = 14)."
    bench("report", "--output", str(tmp_path / "report"))
    assert 'id="figure-plot-every-cell"' in (tmp_path / "report" / "report.html").read_text()
    assert bench("best").startswith("ridge-on-squares ")
