"""A bundle holds a store's rows bit for bit; what was changed in it is found, and what is hostile is refused."""

import json
import os
import re
import shutil
import sqlite3
import zipfile
from contextlib import closing
from hashlib import sha256

import pytest
from stored_rows import content

from bfc_bench import open_store
from bfc_bench.errors import StoreError
from bfc_bench.extras.bundle import archive
from bfc_bench.extras.bundle.archive import CITATION, CLAIMS, MANIFEST, STORE
from bfc_bench.extras.bundle.verify import verify
from bfc_bench.extras.bundle.write import bundle
from bfc_bench.run import session
from bfc_bench.store.unpacking import store_folder
from bfc_bench.utils.plain_json import readable_json


def written(store, to, **options):
    with open_store(store) as opened:
        return bundle(opened, (), to, **options)


def count(made):
    """The number of rows."""
    return len(content(made / "store")["rows"])


def files_of(path):
    with zipfile.ZipFile(path) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def zipped(files, to):
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as new:
        for name, text in files.items():
            new.writestr(name, text)
    return to


def changed(path, to, changes=(), facts=()):
    """A bundle with other files, and a manifest that fits them, with other ``facts``."""
    files = files_of(path)
    for name, change in dict(changes).items():
        files[name] = change(files[name])
    said = json.loads(files[MANIFEST]) | dict(facts)
    said["files"] = {
        name: {"bytes": len(text), "sha256": sha256(text).hexdigest()}
        for name, text in files.items()
        if name != MANIFEST
    }
    return zipped(files | {MANIFEST: readable_json(said)}, to)


def forged(folder, **values):
    """A change of the store in a bundle: other values in the row of ``linear`` that is second by its error."""

    def change(text):
        folder.mkdir(exist_ok=True)
        (folder / STORE).write_bytes(text)
        with closing(sqlite3.connect(folder / STORE)) as db:
            rows = [json.loads(row) for (row,) in db.execute("SELECT row FROM rows WHERE label = 'linear' AND n = 20")]
            least, row = sorted(rows, key=lambda row: row["nmse"])[:2]
            new = {name: value(least, row) if callable(value) else value for name, value in values.items()}
            db.execute("UPDATE rows SET row = ? WHERE cell = ?", (json.dumps(row | new), row["cell"]))
            db.commit()
        return (folder / STORE).read_bytes()

    return change


def test_unpacked_a_bundle_holds_the_same(made):
    before, after = content(made / "store"), content(store_folder(made / "made.zip"))
    assert after["rows"] == before["rows"] != []
    assert sorted(after["definitions"]) == sorted(before["definitions"]) != []
    assert [run[:6] for run in after["sessions"]] == [run[:6] for run in before["sessions"]]
    with open_store(made / "store") as one, open_store(made / "made.zip") as other:
        assert list(map(repr, other["tiny@1"].claims())) == list(map(repr, one["tiny@1"].claims()))
        assert other["tiny@1"].looks == one["tiny@1"].looks


def test_only_chosen_suites_tracebacks_and_folders_are_left_out(made, tmp_path):
    shutil.copytree(made / "store", tmp_path / "store")
    command = "bfc-bench run /home/me/s.toml --store=/data/x --tracking-uri http://me:secret@host:1/p --set n=[1,2]"
    with closing(sqlite3.connect(tmp_path / "store" / STORE)) as db:
        db.execute("UPDATE rows SET traceback = 'File /home/me/x.py'")
        db.execute("UPDATE sessions SET provenance = ?", (json.dumps({"command": command}),))
        db.execute("INSERT INTO sessions SELECT id || 'b', 'other', 1, 1.0, 2.0, definition, provenance FROM sessions")
        db.commit()
    with open_store(tmp_path / "store") as opened:
        bundle(opened, ["tiny"], tmp_path / "b.zip")
    tables = content(store_folder(tmp_path / "b.zip"))
    assert {row[12] for row in tables["rows"]} == {""}
    assert {run[1] for run in tables["sessions"]} == {"tiny"}
    assert json.loads(tables["sessions"][0][6])["command"] == (
        "bfc-bench run s.toml --store=x --tracking-uri http: --set 'n=[1,2]'"
    )


def test_the_citation_names_authors_licence_and_title(made, tmp_path):
    import yaml

    written(made / "store", tmp_path / "b.zip", authors=["A. Uthor"], licence="CC0-1.0", title='Rows: "a" # b')
    files = files_of(tmp_path / "b.zip")
    cited, said = yaml.safe_load(files[CITATION]), json.loads(files[MANIFEST])
    assert (cited["title"], cited["authors"]) == ('Rows: "a" # b', [{"name": "A. Uthor"}])
    assert said["license"] == cited["license"] == "CC0-1.0"
    assert said["suites"][0]["statuses"] == {"ok": count(made)}


def test_a_bundle_is_verified_by_its_rows_and_by_cells_that_are_run_again(made, printed):
    said = printed("verify", made / "made.zip", "--executor", "serial")
    assert "tiny@1/better" in said
    agrees = r"^1 verdict agrees; (3 cells|[12] cells? consistent, [12] cells?) .*; 0 differences\.$"
    assert re.search(agrees, said, re.M)


def test_the_drawn_cells_of_a_suite_run_in_one_session_each_in_a_batch_of_its_own(made, monkeypatch):
    sessions, batches = [], []
    run_cells, run_batch = session.run_cells, session.run_batch
    monkeypatch.setattr(
        "bfc_bench.extras.bundle.verify.run_cells",
        lambda *its, **more: sessions.append(its[1]) or run_cells(*its, **more),
    )
    monkeypatch.setattr(session, "run_batch", lambda batch: batches.append(batch) or run_batch(batch))
    found = verify(made / "made.zip", cells=5, executor="serial")
    assert [len(drawn) for drawn in sessions] == [5] == [found.cells.total()]
    assert [len(batch.cells) for batch in batches] == [1] * 5


def test_cells_are_drawn_by_the_digest(made, tmp_path):
    def drawn(path, **options):
        lines = []
        verify(path, cells=1, executor="serial", tell=lines.append, **options)
        return [line for line in lines if line.startswith(("REPRODUCED", "CONSISTENT"))]

    assert drawn(made / "made.zip") == drawn(made / "made.zip") != []
    titled = [tmp_path / f"{i}.zip" for i in range(2)]
    for path in titled:
        written(made / "store", path, title=path.stem)
    assert len({tuple(drawn(path)) for path in (made / "made.zip", *titled)}) > 1
    assert len({tuple(drawn(made / "made.zip", draw=text)) for text in "abc"}) > 1


def test_a_forged_row_is_found_when_its_cell_is_drawn(made, tmp_path):
    path = changed(made / "made.zip", tmp_path / "f.zip", {STORE: forged(tmp_path / "s", nmse=0.01)})
    found = verify(path, cells=count(made), executor="serial")
    assert any("NMSE 0.01 in the bundle" in line for line in found.differences)


@pytest.mark.parametrize(
    ("where", "together", "expected"), [("middle", 13, "ALIKE"), ("middle", 1, "DIFFERS"), ("far", 13, "DIFFERS")]
)
def test_cells_that_were_trained_with_others_may_differ_as_the_replicates_do(where, together, expected, made, tmp_path):
    def error(least, row):
        return (least["nmse"] + row["nmse"]) / 2 if where == "middle" else least["nmse"] / 1000

    change = forged(tmp_path / "s", nmse=error, trained_together=together)
    path, lines = changed(made / "made.zip", tmp_path / "t.zip", {STORE: change}), []
    verify(path, cells=count(made), executor="serial", tell=lines.append)
    assert [line.split()[0] for line in lines if line.startswith(("ALIKE", "DIFFERS  tiny@1: linear"))] == [expected]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda verdicts: [verdicts[0] | {"verdict": "no"}], "tiny@1/better: verdict 'no' in the bundle"),
        (lambda verdicts: [{k: v for k, v in verdicts[0].items() if k != "p"}], "tiny@1/better: p None in the bundle"),
        (lambda verdicts: [*verdicts, verdicts[0] | {"id": "added"}], "verdicts on other claims"),
        (lambda verdicts: [], "verdicts on other claims"),
    ],
)
def test_forged_verdicts_differ(change, expected, made, tmp_path):
    def verdicts(text):
        [suite] = json.loads(text)
        return readable_json([suite | {"verdicts": change(suite["verdicts"])}])

    path = changed(made / "made.zip", tmp_path / "f.zip", {CLAIMS: verdicts})
    assert any(expected in line for line in verify(path, cells=0).differences)


@pytest.mark.parametrize(
    ("suites", "claims", "expected"),
    [
        (lambda suites: [suites[0] | {"statuses": {"ok": 500}}], list, "{'ok': 500}"),
        (lambda suites: [suites[0] | {"claims": {"supported": 9}}], list, "claims is {'supported': 9}"),
        (lambda suites: [suites[0] | {"seed": 9}], list, "seed is 9 in the manifest, 0 by the rows"),
        (lambda suites: [], list, "the suites must be the same"),
        (lambda suites: [], lambda claims: [], "the suites must be the same"),
        (lambda suites: [suites[0] | {"name": "other"}], list, "the suites must be the same"),
        (list, lambda claims: claims * 2, "the suites must be the same"),
        (list, lambda claims: ["x"], "cannot be judged"),
    ],
)
def test_suites_that_are_not_those_of_the_rows_differ(suites, claims, expected, made, tmp_path):
    said = json.loads(files_of(made / "made.zip")[MANIFEST])
    path = changed(
        made / "made.zip",
        tmp_path / "f.zip",
        {CLAIMS: lambda text: readable_json(claims(json.loads(text)))},
        {"suites": suites(said["suites"])},
    )
    assert any(expected in line for line in verify(path, cells=0).differences)


def test_where_nothing_is_compared_nothing_is_verified(made, tmp_path):
    def unclaimed(text):
        [suite] = json.loads(text)
        return readable_json([{"definition": suite["definition"] | {"claim": []}, "verdicts": []}])

    suites = json.loads(files_of(made / "made.zip")[MANIFEST])["suites"]
    facts = {"suites": [suites[0] | {"claims": {}}]}
    path = changed(made / "made.zip", tmp_path / "f.zip", {CLAIMS: unclaimed}, facts)
    found = verify(path, cells=0)
    assert (found.differences, found.exit_code) == ([], 1)
    assert verify(path, cells=1, executor="serial").exit_code == 0


def test_when_no_cell_can_be_run_again_the_bundle_is_not_called_verified(made):
    differences = verify(made / "made.zip", seconds=0.0, executor="serial").differences
    assert [line for line in differences if "no cell could be run again" in line] == differences != []


def test_a_zip_of_another_tool_is_read(made, tmp_path):
    with zipfile.ZipFile(tmp_path / "again.zip", "w", zipfile.ZIP_DEFLATED) as new:
        new.mkdir("folder")
        for name, text in sorted(files_of(made / "made.zip").items(), reverse=True):
            new.writestr(name, text)
    assert verify(tmp_path / "again.zip", cells=0).exit_code == 0


def rewritten(made, to, **others):
    files = files_of(made / "made.zip") | others
    return zipped({name: text for name, text in files.items() if text is not None}, to)


HOSTILE = {
    "leaves the folder": {"../x": b"x"},
    "no manifest": {MANIFEST: None},
    "nested": {MANIFEST: b"[" * 100_000},
    "another format": {MANIFEST: b'{"format": 99}'},
    "another file": {CITATION: b"x"},
    "no JSON": {CLAIMS: b"NaN"},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_archives_are_refused_in_one_line(what, made, tmp_path, refused):
    said = refused("verify", rewritten(made, tmp_path / "h.zip", **HOSTILE[what]))
    assert re.fullmatch(r"bfc-bench: .*h\.zip is not a bundle that bfc-bench reads: .+\n", said)
    assert os.listdir(tmp_path) == ["h.zip"]


def test_a_store_in_a_bundle_that_does_not_parse_is_a_difference(made, tmp_path):
    path = changed(made / "made.zip", tmp_path / "f.zip", {STORE: forged(tmp_path / "s", nmse="small")})
    [difference] = verify(path, cells=0).differences
    assert "is not one that bfc-bench wrote: nmse" in difference


def test_bombs_and_damage_are_refused(made, tmp_path, monkeypatch):
    whole = (made / "made.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[:-30])
    (tmp_path / "folder.zip").mkdir()
    (tmp_path / "text.zip").write_text("x")
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    (tmp_path / "flipped.zip").write_bytes(flipped)
    rewritten(made, tmp_path / "bomb.zip", **{CITATION: bytes(3_000_000)})
    monkeypatch.setitem(archive.MOST_BYTES, CITATION, 2_000_000)
    for name in ("bomb", "cut", "folder", "text", "flipped", "missing"):
        with pytest.raises(StoreError, match=f"{name}.zip is not a bundle that bfc-bench reads"):
            verify(tmp_path / f"{name}.zip", cells=0)
