"""Makes a store of given rows, changes one, or reads it and closes it: Python 3.13 warns of an open database."""

import sqlite3
from contextlib import closing

from bfc_bench import Row, open_store
from bfc_bench.store import DEFAULT_STORE
from bfc_bench.store.records import TABLES
from bfc_bench.store.row import RUN_COLUMNS
from bfc_bench.store.store import Store
from bfc_bench.suite.read import read_suite


def hold(folder, path, rows, **provenance):
    """Make a store in a folder that holds these rows of the suite of a file, from one session."""
    suite = read_suite(path)
    name, version = suite.name, suite.version
    with Store(folder, write=True) as store:
        store.begin_session(f"session-{name}", name, version, suite.definition(), {"packages": {}, **provenance})
        store.define(name, version, {task.name: "x" for task in suite.task}, {e.label: "y" for e in suite.learner})
        store.put([(row, "x", "y", "") for row in rows])
    return folder


def hold_times(store, grid, seconds, device="cpu"):
    """Put a row for each of these cells of a grid that took so long on a device."""
    store.define(grid.suite.name, 1, grid.task_digests, grid.learner_digests)
    for cell, taken in seconds.items():
        name = grid.entries[cell.label].learner.name
        row = Row(
            cell.id, grid.suite.name, 1, cell.task, name, cell.label, {}, cell.d, cell.n, cell.replicate, "ok",
            device=device, fit_cpu_seconds=taken,
        )  # fmt: skip
        store.put([(row, grid.task_digests[cell.task], grid.learner_digests[cell.label], "")])


def change(folder, sql, *values):
    """Change the database of a store behind its back."""
    with closing(sqlite3.connect(folder / "results.sqlite")) as db, db:
        db.execute(sql, values)


def content(folder):
    """All that the tables of a store hold, in their order."""
    with closing(sqlite3.connect(folder / "results.sqlite")) as db:
        return {table: db.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall() for table in TABLES}


def numbers(rows):
    """What a run with the same seeds makes again: rows without their times, their session and their machine."""
    return [{k: v for k, v in row.as_dict().items() if k not in RUN_COLUMNS} for row in rows]


def stored_rows(folder, suite="tiny", version=1):
    """The rows of a suite."""
    with Store(folder) as store:
        return list(store.rows(suite, version))


def read_results(suite, *, store=DEFAULT_STORE, every=False):
    """The rows of a suite that is named, or whose file is given."""
    with open_store(store) as results:
        return results[str(suite)].rows(every=every)


def judge_claims(suite, *, store=DEFAULT_STORE):
    """A verdict for each claim of a suite."""
    with open_store(store) as results:
        return results[str(suite)].claims()
