"""A merge into a new folder copies the rows of one moment, also while a run writes."""

import subprocess
import sys
from dataclasses import replace

import pytest
from synthetic import row

from bfc_bench.errors import StoreError
from bfc_bench.store.merge import merge
from bfc_bench.store.row import cell_id, curve_digest
from bfc_bench.store.store import Store

CURVE = curve_digest("td", "ld", "l")
ROW = row(cell="c0", suite="s", task="t", label="l", d=2, n=3, nmse=0.5, finished_at=1.0)
WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from bfc_bench.store.row import Row, cell_id, curve_digest
from bfc_bench.store.store import Store
curve = curve_digest("td", "ld", "l")
row = Row(cell="", suite="s", suite_version=1, task="t", learner="l", label="l", options={}, d=2, n=3, replicate=0,
          status="ok", nmse=0.5, reason="x" * 3000)
with Store(Path(sys.argv[1]), write=True) as store:
    store.define("s", 1, {"t": "td"}, {"l": "ld"})
    for turn in range(10**6):  # pairs, each pair in one transaction
        cells = ((cell_id(curve, 2, turn + 1, half), half) for half in (0, 1))
        store.put((replace(row, cell=id, n=turn + 1, replicate=half), "td", "ld", "") for id, half in cells)
        print(turn, flush=True)
"""


def test_a_copy_of_a_store_that_is_being_written_is_of_one_moment(tmp_path):
    writer = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path / "store"], stdout=subprocess.PIPE, text=True)
    try:
        said = 0
        for copy in range(5):
            for _ in range(20):
                said = int(writer.stdout.readline())
            rows = merge([tmp_path / "store"], tmp_path / f"copy-{copy}").new
            assert rows >= 2 * (said + 1)  # what was said to be committed before
            with Store(tmp_path / f"copy-{copy}", write=True) as store:
                cells = {(row.n, row.replicate) for row in store.rows("s", 1)}
            assert cells == {(turn + 1, half) for turn in range(rows // 2) for half in (0, 1)}
        assert writer.poll() is None  # nobody was in its way
    finally:
        writer.kill()
        writer.communicate()


def test_what_cannot_be_copied_leaves_nothing(tmp_path, tmpfs):
    with pytest.raises(StoreError, match="There is no store"):
        merge([tmp_path / "none"], tmp_path / "copy")
    with Store(tmp_path / "store", write=True) as store:
        store.put(
            (replace(ROW, cell=cell_id(CURVE, 2, n, 0), n=n, reason="x" * 2000), "td", "ld", "") for n in range(1, 1001)
        )
    with pytest.raises(StoreError, match="full"):
        merge([tmp_path / "store"], tmpfs / "copy")
    assert list(tmpfs.iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} == {"store", "small"}
