"""The templates of third-party distributions, and the example that is made from one."""

import os
import shutil
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import get_args
from zipfile import ZipFile

import pytest
from installed_faulty import describe, python_path
from waiting import completed

from bfc_bench.cli.new import EXAMPLES, write_distribution
from bfc_bench.errors import UsageError
from bfc_bench.learner import ArrayKind

ROOT = Path(__file__).parents[2]
PACKAGES: list[tuple[str, ArrayKind]] = [
    *[("learner", arrays) for arrays in get_args(ArrayKind) if find_spec(arrays)],
    *[(command, "numpy") for command in EXAMPLES if command != "learner"],
]


def contents(folder):
    """The text of every file of a distribution, without what installing, linting and testing leave behind."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    made = ("__pycache__/", ".egg-info/", ".pytest_cache/", ".ruff_cache/", "build/")
    return {name: path.read_text() for name, path in files.items() if not any(part in name for part in made)}


def test_the_example_is_what_the_template_gives(tmp_path):
    written = write_distribution("learner", "nearest-neighbour", tmp_path / "example")
    assert contents(tmp_path / "example") == contents(ROOT / "plugins" / "example")
    assert sorted(path.relative_to(tmp_path / "example").as_posix() for path in written) == sorted(
        contents(tmp_path / "example")
    )


NOT_KEBAB = ["", "Mine", "my_learner", "-mine", "mine-", "a--b", "2net", "a b", "../up", "scheme:path"]


@pytest.mark.parametrize("name", NOT_KEBAB)
def test_names_that_are_not_kebab_case_are_refused(tmp_path, name):
    with pytest.raises(UsageError, match="joined by hyphens") as error:
        write_distribution("learner", name, tmp_path / "new")
    assert repr(name) in str(error.value)
    assert not (tmp_path / "new").exists()


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "thesis.tex").write_text("years")
    for occupied in (tmp_path, tmp_path / "thesis.tex"):
        with pytest.raises(UsageError, match="new or an empty folder"):
            write_distribution("learner", "mine", occupied)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    assert (tmp_path / "thesis.tex").read_text() == "years"


def test_the_command_writes_a_learner_of_torch(tmp_path, printed):
    printed("new", "learner", "mine", "--arrays", "torch", "--output", tmp_path)
    assert tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]["dependencies"][-1] == "torch"
    assert "import torch" in (tmp_path / "src/bfc_bench_mine/mine.py").read_text()


def installed(folder, site):
    """Put a distribution's package and its entry points where Python finds them, as installing it would."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    (package,) = (folder / "src").iterdir()
    shutil.copytree(package, site / package.name)
    ((plugin, module),) = project["entry-points"]["bfc_bench"].items()
    describe(site, project["name"], plugin, module)


def test_every_kind_of_distribution_passes_its_own_tests_and_its_suite_can_be_planned(tmp_path):
    site = tmp_path / "site"
    for command, arrays in PACKAGES:
        name = f"{EXAMPLES[command]}-{arrays}"
        write_distribution(command, name, tmp_path / name, arrays)
        installed(tmp_path / name, site)
    environment = {**os.environ, "PYTHONPATH": python_path(site), "OMP_NUM_THREADS": "1"}
    folders = [str(path) for path in tmp_path.glob("*/tests")]
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", *folders]
    plan = (
        "import sys; from pathlib import Path; from bfc_bench.testing import check_part\n"
        "for file in sys.argv[1:]: check_part(Path(file))"
    )
    suites = [str(path) for path in tmp_path.glob("*/first.toml")]
    for arguments in (pytest_, [sys.executable, "-c", plan, *suites]):
        done = completed(arguments, cwd=tmp_path, env=environment, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_wheel_of_a_suite_ships_the_file_that_it_registers(tmp_path):
    write_distribution("suite", "first-steps", tmp_path / "suite")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "wheel", "--no-deps", "--no-index"]
    build = [*pip, "--no-build-isolation", "--wheel-dir", str(tmp_path), str(tmp_path / "suite")]
    done = completed(build)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert "bfc_bench_first_steps/first_steps.toml" in ZipFile(wheel).namelist()
