"""A bundle holds a store's rows bit for bit; what was changed in it is found, and what is hostile is refused."""

import json
import re
import sqlite3
import stat
import zipfile
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise

import pytest

from bfc_bench import RunOptions, open_store, run_until_decided
from bfc_bench.bundle import archive as archive_module, row_table
from bfc_bench.bundle.archive import MANIFEST, Archive
from bfc_bench.bundle.implausible import FACTOR, MeasuredCell, implausible
from bfc_bench.bundle.row_table import rows_from_parquet, rows_to_parquet
from bfc_bench.bundle.unpack import stores_of, unpack
from bfc_bench.bundle.verify import verify
from bfc_bench.bundle.write import _without_folders, bundle
from bfc_bench.cli.app import run
from bfc_bench.errors import StoreError
from bfc_bench.plugins import load_plugins
from bfc_bench.store.merge import TABLES
from bfc_bench.store.row_digest import row_digest
from bfc_bench.utils.plain_json import readable_json

FOLDER = "suites/tiny@1"
SUITE = """
name = "tiny"
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
factor = 1.0
"""


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A store with a tiny suite that has a claim and looks at it, and its bundle."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "tiny.toml").write_text(SUITE)
    run_until_decided(folder / "tiny.toml", RunOptions(store=folder / "store", executor="serial"), last=5)
    written(folder / "store", folder / "made.zip")
    return folder


def written(store, to, **options):
    with open_store(store) as opened:
        return bundle(opened, (), to, **{"figures": False, **options})


def content(store):
    """All that the tables of a store hold, in their order."""
    with closing(sqlite3.connect(store / "results.sqlite")) as db:
        return {table: db.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall() for table in TABLES}


def count(made):
    """The number of rows."""
    return len(content(made / "store")["rows"])


def changed(path, to, changes=(), *, manifest=None):
    """A bundle with other files, and a manifest that fits them unless it is given."""
    with zipfile.ZipFile(path) as old:
        files = {name: old.read(name) for name in old.namelist()}
    for name, change in dict(changes).items():
        files[name] = change(files[name])
    said = json.loads(files[MANIFEST])
    said["files"] = {
        name: {"bytes": len(text), "sha256": sha256(text).hexdigest()}
        for name, text in files.items()
        if name != MANIFEST
    }
    files[MANIFEST] = manifest or readable_json(said)
    with zipfile.ZipFile(to, "w") as new:
        for name, text in files.items():
            new.writestr(name, text)
    return to


def forged(text, nmse=1e-30, *, digest=True):
    """The rows with one error that was typed by hand, with or without a digest that fits it."""
    records = list(rows_from_parquet(text, "rows"))
    first = next(i for i, record in enumerate(records) if '"status":"ok"' in record[11])
    cell, row = records[first][0], json.loads(records[first][11])
    line = json.dumps({**row, "nmse": nmse}, separators=(",", ":"))
    new = (*records[first][:11], line, *records[first][12:])
    out = rows_to_parquet([*records[:first], new, *records[first + 1 :]])
    if digest:
        return cell, out
    import io

    import pyarrow as pa
    from pyarrow import parquet

    table = parquet.read_table(io.BytesIO(out))
    digests = [row_digest((r[0], r[9], r[10], r[11], "")) for r in records]
    column = pa.array(digests, table.schema.field("row_digest").type)
    table = table.set_column(table.schema.get_field_index("row_digest"), table.schema.field("row_digest"), column)
    parquet.write_table(table, buffer := io.BytesIO(), store_schema=False)
    return cell, buffer.getvalue()


def test_unpacked_a_bundle_holds_the_same(made, tmp_path):
    with Archive(made / "made.zip") as archive:
        assert unpack(archive, tmp_path / "back") == []
    before, after = content(made / "store"), content(tmp_path / "back")
    assert after["rows"] == before["rows"] != []
    assert after["looks"] == before["looks"] != []
    assert sorted(after["definitions"]) == sorted(before["definitions"]) != []
    assert [run[:5] for run in after["sessions"]] == [run[:5] for run in before["sessions"]]
    with open_store(made / "store") as one, open_store(tmp_path / "back") as other:
        assert list(map(repr, other["tiny@1"].claims())) == list(map(repr, one["tiny@1"].claims()))
        assert other["tiny@1"].looks_by_claim() == one["tiny@1"].looks_by_claim()


def test_rows_that_columns_cannot_hold_are_kept_as_they_are():
    texts = [
        '{"cell":"a","nmse":1,"seed":123456789012345678901234567890}',
        '{"seed":null, "cell":"b"}',
        '{"cell":"c","later_column":[1e-7]}',
        '{"cell":"d","options":{"z":1,"a":[1e-07,-0.0]}}',
    ]
    records = [(json.loads(text)["cell"], *[None] * 8, "t", "l", text, "", None, None, None, b"") for text in texts]
    assert [record[11] for record in rows_from_parquet(rows_to_parquet(records), "rows")] == texts


def test_tracebacks_are_left_out_and_folders_in_commands():
    command = "__main__.py run /home/me/s.toml --store=/data/x --tracking-uri http://me:secret@host:1/p --set n=[1,2]"
    session = {"id": "i", "provenance": {"command": command}}
    cleaned = _without_folders(session)["provenance"]["command"]
    assert cleaned == "bfc-bench run s.toml --store=x --tracking-uri http: --set 'n=[1,2]'"
    record = ("c", *[None] * 8, "t", "l", '{"cell":"c"}', "File /home/me/x.py", None, None, None, b"")
    [back] = rows_from_parquet(rows_to_parquet([record]), "rows")
    assert back[12] == ""
    assert back[-1] == row_digest(("c", "t", "l", '{"cell":"c"}', ""))


def test_equal_stores_give_equal_bytes(made, tmp_path):
    done = written(made / "store", tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == (made / "made.zip").read_bytes()
    with Archive(tmp_path / "again.zip") as archive:
        assert archive.digest == done.digest


def test_metadata_name_every_file_and_the_authors(made, tmp_path):
    import yaml

    title = 'Rows: "a" # b'
    written(made / "store", tmp_path / "b.zip", figures=True, authors=["A. Uthor"], licence="CC0-1.0", title=title)
    with zipfile.ZipFile(tmp_path / "b.zip") as opened:
        names = set(opened.namelist())
        graph = {part["@id"]: part for part in json.loads(opened.read("ro-crate-metadata.json"))["@graph"]}
        cited, zenodo = yaml.safe_load(opened.read("CITATION.cff")), json.loads(opened.read(".zenodo.json"))
        said = json.loads(opened.read(MANIFEST))
    assert {part["@id"] for part in graph["./"]["hasPart"]} == names - {MANIFEST, "ro-crate-metadata.json"}
    assert all(part["@id"] in graph for part in graph["./"]["hasPart"])
    assert any(name.startswith(f"{FOLDER}/figures/") for name in names)
    assert graph["ro-crate-metadata.json"]["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    assert cited["title"] == zenodo["title"] == graph["./"]["name"] == title
    assert cited["authors"] == zenodo["creators"] == [{"name": "A. Uthor"}]
    assert said["license"] == cited["license"] == "CC0-1.0"
    assert said["suites"][0]["statuses"] == {"ok": count(made)}


def test_a_bundle_is_verified_by_its_rows_and_by_cells_that_are_run_again(made, capsys):
    assert run(["verify", str(made / "made.zip"), "--executor", "serial"]) == 0
    said = capsys.readouterr().out
    assert "tiny@1/better" in said
    counts = re.findall(r"1 verdicts agree; (\d) cells reproduced, (\d) consistent, 0 alike; 0 diff", said)
    assert [sum(map(int, numbers)) for numbers in counts] == [3]


def test_cells_are_drawn_by_the_digest(made, tmp_path):
    def drawn(path, **options):
        lines = []
        verify(path, load_plugins(), cells=1, executor="serial", tell=lines.append, **options)
        return [line for line in lines if line.startswith(("REPRODUCED", "CONSISTENT"))]

    assert drawn(made / "made.zip") == drawn(made / "made.zip")
    titled = [tmp_path / f"{i}.zip" for i in range(2)]
    for path in titled:
        written(made / "store", path, title=path.stem)
    assert len({tuple(drawn(path)) for path in (made / "made.zip", *titled)}) > 1
    assert len({tuple(drawn(made / "made.zip", draw=text)) for text in "abc"}) > 1


def test_a_forged_row_is_found_by_its_digest_and_with_a_new_digest_by_running_it_again(made, tmp_path):
    def found(digest, **options):
        def change(text):
            cells.append(forged(text, digest=digest))
            return cells[-1][1]

        cells = []
        path = changed(made / "made.zip", tmp_path / "forged.zip", {f"{FOLDER}/rows.parquet": change})
        return cells[0][0], verify(path, load_plugins(), executor="serial", **options).differences

    cell, differences = found(False, cells=0)
    assert any(f"1 row that was changed after it was written: {cell}" in line for line in differences)
    _, differences = found(True, cells=1)  # an implausible row is run again whatever is drawn
    assert any("NMSE 1e-30 in the bundle" in line and "(nmse)" in line for line in differences)
    _, differences = found(True, cells=0)
    assert not any("NMSE" in line for line in differences)


def test_a_forged_row_that_is_not_doubted_is_found_when_it_is_drawn(made, tmp_path):
    path = changed(
        made / "made.zip", tmp_path / "forged.zip", {f"{FOLDER}/rows.parquet": lambda text: forged(text, 0.01)[1]}
    )
    differences = verify(path, load_plugins(), cells=count(made), executor="serial").differences
    assert any("NMSE 0.01 in the bundle" in line for line in differences)


def test_a_forged_verdict_and_forged_counts_differ(made, tmp_path):
    def opposite(text):
        [verdict] = json.loads(text)
        word = "contradicted" if verdict["verdict"] == "supported" else "supported"
        return readable_json([{**verdict, "verdict": word}, {**verdict, "id": "added"}])

    path = changed(made / "made.zip", tmp_path / "f.zip", {f"{FOLDER}/claims.json": opposite})
    differences = verify(path, load_plugins(), cells=0).differences
    assert any("tiny@1/better: verdict" in line for line in differences)
    assert any("tiny@1/added" in line for line in differences)
    with zipfile.ZipFile(made / "made.zip") as opened:
        said = json.loads(opened.read(MANIFEST))
    said["suites"][0]["statuses"] = {"ok": 500}
    path = changed(made / "made.zip", tmp_path / "g.zip", manifest=readable_json(said))
    assert any("{'ok': 500}" in line for line in verify(path, load_plugins(), cells=0).differences)


def test_rows_of_another_suite_and_repeated_rows_are_refused(made, tmp_path):
    def other(text):
        first, *rest = rows_from_parquet(text, "rows")
        line = json.dumps({**json.loads(first[11]), "suite": "other"}, separators=(",", ":"))
        return rows_to_parquet([(*first[:11], line, *first[12:]), *rest, rest[-1]])

    path = changed(made / "made.zip", tmp_path / "f.zip", {f"{FOLDER}/rows.parquet": other})
    with Archive(path) as archive:
        [refused] = unpack(archive, tmp_path / "back")
    assert refused.problems == ["tiny@1: 2 rows that bfc-bench could not have written"]
    with pytest.raises(StoreError, match="is refused"), stores_of([path]):
        pass


def test_when_no_cell_can_be_run_again_the_bundle_is_not_called_verified(made):
    differences = verify(made / "made.zip", load_plugins(), seconds=0.0, executor="serial").differences
    assert [line for line in differences if "no cell could be run again" in line] == differences != []


def symlink(new):
    entry = zipfile.ZipInfo("CITATION.cff")
    entry.create_system, entry.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    new.writestr(entry, "/etc/passwd")


HOSTILE = {
    "leaves the folder": lambda new: new.writestr("suites/../../x", "x"),
    "absolute": lambda new: new.writestr("/etc/x", "x"),
    "unknown": lambda new: new.writestr("suites/a@1/run.py", "x"),
    "name of a suite": lambda new: new.writestr("suites/..@1/rows.parquet", "x"),
    "link": symlink,
    "no manifest": lambda new: new.writestr("CITATION.cff", "x"),
    "nested": lambda new: new.writestr(MANIFEST, "[" * 100_000),
    "another format": lambda new: new.writestr(MANIFEST, '{"format": 99, "files": {}, "suites": []}'),
    "odd suites": lambda new: new.writestr(MANIFEST, '{"format": 1, "files": {}, "suites": [{"name": ["a"]}]}'),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_archives_are_refused_in_one_line(what, tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "h.zip", "w") as new:
        HOSTILE[what](new)
    assert run(["verify", str(tmp_path / "h.zip")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("bfc-bench: ")
    assert len(said.splitlines()) == 1


def test_bombs_and_damage_are_refused(made, tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr("CITATION.cff", bytes(3_000_000))
    whole = (made / "made.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[:-30])
    (tmp_path / "folder.zip").mkdir()
    (tmp_path / "text.zip").write_text("x")
    flipped = bytearray(whole)
    flipped[whole.index(b"PAR1") + 1000] ^= 1
    (tmp_path / "flipped.zip").write_bytes(flipped)
    monkeypatch.setattr(archive_module, "MOST_BYTES", 2_000_000)
    for name in ("bomb", "cut", "folder", "text", "flipped", "missing"):
        with pytest.raises(StoreError):
            verify(tmp_path / f"{name}.zip", load_plugins(), cells=0)
    monkeypatch.setattr(archive_module, "MOST_FILES", 3)
    with pytest.raises(StoreError, match="at most 3 files"):
        Archive(made / "made.zip")


def test_a_file_that_the_manifest_describes_otherwise_is_refused(made, tmp_path):
    with zipfile.ZipFile(made / "made.zip") as opened:
        manifest = opened.read(MANIFEST)
    path = changed(made / "made.zip", tmp_path / "f.zip", {"CITATION.cff": lambda _: b"x"}, manifest=manifest)
    with pytest.raises(StoreError, match="SHA-256 differs"):
        verify(path, load_plugins(), cells=0)


def test_parquet_of_other_columns_and_repeated_large_texts_are_refused(monkeypatch):
    import io

    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"a": [1]}), buffer := io.BytesIO())
    with pytest.raises(StoreError, match="other columns"):
        list(rows_from_parquet(buffer.getvalue(), "rows"))
    with pytest.raises(StoreError, match="cannot be read as parquet"):
        list(rows_from_parquet(b"PAR1" + bytes(100) + b"PAR1", "rows"))
    text = json.dumps({"cell": "c", "reason": "x" * 10_000}, separators=(",", ":"))
    record = ("c", *[None] * 8, "t", "l", text, "", None, None, None, b"")
    monkeypatch.setattr(row_table, "BATCH_BYTES", 100_000)
    with pytest.raises(StoreError, match="too large"):
        list(rows_from_parquet(rows_to_parquet([record] * 20), "rows"))


def test_merge_and_site_read_bundles(made, tmp_path, capsys):
    assert run(["merge", str(made / "made.zip"), "--into", str(tmp_path / "into")]) == 0
    assert f"{count(made)} new rows" in capsys.readouterr().out
    assert content(tmp_path / "into")["rows"] == content(made / "store")["rows"]
    assert run(["merge", str(made / "made.zip"), "--into", str(tmp_path / "into"), "--prefer", "newer"]) == 0
    assert f"0 new rows, {count(made)} there already" in capsys.readouterr().out


def test_only_an_error_far_below_the_others_is_doubted():
    base = MeasuredCell(("s", 1), "c", "t", "l", 2, 3, 0, 0.5, "float64")
    nmse = [0.5 * 1.5 / FACTOR, 0.5, 0.6, 0.7]
    rows = [replace(base, cell=f"c{i}", replicate=i, nmse=error) for i, error in enumerate(nmse)]
    assert implausible(rows) == []
    rows[0] = replace(rows[0], nmse=0.5 * 0.9 / FACTOR)
    assert [doubt.cell for doubt in implausible(rows)] == ["c0"]
    assert implausible(rows[:2]) == []  # one other replicate says little
    tiny = [replace(row, nmse=nmse) for row, nmse in zip(rows, (1e-34, 1e-34, 2e-33, 2e-33), strict=True)]
    assert {doubt.cell for doubt in implausible(tiny)} == {"c0", "c1"}
    assert all(a.factor >= b.factor for a, b in pairwise(implausible(tiny)))


@pytest.mark.parametrize(
    ("where", "together", "expected"), [("middle", 13, "ALIKE"), ("middle", 1, "DIFFERS"), ("far", 13, "DIFFERS")]
)
def test_cells_that_were_trained_with_others_may_differ_as_the_replicates_do(where, together, expected, made, tmp_path):
    cells = []

    def change(text):
        records = list(rows_from_parquet(text, "rows"))
        rows = [json.loads(record[11]) for record in records]
        same = [i for i, row in enumerate(rows) if (row["label"], row["n"]) == ("linear", 20)]
        same.sort(key=lambda i: rows[i]["nmse"])
        i, least = same[1], rows[same[0]]["nmse"]
        cells.append(rows[i]["replicate"])
        forged = (least + rows[i]["nmse"]) / 2 if where == "middle" else least / 1000
        row = {**rows[i], "trained_together": together, "nmse": forged}
        line = json.dumps(row, separators=(",", ":"))
        records[i] = (*records[i][:11], line, *records[i][12:])
        return rows_to_parquet(records)

    path, lines = changed(made / "made.zip", tmp_path / "t.zip", {f"{FOLDER}/rows.parquet": change}), []
    verify(path, load_plugins(), cells=count(made), executor="serial", tell=lines.append)
    cell = f"tiny@1: linear on t, d = 4, n = 20, replicate {cells[0]}: "
    assert [line.split()[0] for line in lines if cell in line] == [expected]
