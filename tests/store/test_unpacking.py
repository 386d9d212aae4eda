"""A bundle is read as a store: it is unpacked into the cache, once, and never written."""

import zipfile

import pytest

import bfc_bench as bb
from bfc_bench.store.store import Store
from bfc_bench.store.unpacking import store_folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "bfc-bench" / "bundles"


def zipped(path, **files):
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in files.items():
            packed.writestr(name.replace("_", "."), content)
    return path


@pytest.fixture
def bundle(tmp_path):
    with Store(tmp_path / "store", write=True):
        pass
    return zipped(tmp_path / "b.zip", results_sqlite=(tmp_path / "store" / "results.sqlite").read_bytes())


def test_it_is_unpacked_once(bundle, cache):
    folder = store_folder(bundle)
    made = (folder / "results.sqlite").stat().st_mtime_ns
    assert store_folder(bundle) == folder
    assert (folder / "results.sqlite").stat().st_mtime_ns == made
    assert list(cache.iterdir()) == [folder]
    with bb.open_store(bundle) as opened:
        assert list(opened) == []


def test_a_run_does_not_write_into_it(bundle, suite_file, printed, refused):
    before, path = bundle.read_bytes(), suite_file(learner=[{"name": "kernel-ridge"}])
    said = refused("run", path, "--store", bundle)
    assert f"b.zip is a file. `bfc-bench merge {bundle} --into DIR` makes a store" in said
    printed("plan", path, "--store", bundle)
    assert "--output must name a folder for the report" in refused("report", "tiny", "--store", bundle)
    assert bundle.read_bytes() == before


@pytest.mark.parametrize("what", ["other", "damaged"])
def test_what_is_no_bundle_is_refused_in_one_line(bundle, tmp_path, cache, refused, what):
    path = zipped(tmp_path / "other.zip", notes_txt="text")
    if what == "damaged":
        content = bytearray(bundle.read_bytes())
        content[2000:3000] = b"\xff" * 1000
        path.write_bytes(content)
    said = refused("merge", path, "--into", tmp_path / "into")
    assert "other.zip is not a bundle that bfc-bench reads" in said
    assert said.count("\n") == 1
    assert list(cache.iterdir()) == []


def test_a_bundle_that_is_not_there_is_named_and_no_run_is_advised(tmp_path, refused):
    path = tmp_path / "seed-7.zip"
    assert refused("claims", "tiny", "--store", path) == f"bfc-bench: There is no bundle {path}.\n"


def test_a_suite_without_published_results_says_where_there_are_some():
    with pytest.raises(bb.UnknownSuite, match=r"suites with them: bfc, .*tabular.*open_store\(\.\.\.\)\['smoke'\]"):
        bb.reference_results("smoke")
    with pytest.raises(bb.UnknownSuite, match=r"Did you mean 'bfc-toys'\?"):
        bb.reference_results("bfc-toy")
    toys = bb.reference_results("bfc-toys")
    assert {row.status for row in toys.rows()} == {"ok"}
    assert len(toys.thresholds([0.1])) > 0
