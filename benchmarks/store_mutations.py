"""Changes to a store such as another person might send, for ``benchmarks.fuzz_stores``. All are drawn from a seed."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

from bfc_bench.store.artifacts import digests
from bfc_bench.store.row_digest import DIGESTED, row_digest

DEEP = "@deep@"
"""Text that becomes 3000 nested lists."""
SCRIPT = "<script>alert(1)</script>"
SECRET = "secret-of-the-reader"
"""Content of a file outside of the store, which must not be published."""
TABLES = ("rows", "definitions", "sessions", "looks")
NAMES = (
    "../above",
    "../../above",
    "/{outside}/above",
    "a/b",
    "",
    ".",
    "..",
    "x" * 190,
    SCRIPT,
    "\x1b[31mred",
    "-1",
    "a\0b",
)
"""Odd names; ``{outside}`` is the folder that holds the store's folder."""
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, -5, 10**30, 2**63, 1e308, -1e308, 5e-324, float("nan"), float("inf"), 1.5),
    *("", "NaN", "Infinity", "1e999", "text", "x" * 100_000, "../above", "=cmd|' /C calc'!A0", SCRIPT, "\x1b[31mred"),
    *("\ud800", "a\0b", "javascript:alert(1)", "https://bob:pass@host/", [], {}, [1], [[]], {"a": {"b": None}}, DEEP),
    *({"x": float("nan")}, {SCRIPT: 1}, {"../above": 1.0}, ["text"], {"S2": "text"}, {"joint": {"nmse": "text"}}),
)
STATEMENTS = (
    "CREATE TABLE extra (a)",
    "CREATE TRIGGER t AFTER INSERT ON rows BEGIN DELETE FROM rows; END",
    "CREATE VIEW v AS SELECT 1",
    "ALTER TABLE rows ADD COLUMN g TEXT GENERATED ALWAYS AS (upper(row)) VIRTUAL",
    "DROP INDEX rows_by_suite",
    "DROP TABLE looks",
    "ALTER TABLE sessions DROP COLUMN provenance",
    "PRAGMA user_version = 7",
    "PRAGMA user_version = -1",
    "DELETE FROM sessions",
    "DELETE FROM definitions",
    "DELETE FROM rows",
)
ENDLESS = (
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS {first}, {others} FROM c WHERE x < 0"
)


@contextmanager
def database(store: Path, *, sealed: bool = True) -> Iterator[sqlite3.Connection]:
    """The store's file, to be changed; then ``sealed``, so that not only the digests of rows stop what was changed."""
    with closing(sqlite3.connect(store / "results.sqlite", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = DELETE").fetchone()
        yield db
        if sealed:
            seal(db)


def seal(db: sqlite3.Connection) -> None:
    """Give the rows of a file the digests of what they contain now, as a person could who changes them on purpose."""
    for rowid, *content in db.execute(f"SELECT rowid, {', '.join(DIGESTED)} FROM rows").fetchall():
        db.execute("UPDATE rows SET row_digest = ? WHERE rowid = ?", (row_digest(content), rowid))


def mutate(store: Path, random: Random) -> str:
    """Change a store by one drawn kind of mutation, and return the name of the kind."""
    kind = random.choice(list(MUTATIONS))
    MUTATIONS[kind](store, random)
    for _ in range(random.choice((0, 0, 0, 2))):
        with suppress(Exception):  # what is left after the first change need not be a store
            MUTATIONS[kind](store, random)
    return kind


def row_value(store: Path, random: Random) -> None:
    """Another value, type or nesting in the JSON of a row."""
    with database(store) as db:
        rowid, values = _row(db, random)
        place, key = _place(values, random)
        place[key] = random.choice(VALUES)
        _set_row(db, rowid, values)


def row_key(store: Path, random: Random) -> None:
    """A row without a column, or with one that no release knows."""
    with database(store) as db:
        rowid, values = _row(db, random)
        if random.random() < 0.8:
            del values[random.choice(list(values))]
        else:
            values["unknown"] = random.choice(VALUES)
        _set_row(db, rowid, values)


def row_text(store: Path, random: Random) -> None:
    """Something else than JSON in the place of a row."""
    with database(store) as db:
        text = db.execute("SELECT row FROM rows").fetchone()[0]
        other = random.choice((text.encode(), text[: len(text) // 2], None, 5, "[]", "null", b"\xff\xfe", text + "x"))
        db.execute("UPDATE rows SET row = ? WHERE rowid = (SELECT min(rowid) FROM rows)", (other,))


def column(store: Path, random: Random) -> None:
    """Another value in a column of one of the tables, in one record or in all."""
    with database(store) as db:
        table = random.choice(TABLES)
        name = random.choice([info[1] for info in db.execute(f"PRAGMA table_info({table})")])
        value = random.choice(
            (*(v for v in VALUES if isinstance(v, int | float | str) and v != "\ud800"), b"\xff", None)
        )
        value = 2**62 if isinstance(value, int) and abs(value) >= 2**63 else value
        one = f" WHERE rowid = (SELECT min(rowid) FROM {table})" if random.random() < 0.7 else ""
        db.execute(f'UPDATE OR IGNORE {table} SET "{name}" = ?{one}', (value,))


def session_value(store: Path, random: Random) -> None:
    """Another value in the definition or the provenance of a run, or in the record of a look."""
    with database(store) as db:
        table, name = random.choice((("sessions", "definition"), ("sessions", "provenance"), ("looks", "record")))
        values = json.loads(db.execute(f"SELECT {name} FROM {table}").fetchone()[0])
        place, key = _place(values, random)
        if random.random() < 0.2:
            del place[key]
        else:
            place[key] = random.choice(VALUES)
        db.execute(f"UPDATE {table} SET {name} = ?", (_json(values),))


def name(store: Path, random: Random) -> None:
    """Another name of the suite in all tables, or of a task, label or learner in all rows."""
    odd = random.choice(NAMES).replace("{outside}", str(store.parent).lstrip("/"))
    with database(store) as db:
        if random.random() < 0.6:
            for table in TABLES:
                db.execute(f"UPDATE OR IGNORE {table} SET suite = ?", (odd,))
            db.execute("UPDATE sessions SET definition = json_set(definition, '$.name', ?)", (odd,))
            db.execute("UPDATE rows SET row = json_set(row, '$.suite', ?)", (odd,))
        else:
            column = random.choice(("task", "label", "learner", "device", "release", "provenance"))
            if column in ("task", "label"):
                kind = "learner" if column == "label" else "task"
                db.execute(f"UPDATE rows SET {column} = ?", (odd,))
                db.execute("UPDATE OR IGNORE definitions SET name = ? WHERE kind = ?", (odd, kind))
            db.execute(f"UPDATE rows SET row = json_set(row, '$.{column}', ?)", (odd,))


def cell(store: Path, random: Random) -> None:
    """Another identity of a cell with artifacts, and a link where its folder would be; or the same point twice."""
    with database(store) as db:
        if random.random() < 0.3:
            db.execute("CREATE TEMP TABLE c AS SELECT * FROM rows LIMIT 1")
            db.execute("UPDATE c SET cell = ?, row = json_set(row, '$.cell', ?)", ("f" * 16, "f" * 16))
            db.execute("INSERT OR IGNORE INTO rows SELECT * FROM c")
            db.execute("DROP TABLE c")
            return
        found = db.execute("SELECT cell FROM rows WHERE row -> '$.artifacts' <> '{}'").fetchone()
        odd = random.choice(
            ("../../above", "../above", "..", "/" + str(store.parent).lstrip("/"), "A" * 16, "", SCRIPT)
        )
        db.execute("UPDATE rows SET cell = ?, row = json_set(row, '$.cell', ?) WHERE cell = ?", (odd, odd, *found))
        folder = store / "artifacts" / "smoke@1"
        if random.random() < 0.5 and not folder.is_symlink():  # what a path above it means is another folder then
            (store / "deep" / "deeper" / "deepest").mkdir(parents=True)
            folder.rename(store / "deep" / "deeper" / "deepest" / "real")
            folder.symlink_to(store / "deep" / "deeper" / "deepest")
        if odd.startswith(".") and odd != "..":
            target = folder / odd
            target.mkdir(parents=True, exist_ok=True)
            for file in store.glob("**/values.*"):
                (target / file.name).write_bytes(file.read_bytes())


def schema(store: Path, random: Random) -> None:
    """Tables, views, triggers and generated columns that we do not make."""
    with database(store, sealed=False) as db:
        if random.random() < 0.4:
            table = random.choice(TABLES)
            columns = [f'"{info[1]}"' for info in db.execute(f"PRAGMA table_info({table})")]
            others = ", ".join(f"'' AS {column}" for column in columns[1:])
            if table == "rows":
                db.execute("DROP INDEX IF EXISTS rows_by_suite")
            db.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
            query = ENDLESS.format(first=columns[0], others=others)
            if random.random() < 0.3:
                query = f"SELECT * FROM old_{table}"
            db.execute(f"CREATE VIEW {table} AS {query}")
        else:
            try:
                db.execute(random.choice(STATEMENTS))
            except sqlite3.OperationalError:  # the same one a second time
                return


def file_bytes(store: Path, random: Random) -> None:
    """Flipped, removed or repeated bytes of the file."""
    path = store / "results.sqlite"
    content = bytearray(path.read_bytes())
    change = random.random()
    if change < 0.8:
        for _ in range(random.choice((1, 4, 64))):
            content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    else:
        del content[random.randrange(len(content)) :]
    path.write_bytes(content)


def artifact(store: Path, random: Random) -> None:
    """A link, a pipe, a folder, HTML, or a large file in the place of an artifact."""
    files = sorted(file for file in (store / "artifacts").rglob("*") if file.suffix and not file.is_dir())
    if not files:
        return
    file, kind = random.choice(files), random.randrange(6)
    file.unlink()
    if kind == 0:
        file.symlink_to(random.choice((store.parent / "secret.csv", Path("/dev/zero"), Path("/dev/null"), file)))
    elif kind == 1:
        os.mkfifo(file)
    elif kind == 2:
        file.mkdir()
    elif kind == 3:
        with file.open("wb") as sparse:
            sparse.truncate(10**10)
    else:
        odd = random.choice(("look.html", "look.svg", "look.csv", "look.png", "..", "a/../../look.html", "look.htm"))
        _list_artifact(store, file.parent, odd, f"{SCRIPT}".encode())


def special_file(store: Path, random: Random) -> None:
    """Something else than a file in the place of the store's file, or of its logs."""
    path = store / random.choice(("results.sqlite", "results.sqlite-wal", "results.sqlite-journal"))
    path.unlink(missing_ok=True)
    kind = random.randrange(5)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.symlink_to("/dev/zero")
    elif kind == 2:
        path.mkdir()
    elif kind == 3:
        path.symlink_to(path.name)
    else:
        with path.open("wb") as sparse:
            sparse.truncate(10**10)


MUTATIONS: Mapping[str, Callable[[Path, Random], None]] = {
    "value in a row": row_value,
    "column of a row": row_key,
    "text of a row": row_text,
    "column of a table": column,
    "session or look": session_value,
    "name": name,
    "cell": cell,
    "schema": schema,
    "bytes of the file": file_bytes,
    "artifact": artifact,
    "special file": special_file,
}


def _list_artifact(store: Path, folder: Path, name: str, content: bytes) -> None:
    """Write an artifact, if the name is one of a file, and list it with its right digest."""
    if "/" not in name and name != "..":
        (folder / name).write_bytes(content)
    with database(store) as db:
        listed = json.dumps(digests({name: content}))
        db.execute("UPDATE rows SET row = json_set(row, '$.artifacts', json(?)) WHERE cell = ?", (listed, folder.name))


def _row(db: sqlite3.Connection, random: Random) -> tuple[int, dict[str, Any]]:
    rowid, text = random.choice(db.execute("SELECT rowid, row FROM rows ORDER BY rowid").fetchall())
    return rowid, json.loads(text.replace(_nested(), f'"{DEEP}"'))


def _set_row(db: sqlite3.Connection, rowid: int, values: Any) -> None:
    db.execute("UPDATE rows SET row = ? WHERE rowid = ?", (_json(values), rowid))


def _place(values: Any, random: Random) -> tuple[Any, Any]:
    """A dictionary or list inside of plain data, and one of its keys."""
    while True:
        key = random.choice(list(values) if isinstance(values, dict) else range(len(values)))
        if not isinstance(values[key], dict | list) or not values[key] or random.random() < 0.3:
            return values, key
        values = values[key]


def _json(values: Any) -> str:
    return json.dumps(values).replace(f'"{DEEP}"', _nested())


def _nested() -> str:
    return "[" * 3000 + "]" * 3000
