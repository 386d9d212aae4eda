"""A bundle is sent to the hub with its rows and a card; whatever the library raises is one line."""

import sys
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest

from bfc_bench.errors import OutputError, UsageError
from bfc_bench.extras.bundle import hub as module
from bfc_bench.extras.bundle.hub import publish
from bfc_bench.plugins.manager import load_plugins


class Api:
    """Keeps what it is asked to send."""

    def __init__(self, **about):
        self.made, self.sent = [], {}

    def create_repo(self, name, **options):
        self.made.append((name, options))

    def upload_folder(self, *, repo_id, folder_path, **options):
        self.sent = {path.name: path.read_bytes() for path in Path(folder_path).iterdir()}
        return SimpleNamespace(commit_url=f"https://hub/{repo_id}/commit/1")


@pytest.fixture
def api(monkeypatch):
    api = Api()
    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(HfApi=lambda **about: api))
    return api


def test_bundle_rows_and_card_are_one_commit(api, made, printed):
    said = printed("publish", made / "made.zip", "--hub", "ada/curves", "--private")
    assert said == "https://hub/ada/curves/commit/1\n"
    [(name, options)] = api.made
    assert (name, options["repo_type"], options["private"]) == ("ada/curves", "dataset", True)
    assert sorted(api.sent) == ["README.md", "bundle.zip", "tiny@1.parquet"]
    assert api.sent["bundle.zip"] == (made / "made.zip").read_bytes()


def test_the_card_says_where_the_rows_are(api, made):
    import pandas as pd
    import yaml

    publish(made / "made.zip", "ada/curves", load_plugins())
    _, front, text = api.sent["README.md"].decode().split("---\n", 2)
    [config] = yaml.safe_load(front)["configs"]
    assert config == {"config_name": "tiny@1", "data_files": "tiny@1.parquet"}
    assert "hf download ada/curves bundle.zip" in text
    from io import BytesIO

    assert len(pd.read_parquet(BytesIO(api.sent["tiny@1.parquet"]))) > 0


@pytest.mark.parametrize(
    "error", [OSError("no route\nto host"), ValueError("bad token"), KeyError("x"), RuntimeError(), TimeoutError()]
)
def test_any_error_of_the_library_is_one_line(error, api, made, monkeypatch):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr(api, "upload_folder", fail)
    with pytest.raises(OutputError, match="ada/curves is not published: ") as raised:
        publish(made / "made.zip", "ada/curves", load_plugins())
    assert len(str(raised.value).splitlines()) == 1


def test_a_server_that_never_answers_is_left(api, made, monkeypatch):
    asked = Event()
    monkeypatch.setattr(module, "LEAST_SECONDS", 0.1)
    monkeypatch.setattr(api, "upload_folder", lambda **options: asked.wait())
    with pytest.raises(OutputError, match="ada/curves is not published: the server took more than 0 s") as raised:
        publish(made / "made.zip", "ada/curves", load_plugins())
    asked.set()
    assert len(str(raised.value).splitlines()) == 1


def test_an_answer_that_is_none_of_the_hub_is_one_line(api, made, monkeypatch):
    monkeypatch.setattr(api, "upload_folder", lambda **options: {})
    with pytest.raises(OutputError, match="ada/curves is not published: 'dict' object has no attribute"):
        publish(made / "made.zip", "ada/curves", load_plugins())


@pytest.mark.parametrize("name", ["curves", "ada/", "/x", "a/b/c", "../x"])
def test_a_wrong_name_is_refused(name, made):
    with pytest.raises(UsageError, match="OWNER/NAME"):
        publish(made / "made.zip", name, load_plugins())


def test_without_the_library_the_message_says_what_to_install(made, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UsageError, match=r"bfc-bench\[hub\]"):
        publish(made / "made.zip", "ada/curves", load_plugins())
