"""A store that another person made is data: what bfc-bench could not have written is refused, and the rest is read."""

import json
import os
import sqlite3
import warnings
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from stored_rows import seal

from bfc_bench.cli.app import run
from bfc_bench.errors import StoreError
from bfc_bench.store import artifacts
from bfc_bench.store.merge import merge
from bfc_bench.store.row import Row
from bfc_bench.store.store import Store

ROW = Row(
    cell="0123456789abcdef",
    suite="s",
    suite_version=1,
    task="t",
    learner="l",
    label="l",
    options={},
    d=2,
    n=3,
    replicate=0,
    status="ok",
    nmse=0.5,
    finished_at=1.0,
)
PNG = b"\x89PNG\r\n\x1a\n"


def store_of(folder: Path, *rows: Row, files: dict[str, bytes] | None = None) -> Path:
    with Store(folder, write=True) as store:
        store.sessions.begin("run", "s", 1, {"name": "s", "version": 1, "levels": [0.1]}, {})
        store.sessions.define("s", 1, {"t": "td"}, {"l": "ld"})
        store.put([(row, "td", "ld", "") for row in rows], {rows[0].cell: files} if files else {})
    return folder


def change(folder: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(folder / "results.sqlite")) as db:
        db.execute(sql, values)
        if " rows " in sql and sql.startswith("UPDATE"):
            seal(db)
        db.commit()


@pytest.mark.parametrize(
    "odd",
    [
        {"cell": "../../../../root/.ssh"},
        {"cell": "0123456789abcdef/x"},
        {"cell": "fedcba9876543210"},
        {"nmse": "0.5"},
        {"nmse": [0.5]},
        {"nmse": -5.0},
        {"nmse": 1e308},
        {"options": None},
        {"d": 10**30},
        {"n": 0},
        {"replicate": -1},
        {"label": "l" * 190},
        {"label": "\x1b[31ml"},
        {"task": "../t"},
        {"finished_at": "yesterday"},
        {"finished_at": 1e300},
        {"metrics": {"m": "x"}},
        {"artifacts": {"a.png": 1}},
        {"status": "fine"},
        {"suite": "../s"},
        {"reason": "x" * 3_000_000},
        {"peak_memory_bytes": 10**30},
        {"trained_together": 10**30},
        {"learner_version": 10**30},
        {"seed": 2**63},
    ],
    ids=lambda odd: f"{next(iter(odd))}={str(next(iter(odd.values())))[:20]}",
)
def test_a_row_that_could_not_be_written_is_left_out_and_counted(odd, tmp_path):
    folder = store_of(tmp_path / "s", ROW, replace(ROW, cell="fedcba9876543210", n=4))
    change(folder, "UPDATE rows SET row = ? WHERE cell = ?", json.dumps(ROW.as_dict() | odd), ROW.cell)
    with Store(folder) as store:
        for read in (
            store.rows,
            store.columns,
            lambda *suite: store.columns_with_callback(*suite, lambda row: None)[0],
        ):
            with pytest.warns(UserWarning, match="holds 1 rows of s@1"):
                assert [row.n for row in read("s", 1)] == [4]
    merged = merge([folder], tmp_path / "into")
    assert merged.new == 1
    assert merged.remarks == [f"1 rows of {folder} were refused: bfc-bench could not have written them."]


LOOK = {
    "claim": "c",
    "content": "1",
    "data": "2",
    "replicates": 3,
    "reads": [["t", "l", 2, [3]]],
    "looks": {"schedule": [3, 5], "total": 0.025, "made": []},
    "verdict": None,
}


@pytest.mark.parametrize(
    "odd",
    [
        {"data": None},
        {"content": {}},
        {"replicates": 4},
        {"reads": 1},
        {"reads": [["t", {}, 2, [3]]]},
        {"reads": [["t", "l", 2, 3]]},
        {"looks": {"schedule": 3, "total": 0.025, "made": []}},
        {"looks": {"schedule": [5, 3], "total": 0.025, "made": []}},
        {"looks": {"schedule": [3, 5], "total": 0.6, "made": []}},
        {"looks": {"schedule": [3, 5], "total": 0.025, "made": [5]}},
        {"looks": {"schedule": [3, 5], "total": 0.025}},
        {"verdict": "certain"},
        {"allows_skewness": 1},
        {"more": 1},
    ],
    ids=str,
)
def test_a_look_that_could_not_be_written_is_left_out(odd, tmp_path):
    folder = store_of(tmp_path / "s", ROW)
    with Store(folder, write=True) as store:
        store.looks.put("s", 1, [LOOK])
    with Store(folder) as store:
        assert store.looks.of("s", 1) == [LOOK]
    columns = {name: value for name, value in odd.items() if name in ("replicates", "verdict")}
    for name, value in columns.items():
        change(folder, f"UPDATE looks SET {name} = ?", value)
    change(folder, "UPDATE looks SET record = ?", json.dumps(LOOK | odd))
    with Store(folder) as store:
        assert store.looks.of("s", 1) == []


def test_a_message_about_a_store_has_no_control_characters(tmp_path, capsys):
    folder = store_of(tmp_path / "s", ROW)
    file = folder / "results.sqlite"
    file.write_bytes(file.read_bytes().replace(b"CREATE TABLE looks", b"CREATE TABLE l\x14\x1bks"))
    assert run(["merge", str(folder), "--into", str(tmp_path / "into")]) == 2
    message = capsys.readouterr().err
    assert str(folder) in message
    assert message.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("suite", "../x"),
        ("suite", "/x"),
        ("version", -1),
        ("version", 2**53),
        ("version", 1.5),
        ("started_at", -1.0),
        ("started_at", 1e11),
        ("definition", "[1]"),
        ("definition", '{"a": NaN}'),
        ("definition", '{"levels": 0.1}'),
        ("definition", '{"levels": [0]}'),
        ("definition", '{"levels": [0.1, "0.2"]}'),
        ("definition", '{"task": {}}'),
        ("definition", '{"task": ["t"]}'),
        ("definition", '{"learner": 1}'),
        ("definition", '{"learner": ["l"]}'),
        ("provenance", "no"),
        ("provenance", '{"command": 1}'),
        ("provenance", '{"packages": []}'),
    ],
)
def test_a_run_of_a_suite_that_cannot_be_is_not_listed(column, value, tmp_path):
    folder = store_of(tmp_path / "s", ROW)
    change(folder, f"UPDATE sessions SET {column} = ?", value)
    with Store(folder) as store, pytest.warns(UserWarning, match="holds 1 runs that bfc-bench could not have written"):
        assert store.suites() == []
    assert merge([folder], tmp_path / "into").sessions == 0
    assert run(["site", str(tmp_path / "site"), "--store", str(folder)]) in (0, 1, 2)
    assert {path.name for path in tmp_path.iterdir()} <= {"s", "into", "site"}


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE VIEW more AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT x FROM c",
        "CREATE TABLE more (x)",
        "CREATE TRIGGER t AFTER INSERT ON rows BEGIN DELETE FROM rows; END",
        "CREATE INDEX more ON rows (status)",
        "ALTER TABLE looks ADD COLUMN g GENERATED ALWAYS AS (1)",
    ],
)
def test_a_file_with_other_tables_views_or_triggers_is_not_read(sql, tmp_path):
    folder = store_of(tmp_path / "s", ROW)
    change(folder, sql)
    for write in (False, True):
        with pytest.raises(StoreError, match="has other tables than bfc-bench makes"):
            Store(folder, write=write)


def test_a_view_in_the_place_of_a_table_is_not_asked(tmp_path):
    folder = store_of(tmp_path / "s", ROW)
    change(folder, "DROP TABLE looks")
    change(folder, "CREATE VIEW looks AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT x FROM c")
    with pytest.raises(StoreError, match="view looks"):
        Store(folder)


def test_a_pipe_in_the_place_of_the_file_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "results.sqlite")
    with pytest.raises(StoreError, match="is not a regular file"):
        Store(tmp_path)


def test_a_pipe_beside_a_log_that_is_not_empty_does_not_hang(tmp_path):
    folder = store_of(tmp_path / "s", ROW)
    (folder / "results.sqlite").unlink()
    os.mkfifo(folder / "results.sqlite")
    (folder / "results.sqlite-journal").write_bytes(b"a log")
    assert (folder / "results.sqlite-id").read_text().strip()
    with pytest.raises(StoreError, match=r"results\.sqlite is not a regular file"):
        Store(folder)


@pytest.mark.parametrize("log", ["results.sqlite-wal", "results.sqlite-journal", "results.sqlite-shm"])
@pytest.mark.parametrize("write", [False, True])
def test_a_pipe_in_the_place_of_a_log_does_not_hang(tmp_path, log, write):
    folder = store_of(tmp_path / "s", ROW)
    os.mkfifo(folder / log)
    with pytest.raises(StoreError, match=f"{log} is not a regular file"):
        Store(folder, write=write)


@pytest.mark.parametrize("target", ["/dev/zero", "nothing", "results.sqlite-journal"])
def test_a_log_that_links_to_no_regular_file_is_refused(tmp_path, target):
    folder = store_of(tmp_path / "s", ROW)
    (folder / "results.sqlite-journal").symlink_to(target)
    with pytest.raises(StoreError, match=r"results\.sqlite-journal is not a regular file"):
        Store(folder)


def test_a_pipe_in_the_place_of_the_lock_does_not_hang(tmp_path):
    folder = store_of(tmp_path / "s", ROW)
    (folder / "lock").unlink(missing_ok=True)
    os.mkfifo(folder / "lock")
    with pytest.raises(StoreError, match="lock is not a regular file"):
        Store(folder, write=True)


def listed(folder: Path, cell: str = ROW.cell) -> set[str]:
    with Store(folder) as store:
        return set(store.artifacts(cell))


def test_artifacts_are_regular_files_of_known_kinds_inside_the_store(tmp_path):
    row = replace(ROW, artifacts=artifacts.digests({"a.png": PNG, "b.png": PNG + b"b", "look.html": PNG}))
    folder = store_of(tmp_path / "s", row, files={"a.png": PNG, "b.png": PNG + b"b", "look.html": PNG})
    assert listed(folder) == {"a.png", "b.png"}
    place = artifacts.folder(folder, "s", 1, ROW.cell)
    (tmp_path / "elsewhere.png").write_bytes(PNG)
    (place / "a.png").unlink()
    (place / "a.png").symlink_to(tmp_path / "elsewhere.png")
    (place / "b.png").unlink()
    os.mkfifo(place / "b.png")
    assert listed(folder) == set()


def test_a_folder_of_artifacts_that_is_a_link_is_not_followed(tmp_path):
    row = replace(ROW, artifacts=artifacts.digests({"a.png": PNG}))
    folder = store_of(tmp_path / "s", row, files={"a.png": PNG})
    suite = folder / "artifacts" / "s@1"
    suite.rename(tmp_path / "deep")
    suite.symlink_to(tmp_path / "deep")
    assert listed(folder) == set()
    merge([folder], tmp_path / "into")
    assert not list((tmp_path / "into").glob("artifacts/*/*"))


def test_what_learners_said_is_shown_without_control_characters(tmp_path):
    folder = store_of(tmp_path / "s", replace(ROW, device="\x1b[31mred", release="0\u202e1"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Store(folder) as store:
            (row,) = store.rows("s", 1)
    assert (row.device, row.release) == (r"\x1b[31mred", r"0\u202e1")


def test_damaged_names_in_the_file_are_one_message(tmp_path):
    folder = store_of(tmp_path / "s", ROW)
    content = (folder / "results.sqlite").read_bytes()
    (folder / "results.sqlite").write_bytes(content.replace(b"CREATE TABLE looks", b"CREATE \xd4ABLE looks"))
    with pytest.raises(StoreError, match="cannot be read"):
        Store(folder)
