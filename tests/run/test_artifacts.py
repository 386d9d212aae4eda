"""Files that predictors give: checked at the door, kept before the row that names them, found by all who read rows."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sent_rows import BATCH, row

from bfc_bench import RunOptions, open_store, run_suite
from bfc_bench.run.wire_format import pack, receive
from bfc_bench.store.artifacts import digests
from bfc_bench.store.store import Store

PNG = b"\x89PNG\r\n\x1a\n"
REFUSED = {
    "raises": "no artifacts: ZeroDivisionError: ",
    "exits": "no artifacts: SystemExit: 0",
    "list": "no artifacts: ValueError: artifacts() must give a mapping of names to bytes. Got list",
    "path": "end in .png, .npz, .csv, .json. Got '../../out.png'",
    "hidden": "end in .png, .npz, .csv, .json. Got '.png'",
    "ending": "end in .png, .npz, .csv, .json. Got 'run.sh'",
    "text": "artifact 'a.csv' must be bytes. Got str",
    "not-png": "artifact 'a.png' must have the format of its ending. Got b'GIF89a'",
    "not-json": "artifact 'a.json' must have the format of its ending",
    "not-text": "artifact 'a.csv' must have the format of its ending",
    "large": "artifacts must take at most 4 MB together. Got 4 MB",
    "many": "artifacts() must give at most 100 files. Got 101",
}


def written(store):
    """What lies below ``artifacts``, by path."""
    place = store / "artifacts"
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize("executor", ["processes", "serial"])
def test_files_are_kept_by_cell_and_a_fault_costs_no_error(executor, faulty, suite_file, tmp_path):
    hows = ["well", *REFUSED]
    path = suite_file(learner=[{"name": "artist", "label": how, "options": {"how": how}} for how in hows])
    session = run_suite(path, RunOptions(store=tmp_path / "store", jobs=1, executor=executor))
    assert dict(session.statuses) == {"ok": 2 * len(hows)}
    with open_store(tmp_path / "store") as results:
        suite = results["tiny@1"]
        rows = {(row.label, row.n): row for row in suite.rows()}
        for how, reason in REFUSED.items():
            row = rows[how, 20]
            assert (row.nmse is not None, row.artifacts, reason in row.reason) == (True, {}, True), row.reason
            assert suite.artifacts(row) == {}
        assert "ZeroDivisionError" in results.store.traceback(rows["raises", 20].cell)
        for n in (10, 20):
            row = rows["well", n]
            found = {name: file.read_bytes() for name, file in suite.artifacts(row.cell).items()}
            assert found == {"features.png": PNG + bytes([n]) * n, "facts.json": b'{"n": 1}'}
            assert (row.reason, row.artifacts) == ("", digests(found))
            picture = suite.artifacts(row)["features.png"]
            assert [path.stat().st_mode & 0o777 for path in (picture, picture.parent)] == [0o600, 0o700]
        assert suite.frame()["artifacts.features.png"].notna().sum() == 2
        cells = {rows["well", n].cell for n in (10, 20)}
    assert set(written(tmp_path / "store")) == {
        f"tiny@1/{cell}/{name}" for cell in cells for name in ("features.png", "facts.json")
    }
    assert not (tmp_path / "out.png").exists()


def test_a_redone_cell_has_the_new_files_only(faulty, suite_file, tmp_path):
    marker, store = tmp_path / "marker", tmp_path / "store"
    path = suite_file(learner=[{"name": "artist", "options": {"marker": str(marker)}}])
    run_suite(path, RunOptions(store=store, executor="serial"))
    marker.touch()
    run_suite(path, RunOptions(store=store, executor="serial", redo=["all"]))
    with open_store(store) as results:
        for row in results["tiny"].rows():
            files = {name: file.read_bytes() for name, file in results["tiny"].artifacts(row).items()}
            assert sorted(files) == ["facts.json", "features.png"]
            assert files["features.png"] == PNG + bytes([row.n]) * row.n


def test_a_file_that_is_not_what_the_row_says_is_not_shown(faulty, suite_file, tmp_path):
    path = suite_file(learner=[{"name": "artist"}])
    run_suite(path, RunOptions(store=tmp_path / "store", executor="serial"))
    with open_store(tmp_path / "store") as results:
        row = results["tiny@1"].rows()[0]
        held = results["tiny@1"].artifacts(row)
        held["features.png"].write_bytes(PNG + b"another")
        assert list(results["tiny@1"].artifacts(row)) == ["facts.json"]
        held["facts.json"].unlink()
        assert results["tiny@1"].artifacts(row) == {}
        assert results["tiny@1"].artifacts("no such cell") == {}


KILLED = """
import os, signal, sys
from bfc_bench import RunOptions, run_suite
from bfc_bench.store import store

class Killed(store.Store):
    def transaction(self):
        if os.path.exists(os.path.join(self.directory, "artifacts")):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().transaction()

import bfc_bench.run.session as session
session.Store = Killed
run_suite(sys.argv[1], RunOptions(store=sys.argv[2], executor="serial"))
"""


def test_what_a_run_wrote_that_was_killed_before_its_row_is_nobodys(faulty, suite_file, tmp_path):
    path, store = suite_file(learner=[{"name": "artist"}]), tmp_path / "store"
    ran = subprocess.run([sys.executable, "-c", KILLED, path, store], check=False, timeout=120)
    assert ran.returncode == -signal.SIGKILL
    cells = {Path(name).parent.name for name in written(store)}
    assert cells
    with Store(store) as opened:
        assert (opened.rows("tiny", 1), [opened.artifacts(cell) for cell in cells]) == ([], [{}] * len(cells))
    assert run_suite(path, RunOptions(store=store, executor="serial")).exit_code == 0
    with open_store(store) as results:
        assert all(len(results["tiny@1"].artifacts(row)) == 2 for row in results["tiny@1"].rows())


def test_the_session_takes_the_files_that_the_row_names_and_no_others():
    files = {"a.png": PNG + bytes(range(256)) * 1000, "b.json": b"[1]"}
    line = b"{}\n" + pack(row(artifacts=digests(files)), "", files)
    ((_, _, got),), _ = receive(BATCH, line)
    assert got == files
    named = row(artifacts=digests(files))
    others = [{}, {"a.png": files["a.png"]}, {**files, "c.csv": b""}, {**files, "b.json": b"[2]"}]
    for one, sent in [(row(), files), *((named, wrong) for wrong in others)]:
        with pytest.raises(ValueError, match="the files sent must be those that the row names"):
            receive(BATCH, b"{}\n" + pack(one, "", sent))
    with pytest.raises(ValueError, match="names of artifacts"):
        receive(BATCH, b"{}\n" + pack(row(artifacts={"../x.png": "0"}), "", {"../x.png": PNG}))
