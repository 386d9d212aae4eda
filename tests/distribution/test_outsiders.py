"""Distributions of other people, installed into an environment of their own and used through the command line."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from bfc_bench.cli.new import write_distribution

GOOD = "bfc-bench-nearest-neighbour:nearest-neighbour"


class Outside:
    """A fresh virtual environment that sees what this one has installed."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False)
        self.folder = folder
        self.python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        # addsitedir, not a bare path: an editable installation is a .pth file, which a bare path would not read.
        paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
        line = "import site; " + "; ".join(f"site.addsitedir({path!r})" for path in sorted(paths))
        (self._site_packages() / "parent.pth").write_text(line + "\n")

    def _site_packages(self) -> Path:
        return Path(sysconfig.get_path("purelib", vars={"base": str(self.folder), "platbase": str(self.folder)}))

    def install(self, *sources: Path, target: Path | None = None) -> None:
        """Install from source, without a network; into the environment or into ``target``."""
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "--disable-pip-version-check", "--quiet"]
        where = ["--target", str(target)] if target else []
        command = [*pip, "install", "--no-index", "--no-deps", "--no-build-isolation", *where, *map(str, sources)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def run(self, *arguments: str, cwd: Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run Python in the environment, with ``path`` among its installations."""
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        variables |= {"PYTHONPATH": str(path)} if path else {}
        command = [str(self.python), *arguments]
        return subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, check=False, timeout=300)

    def bench(self, *arguments: str, cwd: Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run ``bfc-bench``."""
        return self.run("-m", "bfc_bench", *arguments, cwd=cwd, path=path)


def write_module(folder: Path, name: str, code: str) -> Path:
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
def outside(tmp_path_factory: pytest.TempPathFactory) -> Outside:
    """An environment with the generated learner, and with a distribution that does not import."""
    folder = tmp_path_factory.mktemp("outside")
    environment = Outside(folder / "environment")
    write_distribution("learner", "nearest-neighbour", folder / "good")
    broken = write_module(folder / "broken", "broken", "import a_library_that_is_not_there\n")
    environment.install(folder / "good", broken)
    return environment


def test_a_learner_is_listed_with_its_origin_and_a_broken_plugin_with_the_reason(
    outside: Outside, tmp_path: Path
) -> None:
    done = outside.bench("list", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stdout.splitlines() if line.startswith("learner") and " nearest-neighbour " in line]
    assert GOOD in line
    assert "Averages the labels" in line
    [line] = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("outside-broken:broken")]
    assert "unavailable: ModuleNotFoundError" in line
    assert "a_library_that_is_not_there" in line
    assert "kernel-ridge" in done.stdout


def test_check_counts_and_passes(outside: Outside, tmp_path: Path) -> None:
    done = outside.bench("check", "nearest-neighbour", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    passed, skipped = (sum(line.startswith(word) for line in lines) for word in ("passed ", "skipped "))
    assert f"{passed + skipped} checks: {passed} passed, {skipped} skipped, 0 failed" in lines
    assert passed > 20


def test_its_own_tests_pass(outside: Outside, tmp_path: Path) -> None:
    write_distribution("learner", "nearest-neighbour", tmp_path / "good")
    done = outside.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", cwd=tmp_path / "good")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_its_suite_runs(outside: Outside, tmp_path: Path) -> None:
    write_distribution("learner", "nearest-neighbour", tmp_path / "good")
    suite, store = str(tmp_path / "good" / "first.toml"), str(tmp_path / "store")
    done = outside.bench("run", suite, "--store", store, "--no-mlflow", "--jobs", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    done = outside.bench("results", suite, "--store", store, "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [row for row in json.loads(done.stdout) if row["learner"] == "nearest-neighbour"]
    assert sorted((row["n"], row["replicate"]) for row in rows) == [(n, r) for n in (100, 200, 400) for r in (0, 1)]
    assert all(row["status"] == "ok" and row["nmse"] > 0 for row in rows)


def test_an_unknown_learner_suggests_the_nearest(outside: Outside, tmp_path: Path) -> None:
    done = outside.bench("check", "nearest-neighbor", cwd=tmp_path)
    assert done.returncode == 2
    assert "Did you mean 'nearest-neighbour'?" in done.stderr


REMEMBERS = '''
from typing import ClassVar
from bfc_bench import Learner, Predictor

class Remembers(Learner):
    """Predicts the mean absolute label of every set it has ever seen."""
    name: ClassVar[str] = "remembers"
    labels: ClassVar[list] = []
    def fit(self, train, ctx):
        self.labels.extend(abs(train.y))
        return Mean(sum(self.labels) / len(self.labels))

class Mean(Predictor):
    def __init__(self, value):
        self.value = value
    def predict(self, x):
        return 0 * x[:, 0] + self.value
'''


def test_a_faulty_learner_in_a_module_fails_the_check_with_the_law(outside: Outside, tmp_path: Path) -> None:
    (tmp_path / "remembers.py").write_text(REMEMBERS)
    done = outside.bench("check", "remembers:Remembers", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    [line] = [line for line in done.stdout.splitlines() if line.startswith("failed")]
    assert "fits are independent: a fit after one to other data" in line


REGISTERS_A_TAKEN_NAME = '''
from typing import ClassVar
from bfc_bench import Learner, hookimpl

class Twin(Learner):
    """Another learner with the same name."""
    name: ClassVar[str] = "nearest-neighbour"
    def fit(self, train, ctx):
        raise NotImplementedError

@hookimpl
def bfc_register_learners(register):
    register(Twin)
'''

MISSPELLS_A_HOOK = """
from bfc_bench import hookimpl

@hookimpl
def bfc_register_lerners(register):
    pass
"""

REGISTERS_A_WRONG_CLASS = """
from bfc_bench import hookimpl

class Wrong:
    pass

@hookimpl
def bfc_register_inputs(register):
    register(Wrong)
"""


BROKEN = {
    "twin": (
        REGISTERS_A_TAKEN_NAME,
        ["learner outside_twin.Twin: the name 'nearest-neighbour'", GOOD, "keeps it, and 'outside-twin:twin'"],
    ),
    "misspelt": (MISSPELLS_A_HOOK, ["'bfc_register_lerners'", "Did you mean 'bfc_register_learners'"]),
    "wrong": (REGISTERS_A_WRONG_CLASS, ["outside_wrong.Wrong must be a subclass of bfc_bench.Inputs"]),
    "exits": ("raise SystemExit('no licence')", ["SystemExit: no licence"]),
    "interrupts": ("raise KeyboardInterrupt", ["KeyboardInterrupt"]),
}
"""A module's code, and what is said of it."""


@pytest.fixture(scope="module")
def broken(outside: Outside, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a distribution for each way of breaking the contract is installed."""
    folder = tmp_path_factory.mktemp("broken")
    sources = [write_module(folder / name, name, code) for name, (code, _) in BROKEN.items()]
    outside.install(*sources, target=folder / "installed")
    return folder / "installed"


@pytest.mark.parametrize(("verb", "exit_code"), [("list", 0), ("doctor", 1)])
def test_plugins_that_break_the_contract_are_listed_with_the_reason_and_stop_nothing(
    outside: Outside, broken: Path, tmp_path: Path, verb: str, exit_code: int
) -> None:
    done = outside.bench(verb, cwd=tmp_path, path=broken)
    assert done.returncode == exit_code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for name, (_, words) in BROKEN.items():
        [line] = [line for line in done.stdout.splitlines() if f"outside-{name}:{name}: unavailable: " in line]
        assert all(word in line for word in words), line


def test_a_suite_that_needs_what_is_broken_is_told_why(outside: Outside, broken: Path, tmp_path: Path) -> None:
    done = outside.bench("plan", "smoke", cwd=tmp_path, path=broken)
    assert done.returncode == 0, done.stderr
    done = outside.bench("plan", "smoke", "--set", "task.teacher-L3.inputs.kind='wrong'", cwd=tmp_path, path=broken)
    assert done.returncode == 2
    assert "unknown input distribution 'wrong'" in done.stderr
    assert "Plugin 'outside-exits:exits' is unavailable: SystemExit: no licence" in done.stderr
    assert "Plugin 'outside-wrong:wrong' is unavailable: input distribution outside_wrong.Wrong must" in done.stderr
    assert "Twin" not in done.stderr


EVERYTHING = "outside-everything:everything"


@pytest.fixture(scope="module")
def everything(outside: Outside, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a distribution is installed that adds one of each kind of part."""
    folder = tmp_path_factory.mktemp("everything")
    shutil.copytree(Path(__file__).parent / "everything", folder / "source")
    outside.install(folder / "source", target=folder / "installed")
    return folder / "installed"


def test_one_of_each_part_is_listed_with_its_origin(outside: Outside, everything: Path, tmp_path: Path) -> None:
    done = outside.bench("list", cwd=tmp_path, path=everything)
    assert done.returncode == 0, done.stderr
    listed = dict(re.split(r"  +", line)[:2] for line in done.stdout.splitlines() if EVERYTHING in line)
    assert listed == {
        "learner": "outside-plane",
        "input distribution": "outside-cube",
        "target": "outside-bump",
        "joint law": "outside-coin",
        "labelling": "outside-shifted",
        "data set": "outside-points",
        "metric": "outside_largest",
        "claim kind": "outside-within",
        "suite": "everything",
        "executor": "outside-futures",
        "plot": "outside-sizes",
        "verb": "outside-greet",
    }


def test_a_verb_from_outside_has_help_and_arguments(outside: Outside, everything: Path, tmp_path: Path) -> None:
    done = outside.bench("outside-greet", "Ada", "--loud", cwd=tmp_path, path=everything)
    assert (done.returncode, done.stdout) == (0, "hello ADA\n"), done.stderr
    assert "outside-greet" in outside.bench("--help", cwd=tmp_path, path=everything).stdout
    assert "Greet somebody by name." in outside.bench("outside-greet", "--help", cwd=tmp_path, path=everything).stdout
    wrong = outside.bench("outside-greet", "Ada", "--quiet", cwd=tmp_path, path=everything)
    assert (wrong.returncode, "--quiet" in wrong.stderr) == (2, True)


def test_a_suite_of_parts_from_outside_runs_is_judged_and_reported(
    outside: Outside, everything: Path, tmp_path: Path
) -> None:
    def bench(verb: str, *arguments: str) -> str:
        store = ("--store", str(tmp_path / "store"))
        done = outside.bench(verb, "everything", *store, *arguments, cwd=tmp_path, path=everything)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    bench("run", "--no-mlflow", "--jobs", "2", "--executor", "outside-futures")
    rows = json.loads(bench("results", "--format", "json"))
    assert [row["status"] for row in rows] == ["ok"] * 18
    assert all(row["metrics"]["outside_largest"] ** 2 > row["nmse"] > 0 for row in rows)
    assert (tmp_path / "store" / "heard.txt").read_text() == "everything: {'ok': 18}"
    [verdict] = json.loads(bench("claims", "--format", "json"))
    assert (verdict["kind"], verdict["verdict"]) == ("outside-within", "supported")
    assert verdict["statement"] == "outside-plane stays within 100 (bumps, d = 3, n = 40)."
    bench("report", "--output", str(tmp_path / "report"), "--figures", "svg")
    assert (tmp_path / "report" / "figures" / "outside-sizes.svg").exists()
    page = (tmp_path / "report" / "report.html").read_text()
    assert "outside-sizes" in page
    assert "outside-plane stays within 100" in page
