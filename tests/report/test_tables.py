import json
import math

import numpy as np
import pytest
from synthetic import DIMS, INJECTION, LAWS, SIZES, row, rows

from bfc_bench.analysis.curves import curves
from bfc_bench.report import tables


@pytest.fixture(scope="module")
def grid():
    return rows()


def only(records, **wanted):
    found = [record for record in records if all(record[key] == value for key, value in wanted.items())]
    assert len(found) == 1
    return found[0]


def test_every_table_is_a_list_of_flat_records_with_equal_keys(grid):
    found = curves(grid)
    from_rows = ("status", "stage", "tuning", "cost", "problem", "summary")
    from_curves = ("error", "threshold", "exponent", "decay")
    built = [getattr(tables, f"{name}_table")(grid) for name in from_rows]
    built += [getattr(tables, f"{name}_table")(found) for name in from_curves]
    for table in built:
        assert table
        assert len({tuple(record) for record in table}) == 1
        assert all(isinstance(value, str | int | float | None) for record in table for value in record.values())
        json.dumps(table)


def test_statuses_count_every_cell_once(grid):
    records = tables.status_table(grid)
    assert sum(record["cells"] for record in records) == len(grid)
    for record in records:
        assert record["cells"] == sum(record.get(status, 0) for status in tables.STATUSES)
    assert only(records, task="teacher-L3", label="relu-mlp")["skipped"] == len(DIMS) * len(SIZES) * 5


def test_errors_are_geometric_means_with_the_failures_beside_them(grid):
    record = only(tables.error_table(curves(grid)), task="teacher-L3", label="grow", d=20, n=400)
    values = [
        r.nmse for r in grid if (r.task, r.label, r.d, r.n) == ("teacher-L3", "grow", 20, 400) and r.status == "ok"
    ]
    assert record["mean"] == pytest.approx(math.exp(np.mean(np.log(values))))
    assert record["lo"] < record["mean"] < record["hi"]
    assert (record["worst"], record["replicates"], record["failed"]) == (pytest.approx(max(values)), 4, 1)


def test_a_threshold_says_how_many_replicates_are_censored(grid):
    records = tables.threshold_table(curves(grid), levels=(1e-9,))
    record = only(records, task="teacher-L3", label="joint", d=10)
    assert (record["below"], record["beyond"], record["replicates"]) == (0, 5, 5)
    assert math.isnan(record["n_star"])
    assert record["text"] == ">1000 (5 of 5)"


def test_exponents_are_those_of_the_law_or_a_reason(grid):
    records = tables.exponent_table(curves(grid), levels=(0.1,))
    joint = only(records, task="teacher-L3", label="joint")
    assert joint["exponent"] == pytest.approx(1.0, abs=0.15)
    assert (joint["d_first"], joint["d_last"]) == (10, 40)
    assert "2 dimensions" in only(records, task="teacher-L3", label="kernel ntk (raw)")["note"]
    assert "relu-mlp" not in {record["label"] for record in records}


def test_stages_end_with_the_final_predictor_and_hold_error_and_features(grid):
    records = [
        r
        for r in tables.stage_table(grid)
        if (r["task"], r["label"], r["d"], r["n"]) == ("teacher-L3", "joint", 20, 1000)
    ]
    assert [(r["stage"], r["quantity"]) for r in records] == [
        ("after layer 2", "nmse"), ("after layer 2", "P of S2"),
        ("final", "nmse"), ("final", "P of S2"), ("final", "P of S3"),
    ]  # fmt: skip
    assert only(records, stage="final", quantity="P of S2")["mean"] < 1e-5


def test_stages_leave_out_what_was_not_measured():
    broken = row(nmse=0.1, stages={"early": {"reason": "diverged"}}, feature_errors={"S2": math.nan, "S3": 0.0})
    assert tables.stage_values([broken]) == {
        ("teacher-L3", 20, 400, "joint", "final", "nmse"): [0.1],
        ("teacher-L3", 20, 400, "joint", "final", "P of S3"): [1e-16],
    }


def test_stages_show_the_other_measures_of_features_beside_p():
    measured = {"span_errors": {"S2": 1e-3}, "cka": {"S2": 0.75}}
    seen = row(nmse=0.1, feature_errors={"S2": 0.01}, chosen={"measured": measured}, stages={"early": measured})
    found = {key[4:]: values for key, values in tables.stage_values([seen]).items()}
    assert found["final", "P of S2"] == [0.01]
    for stage in ("early", "final"):
        assert found[stage, "span of S2"] == [1e-3]
        assert found[stage, "1 - CKA of S2"] == [0.25]


def test_tuning_shows_budget_choices_and_oracle(grid):
    records = tables.tuning_table(grid)
    grow = only(records, task="teacher-L3", label="grow")
    assert (grow["candidates"], grow["oracle"]) == ("2", "alphas")
    assert only(records, task="teacher-L3", label="joint")["oracle"] == ""
    assert grow["chosen"].startswith("lr=0.003 (")


def test_problems_are_grouped_by_reason_with_skips_last(grid):
    records = tables.problem_table(grid)
    assert sum(record["cells"] for record in records) == sum(r.status != "ok" for r in grid)
    assert records[-1]["status"] == "skipped"
    assert INJECTION in only(records, task="teacher-L3", status="failed")["reason"]
    assert tables.problem_table([row(status="killed", reason="")])[0]["reason"] == "no reason given"


def test_the_summary_has_a_line_per_curve(grid):
    records = tables.summary_table(grid)
    assert len(records) == len(DIMS) * (2 * len(LAWS) + 1)
    record = only(records, task="teacher-L3", label="grow", d=20)
    assert (record["n"], record["ok"], record["failed"], record["skipped"]) == (1000, 20, 5, 0)
    assert record["error"].count("[") == 1
    assert set(record) >= {"best_n", "N*(0.1)", "N*(0.01)"}
    skipped = only(records, label="relu-mlp", d=20)
    assert (skipped["error"], skipped["n"], skipped["skipped"]) == ("no value", None, 25)


def test_binary_tasks_are_read_by_their_error_rate():
    binary = [row(n=n, replicate=r, error_rate=0.3 / n) for n in (10, 100) for r in (0, 1)]
    assert tables.metric_of(binary) == "error_rate"
    assert tables.summary_table(binary)[0]["metric"] == "error_rate"
    assert tables.metric_of([row(nmse=0.1), *binary]) == "nmse"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.3, "0.30"), (0.012, "0.012"), (1342, "1,342"), (33.0, "33"), (3.14e-7, "3.1e-7"), (2e12, "2.0e12"), (0, "0"),
     (-0.5, "-0.50"), (None, tables.MISSING), (math.nan, tables.MISSING), (math.inf, "∞")],
)  # fmt: skip
def test_numbers_have_two_digits(value, text):
    assert tables.number(value) == text


def test_one_replicate_has_no_interval():
    assert tables.with_interval(0.3, math.nan, math.nan) == "0.30"
    assert tables.with_interval(3e-7, 2e-7, 4.5e-7) == "3.0e-7 [2.0e-7, 4.5e-7]"
