"""A results repository, played by contributors and a maintainer with git: honest entries are marked, others refused."""

import json
import os
import sqlite3
import subprocess
from contextlib import closing

import pytest

from bfc_bench.bundle.repository import checks_of
from bfc_bench.cli.app import run
from bfc_bench.cli.new import REPOSITORY
from bfc_bench.store.row_digest import row_digest

SUITE = """
name = "tiny"
version = VERSION
replicates = 3
test_size = 200
[[task]]
name = "t"
inputs = { kind = "uniform" }
target = { kind = "quadratic-densenet", widths = [2], alphas = [1.0] }
d = [4]
n = [10, 20]
[[learner]]
name = "kernel-ridge"
[[learner]]
name = "kernel-ridge"
label = "linear"
options = { kernel = "poly", degree = 1 }
[[claim]]
id = "better"
kind = "beats"
task = "t"
label = "kernel-ridge"
against = ["linear"]
factor = 2.0
"""


def git(repository, *arguments, check=True):
    who = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b.c",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b.c",
    }
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", *arguments], cwd=repository, env={**os.environ, **who, **own}, capture_output=True, check=False
    )
    assert done.returncode == 0 or not check, done.stderr.decode()
    return done.returncode


def commit(repository, message="results"):
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", message)


def suite(folder, version=1, more="", only=None):
    path = folder / f"tiny-{version}.toml"
    path.write_text(
        (SUITE if only is None else SUITE.replace("replicates = 3", only)).replace("VERSION", str(version)) + more
    )
    return path


def contribute(path, store, to, *options):
    """Run a suite and write its bundle as an entry."""
    common = ("--store", str(store))
    assert run(["run", str(path), *common, "--no-mlflow", "--executor", "serial", *options]) in (0, 1)
    bundle(path, store, to)


def bundle(path, store, to):
    assert run(["bundle", str(path), "--store", str(store), "--no-figures", "--author", "Ada", "--to", str(to)]) == 0


def forge(store, **values):
    """Type values into the first row, with a digest that fits."""
    with closing(sqlite3.connect(store / "results.sqlite")) as db:
        cell, task, learner, text, traceback = db.execute(
            "SELECT cell, task_digest, learner_digest, row, traceback FROM rows WHERE status = 'ok' LIMIT 1"
        ).fetchone()
        new = json.dumps({**json.loads(text), **values}, separators=(",", ":"))
        digest = row_digest((cell, task, learner, new, traceback))
        db.execute(
            "UPDATE rows SET row = ?, row_digest = ?, device = ? WHERE cell = ?",
            (new, digest, values.get("device", "cpu"), cell),
        )
        db.commit()


def checked(repository, capsys, *options):
    """The exit code of the check, what it found by entry, and what it printed."""
    capsys.readouterr()
    code = run(["verify", str(repository), "--executor", "serial", *options])
    printed = capsys.readouterr()
    found = json.loads((repository / "checks.json").read_text())["entries"] if code < 2 else {}
    return code, found, printed.out + printed.err


@pytest.fixture(scope="module")
def ada(tmp_path_factory):
    """A repository with the suite and the entry of one contributor, and the store that it came from."""
    folder = tmp_path_factory.mktemp("community")
    assert run(["new", "results-repository", str(folder / "repository")]) == 0
    (folder / "repository/suites").mkdir()
    path = suite(folder / "repository/suites")
    git(folder / "repository", "init", "-q", "-b", "main")
    commit(folder / "repository", "start")
    contribute(path, folder / "store", folder / "repository/results/tiny/1/ada")
    commit(folder / "repository")
    return folder


@pytest.fixture
def repository(ada, tmp_path):
    """The maintainer's clone, on a branch for a contribution."""
    git(tmp_path, "clone", "-q", str(ada / "repository"), "clone")
    git(tmp_path / "clone", "checkout", "-q", "-b", "contribution")
    return tmp_path / "clone"


def test_the_template_is_complete_and_nothing_is_overwritten(ada, tmp_path):
    import yaml

    repository = ada / "repository"
    assert all((repository / name).is_file() for name in REPOSITORY.values())
    check, site = (yaml.safe_load((repository / f".github/workflows/{x}.yml").read_text()) for x in ("check", "site"))
    assert check["permissions"] == site["permissions"] == {"contents": "read"}
    assert any("bfc-bench verify ." in step.get("run", "") for step in check["jobs"]["check"]["steps"])
    assert "${{" in (repository / ".github/workflows/check.yml").read_text()
    assert run(["new", "results-repository", str(repository)]) == 2


def test_honest_entries_are_reproduced_and_counted_against_what_is_there(ada, repository, tmp_path, capsys):
    more = suite(tmp_path, only="replicates = 40")
    contribute(more, tmp_path / "store", repository / "results/tiny/1/bob")
    commit(repository)
    code, found, said = checked(repository, capsys, "--since", "main")
    assert (code, list(found)) == (0, ["results/tiny/1/bob"])
    bob = found["results/tiny/1/bob"]
    assert (bob["mark"], bob["added"], bob["authors"], sum(bob["machines"].values())) == (
        "reproduced",
        148,
        ["Ada"],
        160,
    )
    assert "12 are there already" in said
    assert bob["changed"] == {"better": ["undecided", "contradicted"]}
    git(repository, "checkout", "-q", "main")
    git(repository, "merge", "-q", "contribution")
    code, found, _ = checked(repository, capsys)
    assert (code, [one["mark"] for one in found.values()]) == (0, ["reproduced", "reproduced"])
    assert checked(repository, capsys, "--since", "HEAD")[1] == {}
    assert run(["merge", str(repository), "--into", str(tmp_path / "all")]) == 0
    assert "160 new rows, 12 there already" in capsys.readouterr().out


def test_a_mark_is_that_of_the_entry_as_it_was_checked(repository, capsys):
    checked(repository, capsys)
    entry = repository / "results/tiny/1/ada"
    assert checks_of(entry)["mark"] == "reproduced"
    (entry / "manifest.json").write_text((entry / "manifest.json").read_text() + " ")
    assert checks_of(entry) == {"mark": "unchecked"}
    assert checks_of(repository / "results") is None


@pytest.mark.parametrize(
    ("values", "mark"),
    [
        ({"nmse": 1e-30}, "unchecked"),  # its cell is run again, since nobody believes it
        ({"nmse": 1e-30, "fit_cpu_seconds": 1e6}, "consistent"),  # its cell takes too long to be run again
        ({"nmse": 1e-30, "device": "cuda", "fit_cpu_seconds": 0.1}, "consistent"),
    ],
)
def test_a_forged_row_is_never_reproduced(values, mark, repository, tmp_path, capsys):
    path = suite(tmp_path)
    contribute(path, tmp_path / "store", tmp_path / "first")
    forge(tmp_path / "store", **values)
    bundle(path, tmp_path / "store", repository / "results/tiny/1/eve")
    code, found, said = checked(repository, capsys, "--since", "main")
    eve = found["results/tiny/1/eve"]
    assert (code, eve["mark"]) == (int(mark == "unchecked"), mark)
    assert "DOUBTED" in said
    assert "OTHER RESULTS" in said  # Ada has another result of this cell
    assert "NMSE 1e-30 in the bundle" in " ".join(eve["problems"]) or mark == "consistent"


def test_a_conflict_of_two_branches_is_explained(ada, repository, tmp_path, capsys):
    for branch, replicates in (("one", 2), ("two", 4)):
        git(repository, "checkout", "-q", "-b", branch, "main")
        path = suite(tmp_path, only=f"replicates = {replicates}")
        contribute(path, tmp_path / branch, repository / "results/tiny/1/ada")
        commit(repository)
    assert git(repository, "merge", "-q", "one", check=False) != 0
    code, found, _said = checked(repository, capsys)
    [problem] = found["results/tiny/1/ada"]["problems"]
    assert (code, found["results/tiny/1/ada"]["mark"]) == (1, "unchecked")
    assert "git's marks of a conflict" in problem
    assert "git checkout --ours or --theirs" in problem
    git(repository, "checkout", "--theirs", "results/tiny/1/ada/manifest.json")
    assert "that the manifest states" in checked(repository, capsys)[2]  # files of two bundles
    git(repository, "checkout", "--theirs", "results/tiny/1/ada")
    assert checked(repository, capsys)[0] == 0


def test_what_is_not_installed_is_named_in_one_line_and_not_imported(repository, tmp_path, capsys):
    entry = repository / "results/tiny/1/eve"
    contribute(suite(tmp_path), tmp_path / "store", entry)
    (tmp_path / "hostile_learner.py").write_text("raise SystemExit('imported')")
    edit(entry, "runs.json", '"name":"kernel-ridge"', '"name":"hostile_learner"')
    code, found, _ = checked(repository, capsys, "--since", "main")
    [problem] = found["results/tiny/1/eve"]["problems"]
    assert code == 1
    assert "hostile_learner" in problem
    assert "\n" not in problem
    for path in (repository / "suites").iterdir():
        path.unlink()
    code, found, _said = checked(repository, capsys)
    assert code == 1
    assert all("the suite tiny is not installed" in one["problems"][0] for one in found.values())


def edit(entry, name, old, new):
    """Replace a text in a file of a suite in an entry, with a manifest that fits."""
    from hashlib import sha256

    [path] = entry.glob(f"suites/*/{name}")
    text = path.read_text()
    compact = json.dumps(json.loads(text), separators=(",", ":"))
    assert old in compact
    content = compact.replace(old, new).encode()
    path.write_bytes(content)
    manifest = json.loads((entry / "manifest.json").read_text())
    listed = {"bytes": len(content), "sha256": sha256(content).hexdigest()}
    manifest["files"][path.relative_to(entry).as_posix()] = listed
    (entry / "manifest.json").write_text(json.dumps(manifest))


def test_another_version_is_consistent_at_most(repository, tmp_path, capsys):
    contribute(suite(tmp_path, version=2), tmp_path / "store", repository / "results/tiny/2/bob")
    code, found, said = checked(repository, capsys, "--since", "main")
    assert (code, found["results/tiny/2/bob"]["mark"]) == (0, "consistent")
    assert "tiny@2 is another version than the known 1" in said
    suite(repository / "suites", version=2)
    assert checked(repository, capsys, "--since", "main")[1]["results/tiny/2/bob"]["mark"] == "reproduced"
    os.rename(repository / "results/tiny/2/bob", repository / "results/tiny/1/bob")
    assert "its folder must be" in checked(repository, capsys, "--since", "main")[2]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("widths = [2]", "widths = [1]", "its task t is not that of the known suite"),
        ("degree = 1", "degree = 2", "its learner linear has other options"),
        ("factor = 2.0", "factor = 9.0", "its claims are not those of the known suite"),
    ],
)
def test_a_suite_that_was_made_easier_is_refused(old, new, said, repository, tmp_path, capsys):
    path = suite(tmp_path)
    path.write_text(path.read_text().replace(old, new))
    contribute(path, tmp_path / "store", repository / "results/tiny/1/eve")
    code, found, _ = checked(repository, capsys, "--since", "main")
    assert (code, found["results/tiny/1/eve"]["mark"]) == (1, "unchecked")
    assert said in found["results/tiny/1/eve"]["problems"][0]


def test_an_entry_that_is_too_large_or_of_another_licence_is_refused(repository, capsys):
    settings = repository / "results.toml"
    text = settings.read_text()
    settings.write_text(text.replace("megabytes = 50", "megabytes = 0.01"))
    code, found, said = checked(repository, capsys)
    assert code == 1
    assert "at most 0.01 MB" in found["results/tiny/1/ada"]["problems"][0]
    settings.write_text(text.replace('["CC-BY-4.0"]', '["CC0-1.0"]'))
    assert "its licence must be CC0-1.0. Got 'CC-BY-4.0'" in checked(repository, capsys)[2]
    settings.write_text(text + "other = 1\n")
    assert checked(repository, capsys)[0] == 2
    assert "REVIEW" not in said  # nothing was compared with a commit
    settings.write_text(text + "# larger\n")
    assert (
        "REVIEW  files other than results were changed: results.toml"
        in checked(repository, capsys, "--since", "main")[2]
    )


def link_file(entry):
    os.rename(entry / "CITATION.cff", entry.parents[3] / "moved")
    (entry / "CITATION.cff").symlink_to("../../../../moved")  # its content fits the manifest


def link_folder(entry):
    os.rename(entry / "suites", entry.parents[3] / "moved")
    (entry / "suites").symlink_to("../../../../moved")


def link_entry(entry):
    os.rename(entry, entry.parents[3] / "moved")
    entry.symlink_to("../../../moved")


def script(entry):
    (entry / "suites/tiny@1/run.py").write_text("raise SystemExit")


def outside(entry):
    text = (entry / "manifest.json").read_text()
    (entry / "manifest.json").write_text(text.replace("CITATION.cff", "../../../../README.md"))


@pytest.mark.parametrize("hostile", [link_file, link_folder, link_entry, script, outside])
def test_a_hostile_entry_is_refused_and_nothing_is_written_elsewhere(hostile, repository, tmp_path, capsys):
    hostile(repository / "results/tiny/1/ada")
    (tmp_path / "victim").write_text("safe")
    (repository / "checks.json").symlink_to(tmp_path / "victim")
    code, found, _ = checked(repository, capsys, "--since", "main")
    assert (code, [one["mark"] for one in found.values()]) == (1, ["unchecked"])
    assert len(found["results/tiny/1/ada"]["problems"]) == 1
    assert (tmp_path / "victim").read_text() == "safe"


def test_a_commit_that_git_does_not_know_is_an_error(repository, capsys):
    assert "git merge-base failed" in checked(repository, capsys, "--since", "nothing")[2]
    assert checked(repository, capsys, "--since", "--version")[0] == 2


def test_the_site_shows_marks_a_board_with_ties_and_a_file_per_claim(repository, tmp_path, capsys):
    more = suite(tmp_path, only="replicates = 4")
    contribute(more, tmp_path / "store", repository / "results/tiny/1/bob")
    checked(repository, capsys)
    (repository / "results/tiny/1/bob/manifest.json").write_text(
        (repository / "results/tiny/1/bob/manifest.json").read_text() + " "
    )
    assert run(["site", str(tmp_path / "pages"), "--store", str(repository)]) == 0
    index, board = ((tmp_path / "pages" / name).read_text() for name in ("index.html", "board.html"))
    assert all(mark in index for mark in ("reproduced", "unchecked", "store ada", "store bob"))
    assert "N*(0.1)" in board
    assert board.count("rank 1") == 2 * 2 * 2  # learners, entries and levels, none of which is reached
    [claim] = (tmp_path / "pages/claims").rglob("*.json")
    verdicts = json.loads(claim.read_text())["verdicts"]
    assert {one["entry"]: (one["mark"], one["replicates"]) for one in verdicts} == {
        "ada": ("reproduced", 3),
        "bob": ("unchecked", 4),
    }
