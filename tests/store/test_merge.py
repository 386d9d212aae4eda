"""Several stores become one: equal rows once, different ones never in silence, all or nothing."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from stored_rows import change, content
from synthetic import row
from waiting import kill_at_line

from benchmarks.same import main as same
from bfc_bench import RunOptions, open_store, run_suite
from bfc_bench.errors import StoreError, UsageError
from bfc_bench.store.artifacts import digests
from bfc_bench.store.equality import GPUS
from bfc_bench.store.merge import merge
from bfc_bench.store.records import TABLES
from bfc_bench.store.row import cell_id, curve_digest
from bfc_bench.store.store import Store


def cell(n=3, learner="ld", replicate=0):
    """The id of a cell of ``ROW``'s task and label."""
    return cell_id(curve_digest("td", learner, "l"), 2, n, replicate)


ROW = row(cell=cell(), suite="s", task="t", label="l", options={"a": 1}, d=2, n=3, nmse=0.5, finished_at=1.0)
DEFINITIONS = {"t": "td"}, {"l": "ld"}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Makes a store with one run and some rows: ``made("a", [row, ...], host="h", at=1.0)``."""
    from bfc_bench.store import store as module

    def make(name, rows, *, id=None, host="", at=1.0, definitions=DEFINITIONS):
        id = id or f"run-of-{name}"
        monkeypatch.setattr(module.time, "time", lambda: at)
        with Store(tmp_path / name, write=True) as store:
            store.begin_session(id, "s", 1, {"levels": [at]}, {"host": host or f"host-{name}"})
            store.define("s", 1, *definitions)
            digests = definitions[0]["t"], definitions[1]["l"]
            store.put((replace(row, provenance=id), *digests, "") for row in rows)
            store.end_session(id)
        return tmp_path / name

    return make


def cells(directory):
    with Store(directory) as store:
        return {row.cell: row.nmse for row in store.rows("s", 1)}


def test_a_merge_takes_every_table_of_a_store(made):
    with closing(sqlite3.connect(made("a", []) / "results.sqlite")) as db:
        found = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert found == set(TABLES)


def test_halves_of_a_suite_that_two_stores_have_run_are_the_whole_suite(faulty, suite_file, tmp_path, printed, capsys):
    path = suite_file(learner=[{"name": "mean"}, {"name": "linear-ridge"}], replicates=2)
    a, b, c, whole = (tmp_path / name for name in ("a", "b", "c", "whole"))
    run_suite(path, RunOptions(store=a, executor="serial", learners=["mean"]))
    run_suite(path, RunOptions(store=b, executor="serial"))
    run_suite(path, RunOptions(store=whole, executor="serial"))
    printed("merge", a, b, "--into", c)
    assert {file.name: file.stat().st_mode & 0o777 for file in c.iterdir()} == {"lock": 0o600, "results.sqlite": 0o600}
    assert same(str(c), str(whole)) == 0
    assert "8 cells in both, 0 in one only: equal bit for bit" in capsys.readouterr().out
    with open_store(c) as merged, open_store(a) as first, open_store(b) as second:
        ids = [[session["id"] for session in store["tiny"].sessions] for store in (merged, first, second)]
        assert ids[0] == ids[1] + ids[2]
        assert {row.provenance for row in merged["tiny"].rows()} == {*ids[1], *ids[2]}
        assert merged["tiny"].report().exists()
    again = run_suite(path, RunOptions(store=c, executor="serial"))
    assert again.statuses == {}


def test_equal_rows_are_one_whatever_they_took_and_whoever_made_them(made, tmp_path):
    of_both = {"a": 1, "b": 2}
    quick = replace(ROW, options=of_both, fit_cpu_seconds=1.0, peak_memory_bytes=3, trained_together=2, release="1")
    slow = replace(ROW, options={"of_release_2": 3, "b": 2, "a": 1}, fit_cpu_seconds=9.0, finished_at=9.0, release="2")
    a, b = made("a", [quick]), made("b", [slow, replace(ROW, cell=cell(4), n=4)])
    done = merge([a, b], tmp_path / "c")
    assert (done.new, done.equal, done.replaced, done.sessions) == (2, 1, 0, 2)
    with Store(tmp_path / "c") as store:
        assert [row.fit_cpu_seconds for row in store.rows("s", 1)] == [1.0, None]


def test_different_rows_of_a_cell_are_an_error_that_shows_both(made, refused):
    a, b = made("a", [ROW]), made("b", [replace(ROW, nmse=0.25)])
    c = made("c", [replace(ROW, cell=cell(4), n=4)])
    before = content(c)
    said = refused("merge", a, b, "--into", c)
    assert "l on t, d = 2, n = 3, replicate 0" in said
    assert f"NMSE 0.5 in {a} (host-a); NMSE 0.25 in {b} (host-b)" in said
    assert "--prefer" in said
    assert content(c) == before


def test_the_preferred_row_is_kept_and_its_artifacts_with_it(made, tmp_path):
    of_a, of_b = (digests({"weights.csv": text}) for text in (b"a", b"b"))
    old = replace(ROW, finished_at=1.0, artifacts=of_b)
    new = replace(ROW, nmse=0.25, finished_at=2.0, artifacts=of_a)
    stores = {"a": made("a", [new]), "b": made("b", [old])}
    for name, store in stores.items():
        (store / "artifacts" / "s@1" / cell()).mkdir(parents=True)
        (store / "artifacts" / "s@1" / cell() / "weights.csv").write_text(name)
    for prefer, (nmse, kept) in {"newer": (0.25, "a"), str(stores["b"]): (0.5, "b")}.items():
        for i, order in enumerate((["a", "b"], ["b", "a"])):
            into = tmp_path / f"{kept}{i}"
            merge([stores[name] for name in order], into, prefer=prefer)
            assert cells(into) == {cell(): nmse}
            assert (into / "artifacts" / "s@1" / cell() / "weights.csv").read_text() == kept
    done = merge([stores["b"]], stores["a"], prefer=str(stores["b"]))
    assert (done.replaced, cells(stores["a"])) == (1, {cell(): 0.5})
    assert (stores["a"] / "artifacts" / "s@1" / cell() / "weights.csv").read_text() == "b"
    merge([tmp_path / "a0"], stores["a"], prefer=str(stores["a"]))
    assert cells(stores["a"]) == {cell(): 0.5}
    with pytest.raises(UsageError, match="--prefer must be newer or one of"):
        merge([stores["b"]], stores["a"], prefer="older")


def test_a_store_that_is_preferred_settles_what_others_disagree_on(made, tmp_path):
    a, b, c = (made(name, [replace(ROW, nmse=nmse)]) for name, nmse in (("a", 0.1), ("b", 0.2), ("c", 0.1)))
    merge([a, b, c], tmp_path / "d", prefer=str(c))
    assert cells(tmp_path / "d") == {cell(): 0.1}


@pytest.mark.parametrize("change", [{"cell": "0" * 16}, {"n": 4}, {"replicate": 1}, {"label": "m"}])
def test_a_row_whose_id_is_not_that_of_its_cell_is_refused(change, made, tmp_path):
    a, b = made("a", [ROW]), made("b", [replace(ROW, cell=cell(9), n=9), replace(ROW, **change)])
    with pytest.raises(StoreError, match=r"b has a row with an id that is not that of its cell: .* Nothing was merged"):
        merge([a, b], tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_merging_twice_is_as_merging_once(made, tmp_path):
    a = made("a", [ROW], at=1.0)
    b = made("b", [replace(ROW, cell=cell(4), n=4)], at=2.0)
    merge([a, b], tmp_path / "c")
    first = content(tmp_path / "c")
    done = merge([b, a], tmp_path / "c")
    assert (done.new, done.equal, done.sessions) == (0, 2, 0)
    assert content(tmp_path / "c") == first


@pytest.mark.parametrize("order", [["a", "b"], ["b", "a"]])
def test_what_is_current_is_what_the_last_run_defined(order, made, tmp_path):
    a = made("a", [ROW], at=1.0)
    b = made(
        "b", [replace(ROW, cell=cell(learner="another"), nmse=0.1)], at=2.0, definitions=({"t": "td"}, {"l": "another"})
    )
    done = merge([tmp_path / name for name in order], tmp_path / "c")
    assert cells(tmp_path / "c") == {cell(learner="another"): 0.1}
    assert any(f"those of {b}, which ran last, are current" in remark for remark in done.remarks)
    with Store(tmp_path / "c") as store:
        assert len(store.rows("s", 1, every=True)) == 2
        assert [session["definition"] for session in store.sessions("s", 1)] == [{"levels": [1.0]}, {"levels": [2.0]}]
    merge([a], tmp_path / "c")
    assert cells(tmp_path / "c") == {cell(learner="another"): 0.1}


def test_a_store_whose_clock_was_set_back_keeps_its_order(made, tmp_path):
    made("a", [], id="first", at=5.0)
    made("a", [], id="second", at=1.0)
    made("b", [], id="other", at=6.0)
    merge([tmp_path / "b", tmp_path / "a"], tmp_path / "c")
    with Store(tmp_path / "c") as store:
        assert [session["id"] for session in store.sessions("s", 1)] == ["first", "second", "other"]


@pytest.mark.parametrize("order", [["whole", "half"], ["half", "whole"]])
def test_a_finished_run_is_not_undone_by_a_copy_that_was_made_while_it_ran(order, made, tmp_path, monkeypatch):
    whole = made("whole", [ROW], id="run", host="h")
    with closing(sqlite3.connect(whole / "results.sqlite")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copytree(whole, tmp_path / "half")
    change(tmp_path / "half", "UPDATE sessions SET finished_at = NULL")
    merge([tmp_path / name for name in order], tmp_path / "into")
    merge([tmp_path / "half"], tmp_path / "into")
    with Store(tmp_path / "into") as store:
        (session,) = store.sessions("s", 1)
        assert session["finished_at"] == 1.0


def test_a_merge_that_dies_anywhere_leaves_all_or_nothing(made, tmp_path):
    a = made("a", [replace(ROW, cell=cell(i + 1), n=i + 1) for i in range(5)])
    b = made("b", [replace(ROW, cell=cell(i + 9), n=i + 9) for i in range(5)], at=2.0)
    for into, there in (("fresh", set()), ("existing", {"x"})):
        counts = set()
        for line in (20, 60, 110, 160, 10_000):
            c = tmp_path / f"{into}-{line}"
            if there:
                made(c.name, [replace(ROW, cell=cell(99), n=99)], at=3.0)
            kill_at_line(("merge.py", "new_folder.py"), line, "merge(folders[:-1], folders[-1])", a, b, c)
            counts.add(len(cells(c)) if (c / "results.sqlite").exists() else 0)
            merge([a, b], c)
            assert len(cells(c)) == 10 + len(there)
        assert counts == {len(there), 10 + len(there)}


def test_a_source_that_is_damaged_is_named(made, tmp_path):
    a, b = made("a", [replace(ROW, cell=cell(i + 1), n=i + 1) for i in range(400)]), made("b", [])
    data = bytearray((b / "results.sqlite").read_bytes())
    data[5000:] = b"x" * (len(data) - 5000)
    (b / "results.sqlite").write_bytes(data)
    with pytest.raises(StoreError, match=f"{b} cannot be read"):
        merge([a, b], tmp_path / "c")
    assert not (tmp_path / "c").exists()


ON_GPU = replace(
    ROW,
    device="cuda",
    nmse_trimmed=0.4,
    error_rate=0.25,
    train_nmse=0.1,
    metrics={"m": 0.3},
    feature_errors={"S2": 0.2},
    part_errors={"degree1": -1e-12},
    stages={"first": {"nmse": 0.6, "reason": ""}},
    artifacts={"w.npz": "one"},
    chosen={
        "candidates": 2,
        "tuned": {"lr": 0.1},
        "validation_error": 0.3,
        "info": {"final_loss": 0.1, "steps": [3, 0.5]},
        "measured": {"cka": {"S2": 0.9}},
    },
)


def grown(value, by):
    """Nested values with their floating-point numbers times a factor; whole numbers and tuned options stay."""
    if isinstance(value, dict):
        return {name: inner if name == "tuned" else grown(inner, by) for name, inner in value.items()}
    if isinstance(value, list):
        return [grown(inner, by) for inner in value]
    return value * by if isinstance(value, float) else value


MEASURED = ("nmse", "nmse_trimmed", "error_rate", "train_nmse", "metrics", "feature_errors", "stages", "chosen")
BY_LITTLE = {name: grown(getattr(ON_GPU, name), 1.009) for name in MEASURED}
BY_LITTLE |= {"part_errors": {"degree1": 5e-10}, "artifacts": {"w.npz": "another"}}
BY_MUCH = {
    "status": "diverged",
    "reason": "else",
    "dtype": "float32",
    "seed": 1,
    "device": "cpu",
    "nmse": 0.5 * 1.011,
    "error_rate": None,
    "metrics": {"m": 0.3 * 1.011},
    "feature_errors": {"S3": 0.2},
    "part_errors": {"degree1": 5e-9},
    "stages": {"first": {"nmse": 0.6, "reason": "else"}},
    "artifacts": {"v.npz": "one"},
    "chosen": {**ON_GPU.chosen, "candidates": 3},
}


def test_rows_of_gpus_that_differ_by_a_rounding_that_grew_are_one_and_it_is_said(made, tmp_path, printed, capsys):
    rows = [ON_GPU, replace(ON_GPU, cell=cell(4), n=4)]
    a, b = made("a", rows), made("b", [replace(ON_GPU, **BY_LITTLE), rows[1]])
    (said,) = printed("merge", a, b, "--into", tmp_path / "c").splitlines()
    assert "2 there already (1 equal within a relative 0.01; the first is kept)" in said
    assert cells(tmp_path / "c") == {cell(): 0.5, cell(4): 0.5}  # the first store's
    assert same(str(a), str(b)) == 0
    assert "2 cells in both, 0 in one only: equal, 1 of GPUs within a relative 0.01" in capsys.readouterr().out


@pytest.mark.parametrize("column", BY_LITTLE)
def test_each_measured_column_of_gpus_has_the_tolerance_and_no_other_row(column, made, tmp_path):
    change = {column: BY_LITTLE[column]}
    a, b = made("a", [ON_GPU]), made("b", [replace(ON_GPU, **change)])
    done = merge([a, b], tmp_path / "c")
    assert (done.equal, done.close) == (1, {GPUS[0]: 1})
    on_cpu = replace(ON_GPU, device="cpu")
    a, b = made("d", [on_cpu]), made("e", [replace(on_cpu, **change)])
    with pytest.raises(StoreError, match=f"they differ in {column}"):
        merge([a, b], tmp_path / "f")


def test_rows_that_differ_by_a_rounding_are_one_the_first_is_kept_and_it_is_said(made, tmp_path, printed):
    rows = [replace(ON_GPU, device="cpu", train_nmse=1e-30), replace(ROW, cell=cell(4), n=4)]
    stages = {"first": {"nmse": 0.6 * (1 + 9e-7), "reason": ""}}
    a, b = (
        made("a", rows),
        made("b", [replace(rows[0], nmse=0.5 * (1 + 9e-7), train_nmse=2e-30, stages=stages), rows[1]]),
    )
    for _ in range(2):
        said = printed("merge", a, b, "--into", tmp_path / "c")
        assert "(1 equal within a relative 1e-06; the first is kept)" in said
    assert cells(tmp_path / "c") == {cell(): 0.5, cell(4): 0.5}
    assert same(str(a), str(b)) == 1  # which compares bit for bit
    c = made("d", [replace(rows[0], nmse=0.5 * (1 + 1e-4), train_nmse=2e-30)])
    with pytest.raises(StoreError, match=r"they differ in nmse$"):
        merge([a, c], tmp_path / "e")


def test_a_colleague_who_ran_fewer_sizes_of_a_kernel_has_the_same_rows(suite_file, tmp_path):
    task = {"name": "t", "d": [8], "inputs": {"kind": "gaussian"}, "target": {"kind": "index-model", "terms": [[1, 1]]}}
    stores = [tmp_path / name for name in ("few", "all")]
    for store, n in zip(stores, ([50, 200], [50, 200, 800]), strict=True):
        path = suite_file(task=[{**task, "n": n}], learner=[{"name": "kernel-ridge"}], replicates=2)
        run_suite(path, RunOptions(store=store, executor="serial"))
    done = merge(stores, tmp_path / "merged")
    assert (done.new, done.equal) == (6, 4)


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [
        (ROW, "nmse", 0.5 * (1 + 2e-6)),
        (ROW, "options", {"a": 2}),
        (ON_GPU, "chosen", {**ON_GPU.chosen, "tuned": {"lr": 0.1 * 1.0001}}),  # not measured
        *((ON_GPU, *change) for change in BY_MUCH.items()),
    ],
)
def test_a_row_that_says_anything_else_is_another_row_and_one_of_a_gpu_beyond_rounding(
    row, column, value, made, tmp_path
):
    a, b = made("a", [row]), made("b", [replace(row, **{column: value})])
    with pytest.raises(StoreError, match=f"1 cell has different rows.*\n.*they differ in {column}"):
        merge([a, b], tmp_path / "c")
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}
