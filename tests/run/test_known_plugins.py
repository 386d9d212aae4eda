"""Which plugins a process knows, and what it keeps of a run."""

from installed_faulty import install_faulty

from bfc_bench import RunOptions, run_suite
from bfc_bench.run.work_units import drawn_problem


def test_a_process_that_goes_on_knows_the_plugins_that_came_meanwhile(tmp_path, monkeypatch, suite_file):
    """Its own workers are itself, where the executor is ``serial``."""
    ridge = suite_file("first", learner=[{"name": "sklearn:linear_model.Ridge"}])
    assert run_suite(ridge, RunOptions(store=tmp_path / "store", executor="serial")).statuses == {"ok": 2}
    install_faulty(tmp_path / "site", monkeypatch)
    mean = suite_file("second", learner=[{"name": "mean"}])
    assert run_suite(mean, RunOptions(store=tmp_path / "store", executor="serial")).statuses == {"ok": 2}
    assert drawn_problem.cache_info().currsize == 0, "the points of a run are kept after it"
