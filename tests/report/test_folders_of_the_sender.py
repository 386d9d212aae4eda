"""A report that is sent to others does not name the folders of the machine that it was made on."""

import numpy as np
from small_tasks import write_suite

from bfc_bench.utils.command_lines import without_folders

DATA = {"kind": "table", "path": "points.csv", "target": "y"}


def test_no_page_has_a_path_of_the_sender(tmp_path, bench):
    folder = tmp_path / "of-the-sender"
    folder.mkdir()
    task = {"name": "t", "data": DATA, "n": [20, 40]}
    write_suite(folder, "sent", replicates=3, task=[task], learner=[{"name": "kernel-ridge"}])
    points = np.random.default_rng(0).random((150, 3))
    np.savetxt(folder / "points.csv", points, delimiter=",", header="a,b,y", comments="")
    done = bench("run", folder / "sent.toml", "--store", folder / "store", "--executor", "serial")
    assert done.returncode == 0, done.stderr
    files = [path for path in (folder / "store" / "reports").rglob("*") if path.is_file()]
    (page,) = (path.read_text() for path in files if path.name == "report.html")
    assert "bfc-bench run sent.toml --store store --executor serial" in page
    assert "points.csv" in page
    assert [path.name for path in files if b"of-the-sender" in path.read_bytes()] == []


def test_a_command_keeps_all_but_the_folders():
    command = (
        "bfc-bench run /home/me/s.toml --set task.t.n=[1,2] --store=/data/x --tracking-uri http://me:secret@host:1/p"
    )
    assert without_folders(command) == ("bfc-bench run s.toml --set 'task.t.n=[1,2]' --store=x --tracking-uri http:")
    assert without_folders("bfc-bench run 'unclosed") == "bfc-bench run ''\"'\"'unclosed'"
