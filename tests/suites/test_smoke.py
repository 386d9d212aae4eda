"""The whole way, as a user goes it: a wheel, outside the checkout, runs the smoke suite; its figures, its MLflow."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import completed

from bfc_bench import open_store
from bfc_bench.store.row import COLUMNS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Runs ``python -m bfc_bench`` from a wheel that was built from the tree and installed elsewhere."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder / "dist", copy_of_tree(folder)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("bfc_bench-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", folder / "site", wheel], check=True, capture_output=True)
    environment = {**os.environ, "PYTHONPATH": str(folder / "site")}
    for variable in ("MLFLOW_TRACKING_URI", "BFC_BENCH_NO_MLFLOW"):
        environment.pop(variable, None)

    def run(*arguments, timeout=600):
        command = [sys.executable, "-m", "bfc_bench", *map(str, arguments)]
        return completed(command, cwd=folder, env=environment, timeout=timeout)

    run.folder = folder
    return run


def copy_of_tree(folder):
    """The files that git knows, since building leaves files behind."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "tree" / name).write_bytes((ROOT / name).read_bytes())
    return folder / "tree"


@pytest.fixture(scope="module")
def smoke(installed, tmp_path_factory):
    """The output of ``run smoke`` and its rows."""
    store = tmp_path_factory.mktemp("smoke") / "store"
    ran = installed("run", "smoke", "--store", store)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = json.loads(installed("results", "smoke", "--store", store, "--format", "json").stdout)
    return store, ran.stdout, rows


def test_the_wheel_is_what_runs_and_holds_learners_and_suites(installed):
    listed = installed("list")
    assert listed.returncode == 0, listed.stderr
    for name in ("quad-densenet", "layerwise", "kernel-ridge", "sklearn", "smoke", "bfc"):
        assert name in listed.stdout
    assert str(ROOT) not in listed.stdout


def test_the_wheel_lacks_no_file(installed):
    sources = {"bfc_bench": "bfc_bench", "plugins": "bfc_plugins", "suites": "bfc_suites"}
    for source, package in sources.items():
        tree, site = installed.folder / "tree" / source, installed.folder / "site" / package
        for file in tree.rglob("*"):
            name = file.relative_to(tree)
            if file.is_file() and name.parts[0] != "example":  # an example distribution, not part of this one
                assert (site / name).exists(), f"{package}/{name} is not in the wheel: see [tool.setuptools]"


def test_a_run_ends_with_a_table_and_the_path_of_the_report(smoke):
    store, output, _ = smoke
    assert re.search(r"NMSE at n = \d+ \[95 %\]", output)
    lines = output.splitlines()
    following = lines[lines.index(f"Report: {store / 'reports' / 'smoke@1' / 'report.html'}") + 1 :]
    assert [line.split()[:2] for line in following if line != "Next:"] == [
        ["bfc-bench", verb] for verb in ("claims", "results", "compare", "ui")
    ]
    assert all(f"--store {store}" in line for line in following[1:])
    assert (store / "reports" / "smoke@1" / "report.html").stat().st_size > 10_000


def test_one_row_per_planned_cell_with_every_column(installed, smoke):
    store, _, rows = smoke
    plan = json.loads(installed("plan", "smoke", "--store", store, "--format", "json").stdout)
    assert plan["cells"] == plan["done"] == len(rows) == len({row["cell"] for row in rows})
    assert all(tuple(row) == COLUMNS for row in rows)
    assert {row["status"] for row in rows} == {"ok"}


def test_every_claim_is_supported_by_learners_that_were_told_nothing(smoke):
    store, _, rows = smoke
    with open_store(store) as suites:
        assert {verdict.id: verdict.verdict for verdict in suites["smoke"].claims()} == dict.fromkeys(
            ("thm1-error", "thm1", "layerwise", "thm2", "thm2-frozen"), "supported"
        )
    assert all("oracle" not in row["chosen"] for row in rows)


def test_mlflow_holds_the_same_numbers(smoke):
    from mlflow import MlflowClient

    store, _, rows = smoke
    client = MlflowClient(f"sqlite:///{store / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("bfc/smoke@1")
    runs = client.search_runs([experiment.experiment_id], "tags.`bfc.kind` = 'curve'", max_results=1000)
    assert len(runs) == len({(r["task"], r["d"], r["label"], r["replicate"]) for r in rows})
    (run,) = [r for r in runs if r.info.run_name == "quad-densenet · teacher-L3 · d=10 · r1"]
    logged = {point.step: point.value for point in client.get_metric_history(run.info.run_id, "nmse")}
    stored = {
        r["n"]: r["nmse"] for r in rows if (r["task"], r["label"], r["replicate"]) == ("teacher-L3", "quad-densenet", 1)
    }
    assert logged == stored
    (report,) = client.search_runs([experiment.experiment_id], "tags.`bfc.kind` = 'report'")
    assert "report.html" in [file.path for file in client.list_artifacts(report.info.run_id)]


def test_a_second_run_does_nothing(installed, smoke):
    store, _, rows = smoke
    again = installed("run", "smoke", "--store", store)
    assert again.returncode == 0
    assert "this run: nothing to do. Done before: 132." in again.stdout
    assert json.loads(installed("results", "smoke", "--store", store, "--format", "json").stdout) == rows


@pytest.mark.slow
def test_the_wheel_runs_in_an_empty_environment_with_what_it_declares(tmp_path):
    wheels = tmp_path / "dist"
    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", wheels, copy_of_tree(tmp_path)], check=True)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run([python, "-m", "pip", "--quiet", "install", *wheels.glob("*.whl")], check=True, env=environment)
    bench = tmp_path / "venv" / "bin" / "bfc-bench"
    subprocess.run([bench, "run", "smoke", "--store", tmp_path / "store"], check=True, cwd=tmp_path, env=environment)
