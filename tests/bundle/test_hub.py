"""A published bundle can be downloaded, verified and loaded; what goes wrong is one sentence and never announced."""

import json
import shutil
import sys
import zipfile

import pytest
from test_bundle import FOLDER, SUITE, written

from bfc_bench import RunOptions, run_suite
from bfc_bench.bundle.archive import FORMAT, MANIFEST, write_archive
from bfc_bench.bundle.verify import verify
from bfc_bench.cli.app import run
from bfc_bench.plugins import load_plugins

pytest.importorskip("huggingface_hub")
yaml = pytest.importorskip("yaml")

from hub_server import TOKEN, Repository, hub  # noqa: E402
from huggingface_hub import HfFileSystem, constants, snapshot_download  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=")  # huggingface_hub, of its HTTP library
REPOSITORY = "ada/tiny"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a bundle as zip file and as folder."""
    folder = tmp_path_factory.mktemp("hub")
    (folder / "tiny.toml").write_text(SUITE)
    run_suite(folder / "tiny.toml", RunOptions(store=folder / "store", executor="serial"))
    for to in ("made.zip", "made"):
        written(folder / "store", folder / to, title="Tiny: a | <b>\U0001f600", authors=["Ada *L*", "B"])
    return folder


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A hub on this machine, with a token that may write for ada. Large files are sent without the protocol Xet."""
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    with hub() as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.address)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{server.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        )
        yield server


def publish(bundle, *options, to=REPOSITORY):
    return run(["publish", str(bundle), "--hub", to, *options])


def one_line(capsys):
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1, printed.err
    assert TOKEN not in printed.err + printed.out
    assert printed.out == ""
    return printed.err


@pytest.mark.parametrize("name", ["made.zip", "made"])
def test_what_is_published_can_be_downloaded_and_verified(made, server, tmp_path, capsys, name):
    assert publish(made / name) == 0
    printed = capsys.readouterr().out
    assert f"{server.address}/datasets/{REPOSITORY}: " in printed
    assert "hf download ada/tiny --repo-type dataset --local-dir tiny\n  bfc-bench verify tiny/bundle\n" in printed
    repository = server.repositories[REPOSITORY]
    assert not repository.private
    assert [message["summary"] for message in repository.messages] == ["Publish Tiny: a | <b>\U0001f600"]
    assert set(server.large.values()) == {repository.at()[f"bundle/{FOLDER}/rows.parquet"]}
    snapshot_download(REPOSITORY, repo_type="dataset", local_dir=tmp_path / "tiny", endpoint=server.address)
    checked = verify(tmp_path / "tiny" / "bundle", load_plugins(), cells=0)
    assert (checked.differences, checked.verdicts) == ([], 1)
    assert checked.digest == verify(made / name, load_plugins(), cells=0).digest


def test_the_card_names_licence_rows_and_how_to_check(made, server):
    assert publish(made / "made.zip") == 0
    files = server.repositories[REPOSITORY].at()
    _, front, text = files["README.md"].decode().split("---\n", 2)
    front = yaml.safe_load(front)
    assert (front["license"], front["pretty_name"]) == ("cc-by-4.0", "Tiny: a | <b>\U0001f600")
    assert front["configs"] == [{"config_name": "tiny@1", "data_files": f"bundle/{FOLDER}/rows.parquet"}]
    rows = front["configs"][0]["data_files"]
    system = HfFileSystem(endpoint=server.address, token=TOKEN, skip_instance_cache=True)
    assert system.cat_file(f"datasets/{REPOSITORY}@main/{rows}") == files[rows]  # as `load_dataset` does
    assert "# Tiny: a \\| \\<b\\>" in text
    assert "Ada \\*L\\*, B" in text
    assert "$ bfc-bench verify tiny/bundle" in text
    (verdict,) = json.loads(files[f"bundle/{FOLDER}/claims.json"])
    assert f"| tiny@1 | 12 | 12 | 1 {verdict['verdict']} |" in text


def test_a_later_bundle_replaces_the_earlier_one_in_one_commit(made, server, tmp_path):
    """Files that the new one lacks are removed, since a bundle has no files beside those of its manifest."""
    assert publish(made / "made.zip") == 0
    old = server.repositories[REPOSITORY]
    old.commit("main", {**old.at(), "bundle/suites/old@1/claims.json": b"[]"})
    before = len(old.commits)
    written(made / "store", tmp_path / "new.zip", title="New")
    assert publish(tmp_path / "new.zip", "--message", "Better") == 0
    assert len(old.commits) == before + 1
    assert old.messages[-1]["summary"] == "Better"
    assert "bundle/suites/old@1/claims.json" not in old.at()
    snapshot_download(REPOSITORY, repo_type="dataset", local_dir=tmp_path / "tiny", endpoint=server.address)
    assert verify(tmp_path / "tiny" / "bundle", load_plugins(), cells=0).differences == []


def test_a_branch_leaves_the_main_branch_as_it_is(made, server, capsys):
    assert publish(made / "made.zip", "--revision", "v2") == 0
    repository = server.repositories[REPOSITORY]
    assert list(repository.at()) == [".gitattributes"]
    assert "bundle/manifest.json" in repository.at("v2")
    assert "--revision v2" in capsys.readouterr().out


def test_a_pull_request_goes_to_a_data_set_of_another_owner(made, server, capsys):
    server.repositories["lab/all"] = Repository(private=False)
    assert publish(made / "made.zip", "--create-pr", to="lab/all") == 0
    assert list(server.repositories["lab/all"].at()) == [".gitattributes"]
    assert "bundle/manifest.json" in server.repositories["lab/all"].at("refs/pr/1")
    printed = capsys.readouterr().out
    assert "/datasets/lab/all/discussions/1: " in printed
    assert "--revision refs/pr/1" in printed


def test_a_private_data_set_is_private(made, server):
    assert publish(made / "made.zip", "--private") == 0
    assert server.repositories[REPOSITORY].private


def test_nothing_private_is_sent_to_a_public_data_set(made, server, capsys):
    server.repositories[REPOSITORY] = Repository(private=False)
    assert publish(made / "made.zip", "--private") == 1
    assert "ada/tiny exists and is public" in one_line(capsys)
    assert list(server.repositories[REPOSITORY].at()) == [".gitattributes"]


def test_a_repository_with_other_files_stays_as_it_is(made, server, capsys):
    server.repositories[REPOSITORY] = repository = Repository(private=False)
    repository.commit("main", {"images/cat.png": b"cat", "README.md": b"cats"})
    assert publish(made / "made.zip") == 1
    assert "holds other files, such as images/cat.png, and no bundle" in one_line(capsys)
    assert repository.at()["README.md"] == b"cats"


def test_a_commit_of_another_person_meanwhile_is_kept(made, server, capsys):
    """Files that were deleted or replaced were chosen by looking at the commit before."""
    server.repositories[REPOSITORY] = repository = Repository(private=False)
    server.meanwhile = lambda: repository.commit("main", {**repository.at(), "bundle/new.json": b"{}"})
    assert publish(made / "made.zip") == 1
    assert "the repository changed meanwhile (412). Run the command again." in one_line(capsys)
    assert sorted(repository.at()) == [".gitattributes", "bundle/new.json"]


def test_a_dry_run_sends_nothing_and_needs_neither_token_nor_library(made, server, capsys, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert publish(made / "made.zip", "--dry-run") == 0
    lines = capsys.readouterr().out.splitlines()
    with zipfile.ZipFile(made / "made.zip") as archive:
        sizes = {f"bundle/{entry.filename}": entry.file_size for entry in archive.infolist()}
    listed = {name: int(size.replace(",", "")) for size, name in map(str.split, lines[:-1])}
    assert {name: size for name, size in listed.items() if name != "README.md"} == sizes
    assert lines[-1].endswith("would be sent to ada/tiny. Nothing was sent.")
    assert server.requests == []


def test_without_the_library_it_says_what_to_install(made, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert publish(made / "made.zip") == 2
    assert "python -m pip install 'bfc-bench[hub]'" in one_line(capsys)


def test_without_a_token_nothing_is_asked(made, server, capsys, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    assert publish(made / "made.zip") == 2
    assert "there is no token. Run `hf auth login`, or set HF_TOKEN" in one_line(capsys)
    assert server.requests == []


@pytest.mark.parametrize(
    ("part", "status", "said"),
    [
        ("/api/repos/create", 500, "the server answered 500: a fault of the test"),
        ("/api/datasets/ada/tiny", 404, "no data set ada/tiny"),
        ("/preupload/", 403, "your token may not write there (403: a fault of the test)"),
        ("/objects/batch", 404, "there is no data set ada/tiny"),
        ("/large/", 403, "your token may not write there"),
        ("/commit/", 500, "the server answered 500: a fault of the test"),
        ("/commit/", 412, "the repository changed meanwhile"),
    ],
)
def test_a_fault_on_the_way_is_one_sentence_and_no_commit(made, server, capsys, part, status, said):
    server.faults[part] = status
    assert publish(made / "made.zip") == 1
    error = one_line(capsys)
    assert said in error
    assert error.endswith("The server confirmed no commit.\n")
    assert all(list(repository.at()) == [".gitattributes"] for repository in server.repositories.values())


def test_a_wrong_token_is_not_shown(made, server, capsys, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_AnotherSecret")
    assert publish(made / "made.zip") == 1
    error = one_line(capsys)
    assert "the server does not accept the token" in error
    assert "hf_AnotherSecret" not in error


def test_a_repository_of_another_owner_is_not_written_to(made, server, capsys):
    server.repositories["lab/all"] = Repository(private=False)
    assert publish(made / "made.zip", to="lab/all") == 1
    assert "your token may not write there" in one_line(capsys)
    assert list(server.repositories["lab/all"].at()) == [".gitattributes"]


def test_a_server_that_is_not_there_is_named(made, server, capsys, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert publish(made / "made.zip") == 1
    error = one_line(capsys)
    assert "the server cannot be reached: " in error
    assert "HF_ENDPOINT" in error


def test_a_licence_that_the_hub_does_not_know_is_named(made, server, capsys, tmp_path):
    written(made / "store", tmp_path / "own.zip", licence="Our-Own")
    assert publish(tmp_path / "own.zip") == 1
    assert '"license" must be one of' in one_line(capsys)
    assert list(server.repositories[REPOSITORY].at()) == [".gitattributes"]


def forge(folder):
    """Change a verdict, and its digest in the manifest."""
    manifest = json.loads((folder / MANIFEST).read_text())
    files = {name: (folder / name).read_bytes() for name in manifest.pop("files")}
    assert manifest.pop("format") == FORMAT
    claims = json.loads(files[f"{FOLDER}/claims.json"])
    claims[0]["verdict"] = "confirmed" if claims[0]["verdict"] != "confirmed" else "refuted"
    write_archive(folder, {**files, f"{FOLDER}/claims.json": json.dumps(claims).encode()}, manifest)


@pytest.mark.parametrize(
    ("damage", "code", "said"),
    [
        (lambda folder: (folder / FOLDER / "claims.json").write_text("[]"), 2, "claims.json is not the file"),
        (lambda folder: (folder / MANIFEST).unlink(), 2, "it has no manifest.json"),
        (lambda folder: (folder / "more.txt").write_text(""), 2, "'more.txt' is no file of a bundle"),
        (shutil.rmtree, 2, "No such file"),
        (forge, 1, "`bfc-bench verify --cells 0` finds a difference: "),
    ],
)
def test_a_damaged_bundle_is_refused(made, server, tmp_path, capsys, damage, code, said):
    shutil.copytree(made / "made", tmp_path / "made")
    damage(tmp_path / "made")
    assert publish(tmp_path / "made") == code
    assert said in one_line(capsys)
    assert server.requests == []


@pytest.mark.parametrize("name", ["tiny", "a/b/c", "/tiny", "ada/", "ada/my tiny", "ada/tiny@main"])
def test_a_repository_is_named_with_its_owner(made, server, capsys, name):
    assert publish(made / "made.zip", to=name) == 2
    assert f"--hub must name a repository as OWNER/NAME, such as ada/learning-curves. Got {name}." in one_line(capsys)
    assert server.requests == []
