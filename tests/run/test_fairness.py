"""What a learner sees, what it must not see, and how its options are tuned."""

import json
import os
import time

import numpy as np
import pytest
from small_tasks import SMALL, grid_from

from bfc_bench import Data
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.fitting import split

BFC = {**SMALL, "target": {"kind": "quadratic-densenet", "widths": [2, 1], "alphas": [1.0, 0.5]}}


@pytest.fixture
def spied(faulty, tmp_path, rows_of):
    """What two learners of one suite were given, by label, size and replicate's seed."""
    folders = {label: tmp_path / label for label in ("one", "two")}
    for folder in folders.values():
        folder.mkdir()
    learners = [
        {"name": "spy", "label": "one", "options": {"path": str(folders["one"])}},
        {"name": "spy", "label": "two", "options": {"path": str(folders["two"]), "ask": True}},
    ]
    rows = rows_of(learner=learners, task=[BFC], replicates=2)
    return {label: {f.stem: dict(np.load(f)) for f in folder.iterdir()} for label, folder in folders.items()}, rows


def test_learners_are_paired_and_samples_are_nested(spied):
    seen, _ = spied
    assert len(seen["one"]) == 4
    for key, given in seen["one"].items():
        np.testing.assert_array_equal(given["x"], seen["two"][key]["x"])
        np.testing.assert_array_equal(given["y"], seen["two"][key]["y"])
        n, seed = key.split("-")
        if n == "10":
            np.testing.assert_array_equal(given["x"], seen["one"][f"20-{seed}"]["x"][:10])
            np.testing.assert_array_equal(given["y"], seen["one"][f"20-{seed}"]["y"][:10])
    a, b = [given["x"] for key, given in seen["one"].items() if key.startswith("20-")]
    assert not np.isclose(a, b).any()


def test_an_oracle_is_given_only_what_was_asked_for_and_the_row_says_so(spied):
    seen, rows = spied
    assert {str(given["oracle"]) for given in seen["one"].values()} == {"{}"}
    assert {str(given["oracle"]) for given in seen["two"].values()} == {"{'alphas': [1.0, 0.5]}"}
    assert {json.dumps(row.chosen.get("oracle")) for row in rows if row.label == "one"} == {"null"}
    assert {json.dumps(row.chosen.get("oracle")) for row in rows if row.label == "two"} == {'["alphas"]'}


def data(n):
    x = np.arange(n, dtype=float)[:, None]
    return Data(sample="s", n=n, d=1, x=x, y=x[:, 0])


def test_validation_takes_every_fifth_point_and_training_parts_are_nested():
    small, large = split(data(12)), split(data(23))
    assert small[1].y.tolist() == [4, 9]
    assert large[0].y[: small[0].n].tolist() == small[0].y.tolist()
    assert small[0].sample == large[0].sample != data(12).sample
    assert sorted([*large[0].y, *large[1].y]) == data(23).y.tolist()


def test_tuning_refits_the_candidate_with_the_least_validation_error(faulty, rows_of):
    task = {**BFC, "target": {"kind": "lowrank-poly", "degree": 1, "rank": 1, "form": "monomial"}, "n": [40]}
    learners = [
        {"name": "linear-ridge", "label": "searched"},
        {"name": "linear-ridge", "label": "given", "tune": {"ridge": [1e6, 1e-6]}},
        {"name": "linear-ridge", "label": "fixed", "options": {"ridge": 1e6}},
        {"name": "linear-ridge", "label": "plain", "tune": {}},
    ]
    rows = {row.label: row for row in rows_of(learner=learners, task=[task])}
    assert rows["searched"].chosen["tuned"] == {"ridge": 1e-6}
    assert rows["searched"].chosen["candidates"] == 3
    assert rows["given"].chosen["candidates"] == 2
    assert rows["searched"].nmse == rows["given"].nmse < 1e-10
    assert "tuned" not in rows["fixed"].chosen
    assert rows["fixed"].chosen["candidates"] == 1
    assert rows["fixed"].nmse > 0.9
    assert rows["plain"].options["ridge"] == 1.0
    assert 1e-6 < rows["plain"].nmse < 0.1


@pytest.mark.parametrize(
    ("among", "tried", "chosen"),
    [
        ([1e6, 1.0, 100.0, 1e4, 1e-6], 4, 1.0),
        ([1e6, 1.0, 100.0, 0.1], 4, 0.1),
        ([1e6, 100.0, 1.0, 0.1], 4, 0.1),
        ([1e-6, 1.0, 1e-9], 1, 1e-6),
    ],
)
def test_a_climb_ends_where_the_error_is_rounding_or_has_not_fallen_twice(among, tried, chosen, faulty, rows_of):
    task = {**BFC, "target": {"kind": "lowrank-poly", "degree": 1, "rank": 1, "form": "monomial"}, "n": [40]}
    learner = {"name": "linear-ridge", "tune": {"ridge": among}}
    (climbing,) = rows_of(learner=[{**learner, "climb": "ridge"}], task=[task])
    assert (climbing.chosen["candidates"], climbing.chosen["tuned"]["ridge"]) == (tried, chosen)
    (whole,) = [row for row in rows_of(learner=[learner], task=[task]) if row.cell != climbing.cell]
    assert whole.chosen["candidates"] == len(among)


def test_a_climb_is_made_for_each_combination_of_the_other_options(rows_of):
    tune = {"weights": ["uniform", "distance"], "n_neighbors": [100, 1, 200]}
    learner = {"name": "sklearn:neighbors.KNeighborsRegressor", "label": "l", "tune": tune, "climb": "n_neighbors"}
    for row in rows_of(learner=[learner]):
        assert (row.status, row.chosen["candidates"]) == ("ok", 6)  # fits with 100 and 200 neighbours fail
        assert row.chosen["tuned"] == {"weights": "uniform", "n_neighbors": 1}


def test_a_sample_too_small_to_validate_is_skipped_with_a_reason(faulty, rows_of):
    rows = {row.n: row for row in rows_of(learner=[{"name": "linear-ridge"}], task=[{**BFC, "n": [4, 5, 10]}])}
    assert [rows[n].status for n in (4, 5, 10)] == ["skipped", "ok", "ok"]
    assert rows[5].chosen["candidates"] == 3
    assert "every 5th point; n is 4" in rows[4].reason


def test_what_a_learner_writes_into_the_default_info_is_in_no_other_row(faulty, rows_of):
    rows = {(row.label, row.n): row for row in rows_of(learner=[{"name": "inscribing"}, {"name": "mean"}])}
    for n in (10, 20):
        assert rows["inscribing", n].status == "failed"
        assert "TypeError" in rows["inscribing", n].reason
        assert "info" not in rows["mean", n].chosen


def test_the_validation_error_is_that_of_the_points_left_out_over_their_variance(faulty, rows_of):
    """With so large a ridge the learner predicts 0."""
    task = {**BFC, "n": [20]}
    (row,) = rows_of(learner=[{"name": "linear-ridge", "tune": {"ridge": [1e12, 1e13]}}], task=[task])
    grid = grid_from({"learner": [{"name": "kernel-ridge"}], "task": [task]})
    left_out = grid.tasks["t"].problem(0, 4, 0, 200).train(20).y[4::5]
    expected = np.mean(left_out**2) / np.var(left_out)
    assert row.chosen["validation_error"] == pytest.approx(expected, rel=1e-6)


def test_rows_of_classes_say_what_half_a_point_is(rows_of):
    learners = [{"name": "kernel-ridge"}, {"name": "kernel-ridge", "label": "plain", "tune": {}}]
    tuned, plain = rows_of(learner=learners, task=[{**BFC, "labels": {"kind": "sign"}, "n": [24]}])
    assert tuned.floors["chosen.validation_error"] == 0.5 / 4
    assert tuned.floors["error_rate"] == plain.floors["error_rate"] == 0.5 / 200
    assert "chosen.validation_error" not in plain.floors


def test_the_time_of_cells_that_are_fitted_together_is_divided_as_their_costs_are(rows_of):
    begun = time.perf_counter()
    rows = rows_of(learner=[{"name": "kernel-ridge", "tune": {}}], task=[{**BFC, "n": [200, 400, 800]}])
    lasted = time.perf_counter() - begun
    assert [row.trained_together for row in rows] == [3, 3, 3]
    work = np.array([load_plugins().learner("kernel-ridge", "test")().cost(row.n, row.d).flops for row in rows])
    assert work[2] > 8 * work[0], "the shares differ"
    for name in ("fit_cpu_seconds", "fit_wall_seconds"):
        taken = np.array([getattr(row, name) for row in rows])
        np.testing.assert_allclose(taken / taken.sum(), work / work.sum(), rtol=1e-9)
        assert 0 < taken.sum() < lasted * (os.cpu_count() or 1)
