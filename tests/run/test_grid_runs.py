"""A run of a suite with grids: its rows, exports, report and MLflow runs, and laws that are known exactly."""

import numpy as np
import pytest
from small_tasks import write_suite

import bfc_bench as bb

TASK = {
    "name": "line",
    "inputs": {"kind": "sphere"},
    "target": {"kind": "staircase", "degree": 1},
    "labels": {"kind": "noise"},
    "grid": {"labels.sd": [0.5, 1.0, 2.0]},
    "d": [6],
    "n": {"from": "4*d", "to": "40*d*max(1, sd)^2", "steps": 6},
}
OLS = {"kernel": "poly", "degree": 1, "ridge": 1e-10}
LEARNERS = [
    {"name": "kernel-ridge", "label": "ols", "options": OLS, "tune": {}},
    {"name": "random-features", "label": "random", "options": {"map": "relu"}, "grid": {"features": [8, 32]},
     "max_n": 100, "tune": {}},
]  # fmt: skip
CLAIM = {"label": "ols", "task": "line", "axis": "sd"}
CLAIMS = [
    {"id": "error", "kind": "slope", "n": 24, "at_least": 1.99, "at_most": 2.01, **CLAIM},
    {"id": "n-star", "kind": "exponent", "level": 0.2, "at_least": 0, **CLAIM},
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grids")
    values = {"replicates": 4, "test_size": 1000, "levels": [0.2], "claim": CLAIMS}
    path = write_suite(folder, "noise", task=[TASK], learner=LEARNERS, **values)
    bb.run_suite(path, bb.RunOptions(store=folder / "store", executor="serial"))
    return folder


@pytest.fixture
def stored(run):
    with bb.open_store(run / "store") as suites:
        yield suites[str(run / "noise.toml")]


def test_rows_have_their_values_on_all_axes(stored):
    rows = stored.rows()
    assert {row.status for row in rows} == {"ok"}
    axes = {(row.task, row.label): row.axes for row in rows}
    assert axes["line:sd0.5", "ols"] == {"sd": 0.5}
    assert axes["line:sd2", "random:features32"] == {"sd": 2.0, "features": 32}
    frame = stored.frame()
    assert set(frame["axes.sd"]) == {0.5, 1.0, 2.0}
    assert frame["axes.features"].isna().sum() == sum(row.label == "ols" for row in rows)
    assert [name for name in frame if name.startswith("axes.")] == ["axes.sd", "axes.features"]


def test_noise_with_shared_draws_has_the_error_that_theory_gives_exactly(stored):
    """Least squares on a linear target: error = sd^2 times a number that the shared draws alone determine."""
    errors = {(r.axes["sd"], r.replicate): r.nmse for r in stored.rows() if (r.label, r.n) == ("ols", 24)}
    for replicate in range(4):
        relative = [errors[sd, replicate] / sd**2 for sd in (0.5, 1.0, 2.0)]
        assert np.allclose(relative, relative[0], rtol=1e-4)
    verdicts = {verdict.id: verdict for verdict in stored.claims()}
    assert verdicts["error"].estimate == pytest.approx(2, abs=1e-4)
    assert verdicts["n-star"].verdict == "supported"
    (scaling,) = (s for s in stored.exponents(axis="sd") if s.label == "ols")
    assert (scaling.task, scaling.d, scaling.axis) == ("line", 6, "sd")
    assert scaling.exponent.value == pytest.approx(verdicts["n-star"].estimate)


def test_the_report_has_figures_of_each_axis(stored, tmp_path):
    page = stored.report(tmp_path / "out").read_text()
    assert '<section id="axes">' in page
    for axis in ("sd", "features"):
        assert f"N* against {axis}" in page
        for stem in (f"thresholds-axis-{axis}", f"errors-axis-{axis}"):
            assert f'id="figure-{stem}"' in page


def test_the_same_run_again_finds_all_cells(run, cli):
    assert "0 to do, " in cli("plan", run / "noise.toml", "--store", run / "store").stdout
