"""Makes a row as a worker sends it, and its batch."""

from dataclasses import replace

from bfc_bench.run.grid import Cell
from bfc_bench.run.work_units import Batch
from bfc_bench.store.row import Row

BATCH = Batch(None, "cpu", {}, (Cell("c", "t", "mean", 4, 10, 0),))  # rows are read without the grid


def row(**changes):
    return replace(Row("c", "s", 1, "t", "mean", "mean", {}, 4, 10, 0, "ok"), **changes)
