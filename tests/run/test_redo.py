"""Rows of another release, device or learner version are shown as such, and made again when that is asked for."""

import pytest
from breaking_learners import Mean
from stored_rows import read_results

from bfc_bench import RunOptions, run_suite
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.plan import plan_for
from bfc_bench.store.store import Store
from bfc_bench.strategies.api import grid_of


@pytest.fixture
def made(faulty, suite_file, tmp_path):
    """A suite that has run, one cell failed, and its store."""
    learners = [{"name": "mean"}, {"name": "faulty", "options": {"how": "raise", "at": 20}}]
    path, store = suite_file(learner=learners), tmp_path / "store"
    run_suite(path, RunOptions(store=store, executor="serial"))
    return path, store


def disguise(store, **columns):
    """Make the rows of ``mean`` look as if something else had made them."""
    with Store(store, write=True) as opened:
        for name, value in columns.items():
            opened.connection.execute(f"UPDATE rows SET {name} = ? WHERE label = 'mean'", (value,))
            opened.connection.execute(
                f"UPDATE rows SET row = json_set(row, '$.{name}', ?) WHERE label = 'mean'", (value,)
            )


def plan_of(made, device="cpu", redo=(), changes=()):
    path, store = made
    with Store(store) as opened:
        return plan_for(grid_of(path, changes, load_plugins(), (), ()), opened, device, redo=redo)


@pytest.mark.parametrize(
    ("columns", "words"),
    [({"release": "0.0.9"}, "bfc-bench 0.0.9, on cpu"), ({"device": "cuda"}, ", on cuda")],
    ids=["another release", "another device"],
)
def test_what_another_release_or_device_made_is_shown_and_kept(made, cli, columns, words):
    path, store = made
    disguise(store, **columns)
    plan = plan_of(made)
    assert (plan.todo, len(plan.done), len(plan.failed), plan.stale.total()) == ([], 3, 1, 2)
    (remark,) = plan.remarks
    assert words in remark
    assert "`--redo stale`" in remark
    assert remark in cli("plan", path, "--store", store).stdout
    ran = cli("run", path, "--store", store)
    assert "nothing to do" in ran.stdout
    assert remark in ran.stdout
    report = cli("report", path, "--store", store, "--output", store / "out")
    assert words in report.stdout
    assert words in (store / "out" / "report.html").read_text()


def test_stale_cells_are_made_again_when_asked(made):
    path, store = made
    disguise(store, release="0.0.9")
    assert len(plan_of(made, redo=["stale"]).todo) == 2
    assert run_suite(path, RunOptions(store=store, executor="serial", redo=["stale"])).statuses == {"ok": 2}
    assert not plan_of(made).stale
    assert {row.release for row in read_results(path, store=store)} != {"0.0.9"}


def test_redo_failed_and_all(made, refused):
    path, store = made
    assert [len(plan_of(made, redo=[word]).todo) for word in ("failed", "stale", "all")] == [1, 0, 4]
    told = refused("run", path, "--store", store, "--redo", "everything")
    assert "--redo must be failed, killed, stale or all. Got 'everything'." in told


def test_failed_are_all_cells_that_ran_and_have_no_result(made):
    for status in ("diverged", "killed", "out-of-memory", "timeout"):
        disguise(made[1], status=status)
        assert [len(plan_of(made, redo=redo).todo) for redo in ([], ["failed"])] == [0, 3], status


def test_a_result_stays_where_it_cannot_be_made_again(made):
    """A budget that its data exceed neither replaces its row by a skip nor calls it stale."""
    plan = plan_of(made, redo=["all"], changes=["budget.memory_gb=1e-6"])
    assert (len(plan.done), len(plan.todo), plan.stale) == (3, 0, {})


@pytest.mark.parametrize("method", ["cost", "batch_key"])
def test_a_result_stays_where_its_learner_now_fails_while_a_run_is_planned(method, made, monkeypatch):
    monkeypatch.setattr(Mean, method, lambda self, *given: {}["of another release"])
    plan = plan_of(made, redo=["all"])
    assert {cell.label for cell in plan.done} == {"mean"}
    assert {cell.label for cell in plan.todo} == {"faulty"}


def test_a_run_for_a_gpu_leaves_what_cannot_use_one_to_the_cpu(made):
    """``mean`` runs on the CPU only: its rows are neither stale nor skipped, and made again on the CPU when asked."""
    plan, again = plan_of(made, "cuda"), plan_of(made, "cuda", redo=["all"])
    assert (len(plan.done), len(plan.failed), plan.stale, plan.skipped) == (3, 1, {}, {})
    assert {batch.device for batch in again.batches(1, 1)} == {"cpu"}
