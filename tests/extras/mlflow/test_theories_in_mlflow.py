"""Theory in MLflow: the expected error at step = n, once, and only where a learner offers a theory."""

from bfc_bench.extras.mlflow.replicate_summaries import THEORY
from bfc_bench.extras.mlflow.sync import sync
from bfc_bench.learner import Theory


def test_the_expected_error_is_at_step_n_of_every_run_of_the_curve_once(row, store_dir, uri, contents):
    rows = [row(label, n=n, replicate=r) for label in ("net", "kernel") for n in (100, 200) for r in range(2)]
    theories = {("teacher", 10, "kernel"): Theory(lambda n: 5 / n, "this file")}

    def expected():
        return {key: value for key, value in contents(uri)["history"].items() if key[2] == THEORY}

    sync(rows, uri, store_dir, complete=False)
    assert not expected()
    sync(rows, uri, store_dir, theories=theories)
    assert expected() == {(f"kernel · teacher · d=10 · r{r}", n, THEORY): 5 / n for r in range(2) for n in (100, 200)}
    before = contents(uri)["values"]
    report = sync(rows, uri, store_dir, theories=theories)
    assert (report.created, report.points, contents(uri)["values"]) == (0, 0, before)
    sync([*rows, row("kernel", n=400)], uri, store_dir, theories=theories)
    held = contents(uri)
    assert len(expected()) == 5
    assert held["values"] == len(held["history"])
