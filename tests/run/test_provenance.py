"""What a session says about where its results come from."""

import sys

import pytest
from waiting import completed

from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.run import provenance
from bfc_bench.run.provenance import git_commit


@pytest.fixture
def repository(tmp_path):
    """A repository with one committed file, and its commit."""

    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        run = completed(["git", *who, *arguments], cwd=tmp_path, check=True)
        return run.stdout.strip()

    git("init", "-q")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-q", "-m", "first")
    return tmp_path, git("rev-parse", "HEAD")


def test_the_commit_has_a_plus_where_a_file_that_it_has_was_changed(repository):
    folder, commit = repository
    assert git_commit(folder) == commit
    (folder / "new").write_text("not part of the commit")
    assert git_commit(folder) == commit
    (folder / "file").write_text("two")
    assert git_commit(folder) == commit + "+"


def test_outside_of_a_repository_and_without_git_there_is_no_commit(tmp_path, monkeypatch, repository):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / ".git").rename(tmp_path / "elsewhere")
    assert git_commit(tmp_path) is None
    (tmp_path / "elsewhere").rename(tmp_path / ".git")
    monkeypatch.setenv("PATH", "")
    assert git_commit(tmp_path) is None


@pytest.mark.parametrize(
    ("started", "shown"),
    [
        ("/usr/lib/bfc_bench/__main__.py", "bfc-bench"),
        ("/bin/bfc-bench", "bfc-bench"),
        ("/a/my script.py", "'my script.py'"),
    ],
)
def test_the_command_is_what_a_shell_needs_to_repeat_it_without_credentials(started, shown, monkeypatch):
    monkeypatch.setattr(sys, "argv", [started, "run", "a suite", "--tracking-uri", "https://bob:secret@host/path"])
    found = provenance.provenance("cpu", ProcessExecutor(), 3)
    assert found["command"].startswith(f"{shown} run 'a suite' --tracking-uri ")
    assert "secret" not in found["command"]
    assert (found["device"], found["executor"], found["jobs"]) == ("cpu", "processes", 3)
    assert found["packages"]["numpy"] == __import__("numpy").__version__
    assert found["packages"].keys() == set(provenance.PACKAGES)
