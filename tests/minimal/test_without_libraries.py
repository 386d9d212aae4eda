"""What works where torch, JAX and MLflow are not installed, and what is said of the rest."""

import json
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from installed_faulty import describe
from small_tasks import SPHERE

import bfc_bench as bb
from bfc_bench.errors import TrackingError, UsageError
from bfc_bench.extras.mlflow.sync import sync_suite
from bfc_bench.store.store import Store

TORCH = "it needs torch, which is not installed: pip install 'bfc-bench[torch]'"
JAX = "it needs jax, which is not installed: pip install 'bfc-bench[jax]'"


@pytest.fixture
def suite(suite_file, tmp_path):
    """Two learners of scikit-learn's and three that need torch or JAX, on a table of one's own and on the sphere."""
    x = np.random.default_rng(0).normal(size=(120, 3))
    lines = [f"{a:.6f},{b:.6f},{c:.6f},{a + b * c:.6f}" for a, b, c in x]
    (tmp_path / "house.csv").write_text("\n".join(["a,b,c,price", *lines]) + "\n")
    table = {"kind": "table", "path": "house.csv", "target": "price", "standardize": True}
    return suite_file(
        task=[{"name": "house", "data": table, "n": [20, 80]}, {**SPHERE, "name": "s"}],
        learner=[
            {"name": "sklearn:linear_model.Ridge", "label": "linear", "tune": {"alpha": [0.1, 1.0]}},
            {"name": "sklearn:ensemble.RandomForestRegressor", "label": "forest", "options": {"n_estimators": 20}},
            {"name": "kernel-ridge", "options": {"ridge": 1e-3, "with_squares": False}},
            {"name": "ntk-raw", "options": {"ridge": 1e-3}, "tasks": ["s"]},
            {"name": "quad-densenet", "tune": {}},
        ],
        claim=[
            {"id": "better", "kind": "beats", "label": "forest", "against": ["linear"], "task": "house", "factor": 1.0},
            {"id": "theory", "kind": "follows", "label": "ntk-raw", "task": "s", "factor": 2.0},
        ],
        levels=[0.5],
    )


def test_the_libraries_are_not_here():
    """Otherwise nothing in this file says anything."""
    assert [name for name in ("torch", "jax", "jaxlib", "mlflow", "sqlalchemy", "torchvision") if find_spec(name)] == []


def test_a_run_skips_what_it_cannot_make_and_all_verbs_go_on(bench, suite, tmp_path):
    store = tmp_path / "store"
    planned = bench("plan", suite, "--store", store)
    assert planned.returncode == 0, planned.stderr
    assert f"kernel-ridge: {TORCH}" in planned.stdout
    ran = bench("run", suite, "--store", store)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "8 ok, 10 skipped" in ran.stdout
    told = [line for line in ran.stdout.splitlines() if "MLflow" in line]
    assert told == [
        "MLflow is not installed, so this run is not logged there. To log it: pip install 'bfc-bench[mlflow]'; then "
        "`bfc-bench sync SUITE`."
    ]
    assert (store / "reports" / "tiny@1" / "report.html").stat().st_size > 10_000
    quiet = bench("run", suite, "--store", store, "--no-mlflow")
    assert "MLflow" not in quiet.stdout
    for command in (
        ["report", "tiny"], ["claims", "tiny"], ["results", "tiny"], ["compare", "linear", "forest", "--suite", "tiny"],
        ["merge", store, "--into", tmp_path / "copy"], ["site", tmp_path / "site", "--store", store],
    ):  # fmt: skip
        words = [*command, *([] if command[0] in ("merge", "site") else ["--store", store])]
        done = bench(*words)
        assert done.returncode == 0, (words, done.stdout + done.stderr)
    claims = json.loads(bench("results", "tiny", "--what", "claims", "--store", store, "--format", "json").stdout)
    assert len(claims) == 2
    with Store(store) as held:
        rows = list(held.rows("tiny", 1))
        packages = held.sessions("tiny", 1)[-1]["provenance"]["packages"]
    reasons = {row.label: row.reason for row in rows if row.status == "skipped"}
    assert reasons == {
        "kernel-ridge": f"kernel-ridge: {TORCH}",
        "ntk-raw": f"ntk-raw: {TORCH}",
        "quad-densenet": f"quad-densenet: {JAX}",
    }
    assert {packages[name] for name in ("torch", "jax", "jaxlib", "mlflow")} == {None}
    assert packages["scikit-learn"]


def test_list_and_show_say_what_to_install(bench):
    lines = {line.split()[1]: line for line in bench("list", "--kind", "learner").stdout.splitlines()}
    assert f"(not usable here: {TORCH})" in lines["kernel-ridge"]
    assert f"(not usable here: {JAX})" in lines["quad-densenet"]
    assert "not usable" not in lines["sklearn"]
    said = " ".join(bench("show", "kernel-ridge").stdout.split())
    assert f"not usable here {TORCH}" in said
    assert "not usable" not in bench("show", "sklearn:linear_model.Ridge").stdout


def test_doctor_finds_nothing_broken(bench, tmp_path):
    done = bench("doctor", "--store", tmp_path / "store")
    assert done.returncode == 0, done.stdout
    for name in ("torch", "jax", "mlflow"):
        assert f"not installed: pip install 'bfc-bench[{name}]'" in done.stdout
    assert "learners need libraries that are not installed" in done.stdout


@pytest.mark.parametrize("verb", [["sync", "tiny"], ["ui"]], ids=lambda verb: verb[0])
def test_what_is_mlflows_says_so(verb, bench, suite, tmp_path):
    store = tmp_path / "store"
    assert bench("run", suite, "--task", "s", "--store", store, "--no-mlflow").returncode == 0
    done = bench(*verb, "--store", store)
    assert done.returncode == 1
    assert done.stderr.strip() == "bfc-bench: MLflow is not installed: pip install 'bfc-bench[mlflow]'"
    with bb.open_store(store) as held, pytest.raises(TrackingError, match="MLflow is not installed"):
        sync_suite(held["tiny"])


def test_learners_are_checked_where_their_libraries_are(bench):
    done = bench("check", "sklearn:linear_model.Ridge")
    assert done.returncode == 0, done.stdout + done.stderr
    done = bench("check", "kernel-ridge")
    assert done.returncode == 1
    assert f"failed  fit returns a predictor: the smoke options cannot be tested here: {TORCH}" in done.stdout


def test_estimators_of_learners_that_need_nothing_work():
    x = np.random.default_rng(0).normal(size=(40, 3))
    model = bb.as_sklearn("sklearn:linear_model.Ridge", alpha=1e-6).fit(x, x @ [1.0, 2.0, 3.0])
    assert np.allclose(model.predict(x), x @ [1.0, 2.0, 3.0], atol=1e-3)
    with pytest.raises(UsageError, match=r"kernel-ridge cannot be fitted here: it needs torch, .*bfc-bench\[torch\]"):
        bb.as_sklearn("kernel-ridge").fit(x, x[:, 0])


def test_a_plugin_needs_the_contract_alone(bench, tmp_path, monkeypatch):
    """One that ``new`` writes, made installed, keeps the contract and runs, and nothing of the three is asked for."""
    done = bench("new", "learner", "plain-mean", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    source = tmp_path / "bfc-bench-plain-mean" / "src"
    describe(source, "bfc-bench-plain-mean", "plain-mean", "bfc_bench_plain_mean")
    monkeypatch.setenv("PYTHONPATH", str(source), prepend=":")
    checked = bench("check", "plain-mean")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_script_imports_none_of_them(bench, suite, tmp_path):
    """Nothing looks for them by importing: what is not there is known from what is installed."""
    assert bench("run", suite, "--task", "house", "--store", tmp_path / "store", "--no-mlflow").returncode == 0
    with bb.open_store(tmp_path / "store") as held:
        tiny = held["tiny"]
        assert set(tiny.frame().label) >= {"linear", "forest"}
        assert tiny.curves()
        assert tiny._repr_html_()
        tiny.report(tmp_path / "report")
    assert "torch" not in sys.modules
