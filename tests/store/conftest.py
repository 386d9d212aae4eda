import json
import sqlite3
from pathlib import Path

import pytest

from bfc_bench.store.row import Row

ROW = Row(cell="c0", suite="s", suite_version=1, task="t", learner="l", label="l", options={"a": 1}, d=2, n=3,
          replicate=0, status="ok", nmse=0.5, finished_at=1.0)  # fmt: skip
SCHEMA_1 = """
CREATE TABLE rows (
  cell TEXT PRIMARY KEY, suite TEXT, version INTEGER, task TEXT, label TEXT, d INTEGER, n INTEGER, replicate INTEGER,
  status TEXT, task_digest TEXT, learner_digest TEXT, row TEXT, traceback TEXT);
CREATE INDEX rows_by_suite ON rows (suite, version);
CREATE TABLE definitions (
  suite TEXT, version INTEGER, kind TEXT, name TEXT, digest TEXT, PRIMARY KEY (suite, version, kind, name));
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, suite TEXT, version INTEGER, started_at REAL, finished_at REAL,
  definition TEXT, provenance TEXT);
PRAGMA user_version = 1;
"""


@pytest.fixture
def old_store(tmp_path: Path) -> Path:
    """A store as the first schema had it, with one row, whose degree error stands among the feature errors."""
    old = {k: v for k, v in ROW.as_dict().items() if k not in ("release", "learner_version", "part_errors", "metrics")}
    old |= {"device": "cpu", "feature_errors": {"S2": 0.5, "degree1": -0.25}}
    folder = tmp_path / "old"
    folder.mkdir()
    db = sqlite3.connect(folder / "results.sqlite")
    db.executescript(SCHEMA_1)
    values = ("c0", "s", 1, "t", "l", 2, 3, 0, "ok", "td", "ld", json.dumps(old), "")
    db.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    db.executemany("INSERT INTO definitions VALUES ('s', 1, ?, ?, ?)", [("task", "t", "td"), ("learner", "l", "ld")])
    db.commit()
    db.close()
    return folder
