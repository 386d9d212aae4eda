"""docs/runs: the published runs are stores that any command reads, and docs/claims.md says what they hold."""

import subprocess
import sys
from contextlib import ExitStack
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from pages import blocks

from bfc_bench import open_store
from bfc_bench.extras.bundle.verify import verify
from bfc_bench.plugins import load_plugins
from bfc_bench.store.store import Store

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))  # last, so that the installed bfc_bench stays the one that is tested

from benchmarks import claims as claims_page  # noqa: E402

spec = spec_from_file_location("runs", ROOT / "docs" / "runs.py")
runs = module_from_spec(spec)
spec.loader.exec_module(runs)


def test_the_page_says_how_to_read_them(tmp_path):
    [block] = blocks(ROOT / "docs" / "runs.md")
    unpack, claims = block.commands
    unpack = unpack.replace("python docs", f"{sys.executable} {ROOT / 'docs'}")
    subprocess.run(unpack, shell=True, cwd=tmp_path, check=True, capture_output=True)
    judged = subprocess.run(
        claims.replace("bfc-bench", f"{sys.executable} -m bfc_bench"),
        shell=True, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "supported" in judged.stdout, judged.stderr


def test_nothing_published_names_a_folder(tmp_path):
    for store in runs.unpack(tmp_path):
        with Store(store) as opened:
            sessions = [session for suite in opened.suites() for session in opened.sessions.of(*suite)]
        commands = [session["provenance"]["command"] for session in sessions]
        assert commands
        assert [command for command in commands if "/" in command] == []


def test_packed_and_unpacked_a_store_holds_the_same(faulty, suite_file, tmp_path, monkeypatch, bench):
    monkeypatch.setattr(runs, "RUNS", tmp_path)
    store = tmp_path / "store"
    path = suite_file(learner=[{"name": "mean"}])
    ran = bench("run", path.name, "--store", store, "--executor", "serial", cwd=path.parent)
    assert ran.returncode == 0, ran.stderr
    runs.pack("seed-0", [store])
    [unpacked] = runs.unpack(tmp_path / "out")
    assert runs.unpack(tmp_path / "out") == [unpacked]
    with open_store(store) as before, open_store(unpacked) as after:
        assert list(before) == list(after)
        [suite] = before
        assert after[suite].rows() == before[suite].rows()
        [session] = after[suite].sessions
    assert session["provenance"]["command"] == f"bfc-bench run {path.name} --store store --executor serial"


@pytest.mark.slow
def test_the_page_of_claims_is_what_they_say(tmp_path):
    with ExitStack() as stack:
        stores = [stack.enter_context(open_store(store)) for store in runs.unpack(tmp_path)]
        known = claims_page.read_statements()
        said = claims_page.page(known, seeds := claims_page.seeds_of(known, stores))
    assert claims_page.table(known, seeds) == (ROOT / "docs" / "claims.csv").read_text()
    assert said.strip() == (ROOT / "docs" / "claims.md").read_text().strip()


@pytest.mark.slow
def test_the_verdicts_in_the_published_bundles_are_those_of_their_rows():
    found = [verify(path, load_plugins(), cells=0) for path in sorted((ROOT / "docs" / "runs").glob("*.zip"))]
    assert [one.differences for one in found] == [[], []]
    assert all(one.verdicts for one in found)
