"""Runs on data: paths, changed and missing files, executors, arrays of a Python session."""

import json

import numpy as np
import pandas as pd
import pytest
from small_tasks import write_suite
from stored_rows import judge_claims, read_results

import bfc_bench as bb

pytestmark = pytest.mark.usefixtures("nowhere")
LEARNERS = [{"name": "kernel-ridge", "tune": {}}, {"name": "sklearn:neighbors.KNeighborsRegressor"}]
DATA = {"kind": "table", "path": "house.csv", "target": "price", "standardize": True}
MINE = {"replicates": 3, "task": [{"name": "mine", "data": DATA, "n": [20, 60]}], "learner": LEARNERS}
ABOUT = {"label": "kernel-ridge", "task": "mine"}
LOW = {"id": "low", "kind": "reaches", "at_most": 0.5, **ABOUT}


def write_table(path, seed=0, rows=120):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"area": rng.standard_normal(rows), "rooms": rng.integers(1, 9, rows)})
    frame["price"] = 2 * frame.area + frame.rooms + 0.1 * rng.standard_normal(rows)
    path.parent.mkdir(exist_ok=True)
    frame.to_csv(path, index=False)
    return frame


@pytest.fixture
def suite(tmp_path):
    """A suite beside its table."""
    write_table(tmp_path / "here" / "house.csv")
    return write_suite(tmp_path / "here", "mine", **MINE, claim=[LOW])


def values(store, suite, **options):
    with bb.open_store(store) as held:
        return {(r.label, r.n, r.replicate): (r.status, r.nmse, r.cell) for r in held[str(suite)].rows(**options)}


def run(suite, store, **options):
    return bb.run_suite(suite, bb.RunOptions(store=store, executor="serial", **options))


def test_a_path_is_relative_to_the_suite_and_a_suite_that_has_moved_has_its_results(suite, tmp_path):
    store = tmp_path / "store"
    assert run(suite, store).statuses == {"ok": 12}
    (tmp_path / "there").mkdir()
    for name in ("house.csv", "mine.toml"):
        (suite.parent / name).rename(tmp_path / "there" / name)
    again = run(tmp_path / "there" / "mine.toml", store)
    assert (again.statuses, len(again.plan.done)) == ({}, 12)


def test_changed_data_are_other_cells_and_old_rows_are_kept_but_not_mixed(suite, tmp_path):
    store = tmp_path / "store"
    run(suite, store)
    first = values(store, suite)
    write_table(suite.parent / "house.csv", seed=1)
    session = run(suite, store)
    assert session.statuses == {"ok": 12}
    second = values(store, suite)
    assert {cell for *_, cell in first.values()}.isdisjoint(cell for *_, cell in second.values())
    assert all(first[key][1] != second[key][1] for key in first)
    with bb.open_store(store) as held:
        assert len(held["mine"].rows(every=True)) == 24
    write_table(suite.parent / "house.csv", seed=0)
    assert run(suite, store).statuses == {}
    assert values(store, suite) == first


class Changes:
    """Writes another table when a run begins, after it was planned."""

    def __init__(self, path):
        self.path = path

    @bb.hookimpl
    def bfc_run_started(self, session):
        write_table(self.path, seed=2)


def test_data_that_change_under_a_run_fail_its_cells_with_one_clear_reason(suite, tmp_path):
    changes = Changes(suite.parent / "house.csv")
    session = bb.run_suite(suite, bb.RunOptions(store=tmp_path / "store", jobs=1, listeners=[changes]))
    assert session.statuses == {"failed": 12}
    with bb.open_store(tmp_path / "store") as held:
        reasons = {row.reason.strip().splitlines()[-1] for row in held["mine"].rows()}
    assert len(reasons) == 1
    assert "task 'mine': data 'table': the data have changed since the run was planned" in reasons.pop()
    assert run(suite, tmp_path / "store").statuses == {"ok": 12}


def test_what_was_run_is_read_when_the_data_are_gone_and_a_run_says_what_is_missing(
    suite, tmp_path, cli, printed, refused
):
    store = tmp_path / "store"
    run(suite, store)
    (suite.parent / "house.csv").unlink()
    for verb in ("results", "claims", "report"):
        for name in ("mine", suite):
            printed(verb, name, "--store", store)
    printed("compare", "kernel-ridge", LEARNERS[1]["name"], "--store", store)
    done = cli("results", suite, "--store", store, "--format", "json")
    assert len(json.loads(done.stdout)) == 12
    assert "supported" in cli("claims", suite, "--store", store).stdout
    for verb in ("run", "plan"):
        said = refused(verb, suite, "--store", store)
        assert "house.csv cannot be read: No such file" in said
        assert len(said.splitlines()) == 1


def test_a_claim_adds_no_size_beyond_the_points_that_there_are(suite, tmp_path):
    never = {"id": "never", "kind": "beats", "against": [LEARNERS[1]["name"]], "level": 1e-6, "factor": 2, **ABOUT}
    write_suite(suite.parent, "mine", **MINE, claim=[never])
    decided = bb.run_until_decided(suite, bb.RunOptions(store=tmp_path / "store", executor="serial"), last=4)
    assert {row.n for row in read_results(suite, store=tmp_path / "store")} == {20, 60}
    assert decided.ended


# --- arrays of a session


def own(name, *arrays, **options):
    task = bb.TaskEntry.from_arrays(name, *arrays, n=[20, 60], **options)
    learners = [*LEARNERS, {"name": "sklearn:linear_model.LogisticRegression"}]
    return bb.Suite(name="own", replicates=2, task=[task], learner=learners)


def test_a_frame_of_a_notebook_gets_rows_from_workers(tmp_path):
    frame = write_table(tmp_path / "t" / "house.csv")
    made = own("mine", frame[["area", "rooms"]], frame.price, standardize=True)
    session = bb.run_suite(made, bb.RunOptions(store=tmp_path / "store", jobs=1))
    assert session.statuses == {"ok": 8, "skipped": 4}
    with bb.open_store(tmp_path / "store") as held:
        rows = [row for row in held["own"].rows() if row.status == "ok"]
        assert all(row.nmse < 1 and row.d == 2 for row in rows)
        held["own"].report()
    again = bb.run_suite(
        own("mine", frame[["area", "rooms"]], frame.price, standardize=True), bb.RunOptions(store=tmp_path / "store")
    )
    assert again.statuses == {}


def test_a_claim_about_an_error_rate_says_whose_test_points_it_is_about(suite, tmp_path):
    frame = write_table(suite.parent / "house.csv")
    frame["price"] = np.where(frame.price > 4, "dear", "cheap")
    frame.to_csv(suite.parent / "house.csv", index=False)
    suite.write_text(suite.read_text().replace("KNeighborsRegressor", "KNeighborsClassifier"))
    run(suite, tmp_path / "store")
    [verdict] = judge_claims(suite, store=tmp_path / "store")
    assert "The error rate of kernel-ridge" in verdict.statement
    assert "on the data's own 30 test points, which replicates share" in verdict.note


def test_the_same_arrays_are_one_file_and_others_another(tmp_path):
    x, y = np.random.default_rng(0).standard_normal((2, 30, 1))
    for change in (0.0, 0.0, 1e-9):
        bb.TaskEntry.from_arrays("mine", x + change, y[:, 0], n=[5])
    assert len(list((tmp_path / "XDG_CACHE_HOME" / "bfc-bench" / "arrays").glob("*.npz"))) == 2


def test_a_run_in_the_process_of_the_session_keeps_the_data_that_it_was_planned_with(suite, tmp_path):
    first = run(suite, tmp_path / "first")
    changes = Changes(suite.parent / "house.csv")
    options = bb.RunOptions(store=tmp_path / "store", executor="serial", listeners=[changes])
    assert bb.run_suite(suite, options).statuses == first.statuses
    assert values(tmp_path / "store", suite) == values(tmp_path / "first", suite)
