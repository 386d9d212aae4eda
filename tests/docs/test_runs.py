"""docs/runs: the published runs are stores that any command reads, and docs/claims.md says what they hold."""

import csv
import io
import itertools
import sys
from contextlib import ExitStack
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from pages import blocks
from waiting import completed

from benchmarks import claims as claims_page
from bfc_bench import open_store, reference_results
from bfc_bench.extras.bundle.verify import verify

ROOT = Path(__file__).parents[2]


spec = spec_from_file_location("runs", ROOT / "docs" / "runs.py")
runs = module_from_spec(spec)
spec.loader.exec_module(runs)


def test_the_page_says_how_to_read_them(tmp_path):
    [block] = blocks(ROOT / "docs" / "runs.md")
    [claims] = block.commands
    command = claims.replace("bfc-bench", f"{sys.executable} -m bfc_bench", 1)
    judged = completed(command, shell=True, cwd=ROOT)
    assert "supported" in judged.stdout, judged.stderr


def test_what_is_installed_is_what_was_published():
    with open_store(runs.bundles()[0]) as published:
        for suite in runs.REFERENCE:
            assert reference_results(suite).rows() == published[suite].rows() != []


def test_nothing_published_names_a_folder():
    for bundle in runs.bundles():
        with open_store(bundle) as opened:
            sessions = [session for suite in opened.values() for session in suite.sessions]
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
    [packed] = runs.bundles()
    with open_store(store) as before, open_store(packed) as after:
        assert list(before) == list(after)
        [suite] = before
        assert after[suite].rows() == before[suite].rows()
        [session] = after[suite].sessions
    assert session["provenance"]["command"] == f"bfc-bench run {path.name} --store store --executor serial"


def cells(table):
    """The texts of a table in CSV by their places, and the numbers: their last digits differ between CPUs."""
    texts, numbers = {}, {}
    for place, cell in enumerate(itertools.chain.from_iterable(csv.reader(io.StringIO(table)))):
        try:
            numbers[place] = float(cell)
        except ValueError:
            texts[place] = cell
    return texts, numbers


@pytest.mark.slow
def test_the_page_of_claims_is_what_they_say():
    with ExitStack() as stack:
        stores = [stack.enter_context(open_store(bundle)) for bundle in runs.bundles()]
        known = claims_page.read_statements()
        said = claims_page.page(known, seeds := claims_page.seeds_of(known, stores))
    texts, numbers = cells((ROOT / "docs" / "claims.csv").read_text())
    made = cells(claims_page.table(known, seeds))
    assert made == (texts, pytest.approx(numbers, rel=1e-4, nan_ok=True))
    assert said.strip() == (ROOT / "docs" / "claims.md").read_text().strip()


def test_the_verdicts_in_an_installed_bundle_are_those_of_its_rows():
    found = verify(runs.SUITES / "reference" / "bfc-toys.zip", cells=0)
    assert (found.differences, found.verdicts) == ([], 12)


@pytest.mark.slow
def test_the_verdicts_in_the_published_bundles_are_those_of_their_rows():
    found = [verify(path, cells=0) for path in runs.bundles()]
    assert [one.differences for one in found] == [[], []]
    assert all(one.verdicts for one in found)
