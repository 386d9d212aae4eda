"""The template of a third-party distribution, and the example that is made from it."""

import ast
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from bfc_bench.cli.new import write_learner
from bfc_bench.errors import UsageError

ROOT = Path(__file__).parent.parent


def contents(folder: Path) -> dict[str, str]:
    """The text of every file of a distribution, without what installing, linting and testing leave behind."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    made = ("__pycache__/", ".egg-info/", ".pytest_cache/", ".ruff_cache/", "build/")
    return {name: path.read_text() for name, path in files.items() if not any(part in name for part in made)}


def test_the_example_is_what_the_template_gives(tmp_path: Path) -> None:
    written = write_learner("nearest-neighbour", tmp_path / "example")
    assert contents(tmp_path / "example") == contents(ROOT / "plugins" / "example")
    assert sorted(path.relative_to(tmp_path / "example").as_posix() for path in written) == sorted(
        contents(tmp_path / "example")
    )


def test_every_name_in_the_files_follows_the_learner(tmp_path: Path) -> None:
    write_learner("deep-k2-net", tmp_path)
    files = contents(tmp_path)
    assert set(files) == {
        "README.md",
        "first.toml",
        "pyproject.toml",
        "src/bfc_bench_deep_k2_net/__init__.py",
        "src/bfc_bench_deep_k2_net/deep_k2_net.py",
        "tests/test_deep_k2_net.py",
    }
    project = tomllib.loads(files["pyproject.toml"])["project"]
    assert project["name"] == "bfc-bench-deep-k2-net"
    assert project["entry-points"]["bfc_bench"] == {"deep-k2-net": "bfc_bench_deep_k2_net"}
    assert tomllib.loads(files["first.toml"])["learner"][0]["name"] == "deep-k2-net"
    module = ast.parse(files["src/bfc_bench_deep_k2_net/deep_k2_net.py"])
    assert "DeepK2Net" in [node.name for node in module.body if isinstance(node, ast.ClassDef)]
    assert not any("$" in text for text in files.values())


def test_the_learner_is_under_forty_lines(tmp_path: Path) -> None:
    write_learner("mine", tmp_path)
    assert len((tmp_path / "src/bfc_bench_mine/mine.py").read_text().splitlines()) < 40


NOT_KEBAB = ["", "Mine", "my_learner", "-mine", "mine-", "a--b", "2net", "a b", "../up", "scheme:path"]


@pytest.mark.parametrize("name", NOT_KEBAB)
def test_names_that_are_not_kebab_case_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="joined by hyphens") as error:
        write_learner(name, tmp_path / "new")
    assert repr(name) in str(error.value)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["class", "none", "learner", "data", "class-var"])
def test_names_that_mean_something_else_in_python_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="means something else"):
        write_learner(name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years")
    for occupied in (tmp_path, tmp_path / "thesis.tex"):
        with pytest.raises(UsageError, match="new or an empty folder"):
            write_learner("mine", occupied)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    assert (tmp_path / "thesis.tex").read_text() == "years"


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    assert all(path.is_file() for path in write_learner("mine", tmp_path))


def test_the_package_is_clean(tmp_path: Path) -> None:
    try:
        version("ruff")
    except PackageNotFoundError:
        pytest.skip("ruff is not installed")
    write_learner("mine", tmp_path)
    ruff = [sys.executable, "-m", "ruff"]
    rules = ["--select", "E,F,W,I,D1,B,UP"]
    for command in (["check", "--no-cache"], ["check", "--no-cache", *rules], ["format", "--check", "--no-cache"]):
        done = subprocess.run([*ruff, *command, "."], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
