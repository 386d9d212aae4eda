"""A suite in parts gives the rows of one run, whatever becomes of the parts."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from shards_in_tests import heartbeat, wait_for
from stored_rows import read_results

import bfc_bench
from bfc_bench import RunOptions, open_store, run_suite
from bfc_bench.cli.app import run
from bfc_bench.errors import StoreError
from bfc_bench.plugins import load_plugins
from bfc_bench.run.grid import resolve
from bfc_bench.shards.collect import collect
from bfc_bench.shards.heartbeat import HeartbeatWriter
from bfc_bench.shards.job import ShardJob, jobs
from bfc_bench.shards.journal import Journal, entries
from bfc_bench.shards.shard import run_shard
from bfc_bench.shards.states import states
from bfc_bench.shards.submit import ShardRequest, prepare, run_here
from bfc_bench.store.artifacts import digests
from bfc_bench.store.backup import backup
from bfc_bench.store.row import measured
from bfc_bench.store.store import Store
from bfc_bench.suite.model import read_suite

pytestmark = pytest.mark.usefixtures("faulty")


def said(rows):
    """What rows say of their cells."""
    return {row.cell: measured(row.as_dict()) for row in rows}


def rows_of(path, store):
    return {(row.label, row.n, row.replicate): row for row in read_results(path, store=store)}


def where(store):
    return [state.where for state in states(jobs(store))]


def finish(job, start):
    """Run what is left of a job, shard by shard; the exit codes."""
    return [start(job, number).wait() for number in range(job.shards)]


def test_shards_make_the_rows_of_one_run(suite_file, store, tmp_path, bench):
    learners = [
        *({"name": name} for name in ("mean", "linear-ridge", "kernel-ridge", "huge")),
        {"name": "together", "options": {"how": "raise", "at": 20}},
    ]
    path = suite_file(learner=learners, replicates=2, budget={"memory_gb": 15})
    run_suite(path, RunOptions(store=tmp_path / "one", jobs=1))
    ran = bench("submit", path, "--shards", "3", "--local", "--store", store)
    assert ran.returncode == 0, ran.stderr
    assert "20 new rows, 20 of 20 cells have one" in ran.stdout
    assert said(read_results(path, store=store)) == said(read_results(path, store=tmp_path / "one"))
    statuses = [row.status for row in read_results(path, store=store)]
    assert {status: statuses.count(status) for status in set(statuses)} == {"ok": 16, "failed": 2, "skipped": 2}
    failed = rows_of(path, store)["together", 20, 0]
    with Store(store) as held:
        assert "one over nothing" in held.traceback(failed.cell)
    assert run_suite(path, RunOptions(store=store, executor="serial")).statuses == {}
    again = bench("submit", path, "--shards", "3", "--local", "--store", store)
    assert "nothing to do" in again.stdout


def test_the_job_is_one_run_of_the_suite_and_names_its_machines(suite_file, store, submit, start):
    path = suite_file(learner=[{"name": "mean"}], replicates=2)
    job = submit(path).job
    finish(job, start)
    collect(store)
    with open_store(store) as results:
        (session,) = results["tiny"].sessions
        assert {row.provenance for row in results["tiny"].rows()} == {session["id"]} == {job.id}
        assert session["finished_at"] is not None
        assert list(session["provenance"]["machines"]) == [os.uname().nodename]
        assert results["tiny"].report().exists()


def test_rows_are_collected_while_shards_run_and_once(suite_file, store, submit, start):
    path = suite_file(learner=[{"name": "slow"}], replicates=6)
    job = submit(path, shards=2).job
    running = [start(job, number) for number in range(2)]
    wait_for(lambda: any(entries(job.file("journals", 0))))
    first = collect(store)[0]
    assert 0 < first.new == first.rows < 12
    assert first.open == 2
    assert [process.wait() for process in running] == [0, 0]
    second, third = collect(store)[0], collect(store)
    assert (first.new + second.new, second.open, third) == (12, 0, [])
    assert {row.status for row in read_results(path, store=store)} == {"ok"}


def test_the_next_run_collects_and_has_nothing_left_to_do(suite_file, store, submit, start, bench):
    path = suite_file(learner=[{"name": "mean"}])
    finish(submit(path).job, start)
    ran = bench("run", path, "--store", store, "--no-mlflow")
    assert "0001-tiny: 2 new rows, 2 of 2 cells have one" in ran.stdout
    assert "nothing to do" in ran.stdout


def test_a_row_that_is_there_stays_and_one_that_is_made_again_is_replaced_once(suite_file, store, submit, start):
    path = suite_file(learner=[{"name": "mean"}, {"name": "faulty", "options": {"how": "raise", "at": 20}}])
    job = submit(path).job
    finish(job, start)
    run_suite(
        path, RunOptions(store=store, executor="serial", learners=["mean"], redo=["all"])
    )  # collects, then makes them anew
    mine = rows_of(path, store)["mean", 10, 0].provenance
    assert mine != job.id
    (job.folder / "collected.json").unlink()
    assert collect(store)[0].new == 0
    again = submit(path, redo=["failed"]).job
    assert [cell.label for number in range(again.shards) for cell in again.part(number).cells] == ["faulty"]
    finish(again, start)
    assert collect(store)[0].new == 1
    assert rows_of(path, store)["faulty", 20, 0].provenance == again.id
    run_suite(path, RunOptions(store=store, executor="serial", redo=["failed"]))
    made = rows_of(path, store)["faulty", 20, 0].provenance
    for one in jobs(store):
        (one.folder / "collected.json").unlink()
    assert [found.new for found in collect(store)] == [0, 0]
    assert rows_of(path, store)["faulty", 20, 0].provenance == made != again.id


def test_cells_of_shards_that_wait_or_run_are_left_to_them(suite_file, store, submit, start):
    path = suite_file(learner=[{"name": "slow"}], replicates=3)
    first = submit(path, shards=2).job
    running = start(first, 0)
    wait_for(lambda: heartbeat(first, 0).running)
    assert where(store) == ["running", "waiting"]
    second = submit(path, changes=["replicates=4"])
    assert "cells are left out, since shards that wait or run have them" in second.lines[0]
    cells = [{cell.id for n in range(job.shards) for cell in job.part(n).cells} for job in (first, second.job)]
    assert (len(cells[0]), len(cells[1]), cells[0] & cells[1]) == (6, 2, set())
    running.wait()


@pytest.mark.parametrize("sign", [signal.SIGUSR1, signal.SIGTERM])
def test_a_shard_that_is_told_to_stop_gives_back_what_it_has_not_done(sign, suite_file, store, submit, start):
    path = suite_file(
        learner=[{"name": "slow", "options": {"seconds": 0.5}}], replicates=20, budget={"cell_seconds": 4}
    )
    job = submit(path, shards=1).job
    process = start(job, 0)
    wait_for(lambda: any(entries(job.file("journals", 0))))
    process.send_signal(sign)
    assert process.wait() == 130
    made = {row.cell for row, *_ in entries(job.file("journals", 0))}
    assert 0 < len(made) < 40
    assert (where(store), heartbeat(job, 0).running) == (["stopped"], [])
    rest = submit(path, shards=1).job
    assert {cell.id for cell in rest.part(0).cells} == {cell.id for cell in job.part(0).cells} - made
    assert rest.part(0).lost == {}  # nobody's fault
    assert len(read_results(path, store=store)) == len(made)


def test_what_does_not_end_in_time_is_given_back(suite_file, store, submit):
    path = suite_file(learner=[{"name": "slow", "options": {"seconds": 90}}])
    job = submit(path, shards=1).job
    code = (
        "import sys\nfrom pathlib import Path\nfrom bfc_bench.shards import shard\nshard.GRACE = 1.0\n"
        "sys.exit(shard.run_shard(Path(sys.argv[1]), 0))"
    )
    process = subprocess.Popen([sys.executable, "-c", code, job.folder])
    wait_for(lambda: heartbeat(job, 0).running)
    process.send_signal(signal.SIGUSR1)
    assert process.wait(60) == 130
    assert where(store) == ["stopped"]
    assert not list(entries(job.file("journals", 0)))


def test_a_death_marks_no_cell_and_the_next_submit_runs_its_batch_again(
    suite_file, store, submit, start, die, tmp_path
):
    path = suite_file(learner=[{"name": "mean"}, die], replicates=2)
    job = submit(path, shards=1).job
    assert start(job, 0).wait() == -signal.SIGKILL
    assert where(store) == ["lost"]
    running = set(heartbeat(job, 0).cells)
    again = submit(path, shards=2).job
    assert {cell for number in range(2) for cell in again.part(number).lost} == running
    assert 1 <= len(running) <= 4
    assert finish(again, start) == [0, 0]
    collect(store)
    rows = rows_of(path, store)
    assert (len(rows), {row.status for row in rows.values()}) == (8, {"ok"})
    assert where(store)[1:] == ["done", "done"]


def test_what_takes_its_shard_with_it_twice_is_given_up_and_nothing_else(
    suite_file, store, submit, start, die, tmp_path
):
    die["options"]["times"] = 3
    path = suite_file(learner=[{"name": "mean"}, die], replicates=1)
    for _ in range(2):
        job = submit(path, shards=1).job
        assert start(job, 0).wait() == -signal.SIGKILL
    third = submit(path, shards=1)
    assert "1 cells are given up" in " ".join(third.lines)
    if third.job:
        finish(third.job, start)
        collect(store)
    rows = rows_of(path, store)
    assert {key[:2]: row.status for key, row in rows.items()} == {
        ("mean", 10): "ok", ("mean", 20): "ok", ("deadly", 10): "ok", ("deadly", 20): "killed",
    }  # fmt: skip
    assert "ended unexpectedly 2 times while it ran" in rows["deadly", 20, 0].reason
    assert submit(path).job is None
    (tmp_path / "deaths").write_text("...")  # it would not do so again
    assert finish(submit(path, redo=["killed"]).job, start) == [0]
    collect(store)
    assert rows_of(path, store)["deadly", 20, 0].status == "ok"


def test_a_shard_that_is_started_again_goes_on_and_gives_up_what_killed_it_twice(suite_file, store, submit, start, die):
    die["options"]["times"] = 9
    path = suite_file(learner=[{"name": "mean"}, die], replicates=2)
    job = submit(path, shards=1).job
    codes = []
    while not codes or codes[-1] < 0:
        codes.append(start(job, 0).wait())
        assert len(codes) < 9
    assert codes == [-9, -9, -9, -9, 0]  # of each replicate its batch, then its cell of n = 20 by itself
    collect(store)
    statuses = {key: row.status for key, row in rows_of(path, store).items()}
    assert {key for key, status in statuses.items() if status != "ok"} == {("deadly", 20, 0), ("deadly", 20, 1)}
    assert set(statuses.values()) == {"ok", "killed"}
    assert len(statuses) == 8


KILLED = """
import os, signal, sys
from pathlib import Path
from bfc_bench import hookimpl
from bfc_bench.shards.shard import run_shard
from bfc_bench.suite.model import read_suite
from pathlib import Path

class Killed:
    rows = 0

    @hookimpl(trylast=True)
    def bfc_result(self, result):
        self.rows += 1
        if self.rows == 3:
            os.kill(os.getpid(), signal.SIGKILL)

run_shard(Path(sys.argv[1]), 0, listeners=[Killed()])
"""


def test_a_shard_killed_between_two_rows_of_a_unit_has_those_that_it_told_of(suite_file, store, submit, start):
    path = suite_file(learner=[{"name": "linear-ridge"}], replicates=3)
    job = submit(path, shards=1).job
    assert subprocess.run([sys.executable, "-c", KILLED, job.folder], check=False).returncode == -signal.SIGKILL
    (unit,) = heartbeat(job, 0).running
    made = {row.cell for row, *_ in entries(job.file("journals", 0))}
    assert (len(made), len(made & set(unit)), len(unit)) == (3, 1, 2)
    assert finish(job, start) == [0]
    assert len(job.file("journals", 0).read_text().splitlines()) == collect(store)[0].new == 6


def test_a_unit_has_ended_when_its_rows_are_on_the_disk_to_which_they_are_synced_together(
    suite_file, submit, monkeypatch
):
    learners = [{"name": "mean"}, {"name": "linear-ridge"}]
    job = submit(suite_file(learner=learners, replicates=3), shards=1).job
    journal, fsync, write = job.file("journals", 0), os.fsync, HeartbeatWriter._write
    synced, begun, units, missing = [0], set(), set(), []

    def sync(file):
        fsync(file)
        if journal.exists() and os.path.samestat(os.fstat(file), journal.stat()):
            synced.append(os.fstat(file).st_size)

    def say(heart):
        """What is on the disk now is what a machine leaves that dies now."""
        write(heart)
        begun.update(heart.now.cells)
        units.update(frozenset(batch) for batch in heart.now.running)
        kept = {row.cell for row in json_rows(journal.read_bytes()[: synced[-1]])} if journal.exists() else set()
        missing.append(begun - kept - set(heart.now.cells))

    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "none")  # which a shard would set
    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(HeartbeatWriter, "_write", say)
    assert run_shard(job.folder, 0) == 0
    assert not any(missing)
    assert len(begun) == 12
    assert len(synced) - 1 == len(units) < 12


def test_a_suite_that_is_another_one_there_is_refused(suite_file, store, submit, start, capsys):
    path = suite_file(learner=[{"name": "mean"}])
    job = submit(path, shards=1).job
    part = json.loads(job.file("parts", 0).read_text())
    part["cells"][0][0] = "0" * 16  # as another version of the learner would have it
    job.file("parts", 0).write_text(json.dumps(part))
    assert start(job, 0).wait() == 2
    (state,) = states(jobs(store))
    assert state.where == "failed"
    assert "mean on t differs on" in state.heartbeat.why
    assert run(["status", "--store", str(store)]) == 0
    assert "failed" in capsys.readouterr().out
    assert submit(path).job is not None  # its cells are planned again


def test_a_line_that_was_not_ended_is_as_none_and_cut_off(suite_file, store, submit, start):
    path = suite_file(learner=[{"name": "mean"}], replicates=2)
    job = submit(path, shards=1).job
    finish(job, start)
    file = job.file("journals", 0)
    whole = file.read_bytes()
    lines = whole.splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:2]) + lines[2][:40])
    assert [row.cell for row, *_ in entries(file)] == [json.loads(line)["row"]["cell"] for line in lines[:2]]
    assert finish(job, start) == [0]
    assert said(row for row, *_ in entries(file)) == said(json_rows(whole))
    assert file.read_bytes().startswith(b"".join(lines[:2]))
    file.write_bytes(lines[0] + b"\0\0\0\n" + b"".join(lines[1:]) + lines[0])
    assert len(list(entries(file))) == 4


def json_rows(content):
    from bfc_bench.store.row import Row

    return [Row(**json.loads(line)["row"]) for line in content.splitlines()]


def test_a_full_disk_ends_the_shard_keeps_its_rows_and_blames_no_cell(suite_file, tmpfs, start):
    path, store = suite_file(learner=[{"name": "slow", "options": {"seconds": 0.01}}], replicates=300), tmpfs / "store"
    job = prepare(resolve(read_suite(Path(path)), load_plugins(), "s"), store, ShardRequest(1, 1), device="cpu").job
    disk = os.statvfs(tmpfs)
    (tmpfs / "filler").write_bytes(b"x" * (disk.f_bavail * disk.f_frsize - 80_000))
    log = tmpfs.parent / "log"
    job.file("logs", 0).symlink_to(log)
    assert start(job, 0).wait() == 1
    assert "cannot be written: No space left on device" in log.read_text()
    assert "Traceback" not in log.read_text()
    (state,) = states(jobs(store))
    assert (state.heartbeat, state.suspects) == (None, [])
    assert 10 < state.rows < 600
    (tmpfs / "filler").unlink()
    assert collect(store)[0].new == state.rows


def test_what_learners_keep_comes_along(suite_file, store, submit, start):
    path = suite_file(learner=[{"name": "artist"}])
    job = submit(path, shards=1).job
    finish(job, start)
    assert list(job.folder.rglob("features.png"))
    collect(store)
    with bfc_bench.open_store(store) as results:
        suite = results["tiny@1"]
        for row in suite.rows():
            found = {name: file.read_bytes() for name, file in suite.artifacts(row.cell).items()}
            assert digests(found) == row.artifacts
            assert "features.png" in found
    assert not list(job.folder.rglob("features.png"))


def test_a_store_that_is_copied_in_the_middle_has_all_that_was_said_to_be_made(
    suite_file, store, submit, start, tmp_path
):
    path = suite_file(learner=[{"name": "slow"}], replicates=4)
    job = submit(path, shards=1).job
    process = start(job, 0)
    wait_for(lambda: any(entries(job.file("journals", 0))))
    made = {row.cell for row, *_ in entries(job.file("journals", 0))}
    backup(store, tmp_path / "copy")
    process.wait()
    shutil.rmtree(store)
    collect(tmp_path / "copy")
    assert {row.cell for row in read_results(path, store=tmp_path / "copy")} >= made


def test_a_folder_that_holds_no_job_and_a_number_that_is_none_are_errors(store, submit, suite_file, capsys):
    job = submit(suite_file(learner=[{"name": "mean"}]), shards=1).job
    assert run(["shard", str(job.folder), "7"]) == 2
    assert "has no shard 7; it has 1" in capsys.readouterr().err
    assert run(["shard", str(job.folder / "parts"), "0"]) == 2
    assert "is not the folder of a job of shards" in capsys.readouterr().err
    with pytest.raises(StoreError):
        ShardJob.read(store)


def test_local_shards_end_with_the_command_that_runs_them(suite_file, store, submit):
    path = suite_file(learner=[{"name": "slow", "options": {"seconds": 90}}], replicates=2)
    job = submit(path, shards=2).job

    def interrupted(text):
        wait_for(lambda: heartbeat(job, 0).running and heartbeat(job, 1).running)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_here(job, interrupted)
    assert where(store) == ["stopped", "stopped"]


def test_a_job_whose_command_died_before_its_shards_began_is_lost(suite_file, store, submit, tmp_path):
    job = submit(suite_file(learner=[{"name": "mean"}]), shards=1).job
    assert where(store) == ["waiting"]
    gone = subprocess.Popen(["true"])
    gone.wait()
    content = json.loads((job.folder / "job.json").read_text())
    content["launcher"][1] = gone.pid
    (job.folder / "job.json").write_text(json.dumps(content))
    assert where(store) == ["lost"]


def test_a_journal_takes_no_row_of_a_cell_twice(tmp_path, suite_file, store, submit, start):
    job = submit(suite_file(learner=[{"name": "mean"}]), shards=1).job
    finish(job, start)
    (first, *_) = found = list(entries(job.file("journals", 0)))
    journal = Journal(job.file("journals", 0))
    journal.add((replace(first[0], nmse=0.0), *first[1:]))
    journal.close()
    assert list(entries(job.file("journals", 0))) == found
