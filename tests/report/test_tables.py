import json
import math

import pytest
from synthetic import DIMS, INJECTION, LAWS, SIZES, n_star, n_stars, row, rows

from bfc_bench.analysis.curves import curves, metric_of
from bfc_bench.report import tables


@pytest.fixture(scope="module")
def grid():
    return rows()


def only(records, **wanted):
    found = [record for record in records if all(record[key] == value for key, value in wanted.items())]
    assert len(found) == 1
    return found[0]


def test_every_table_is_a_list_of_flat_records_with_equal_keys(grid):
    for name in ("cells", "tuning", "problem", "summary"):
        table = list(getattr(tables, f"{name}_table")(curves(grid) if name == "summary" else grid))
        assert table
        assert len({tuple(record) for record in table}) == 1
        assert all(isinstance(value, str | int | float | None) for record in table for value in record.values())
        json.dumps(table)


def test_statuses_count_every_cell_once(grid):
    records = list(tables.cells_table(grid))
    assert sum(record["cells"] for record in records) == len(grid)
    for record in records:
        assert record["cells"] == sum(record.get(status, 0) for status in tables.STATUSES)
    assert only(records, task="teacher-L3", label="relu-mlp")["skipped"] == len(DIMS) * len(SIZES) * 5


def test_tuning_shows_budget_choices_and_oracle(grid):
    records = list(tables.tuning_table(grid))
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
    records = tables.summary_table(curves(grid))
    assert len(records) == len(DIMS) * (2 * len(LAWS) + 1)
    record = only(records, task="teacher-L3", label="grow", d=20)
    assert (record["n"], record["ok"], record["failed"], record["skipped"]) == (1000, 20, 5, 0)
    assert record["error"].count("[") == 1
    assert set(record) >= {"best_n", "N*(0.1)", "N*(0.01)"}
    skipped = only(records, label="relu-mlp", d=20)
    assert (skipped["error"], skipped["n"], skipped["ok"], skipped["skipped"]) == ("no value", None, 0, 25)
    assert (places := [(record["task"], record["d"]) for record in records]) == sorted(places)


def test_the_summary_of_binary_tasks_is_of_their_error_rate():
    binary = [row(n=n, replicate=r, error_rate=0.3 / n) for n in (10, 100) for r in (0, 1)]
    assert tables.summary_table(curves(binary, metric_of(binary)))[0]["metric"] == "error_rate"


@pytest.mark.parametrize(
    ("specs", "main", "detail"),
    [
        ([(300, None), (310, None), (320, None)], "310", "[286, 336]"),
        ([(310, None)], "310", ""),
        ([(4000, "right")] * 5, ">4000", ""),
        ([(50, "left")] * 2, "≤50", ""),
        ([(300, None), (310, None), (320, None), (4000, "right")], "700", "[36.3, >4000]"),
        ([(300, None), (4000, "right"), (4000, "right")], ">4000", "[<1, >4000]"),
        ([(50, "left"), (50, "left"), (70, None)], "≤50", "[≤50, 946]"),
        ([(50, "left")] * 9 + [(51, None)], "≤50", ""),
        ([(50, "left"), (50, "left"), (200, None), (200, None)], "62.7", "[≤50, 1106]"),
        ([(50, "left"), (310, None), (4000, "right")], "385", "[≤50, >4000]"),
        ([(50, "left"), (4000, "right")], tables.MISSING, "[≤50, >4000]"),
        ([], "no data", ""),
    ],
)
def test_a_sample_size_reads(specs, main, detail):
    threshold = n_stars(*(n_star(i, n, censored) for i, (n, censored) in enumerate(specs)))
    assert tables.sample_size(threshold) == (main, detail)


@pytest.mark.parametrize(
    ("specs", "text"),
    [
        ([(300, None)] * 3, ""),
        ([(4000, "right")] * 3, ""),
        ([(300, None), (4000, "right"), (4000, "right")], "2 of 3 >4000"),
        ([(50, "left"), (310, None), (4000, "right")], "1 of 3 ≤50, 1 of 3 >4000"),
    ],
)
def test_censored_replicates_are_counted_unless_they_are_all(specs, text):
    threshold = n_stars(*(n_star(i, n, censored) for i, (n, censored) in enumerate(specs)))
    assert tables.censored(threshold) == text


def test_learners_are_listed_by_the_points_they_need_then_by_their_error():
    errors = {"slow": 30, "never b": 2e6, "never a": 1e6, "fast": 10}
    rows = [row(label=a, n=n, replicate=r, nmse=c / n) for a, c in errors.items() for n in (50, 400) for r in range(3)]
    assert [record["label"] for record in tables.summary_table(curves(rows))] == ["fast", "slow", "never a", "never b"]


def test_an_ill_behaved_curve_is_remarked_on_with_its_last_crossing():
    again, ends_above, behaved = n_star(0, 90, last=690), n_star(0, 90, last=math.inf), n_star(1, 100)
    assert tables.ill_behaved_remark(n_stars(again)) == "ill-behaved: 1 of 1 rise above again, stays below from 690"
    assert (
        tables.ill_behaved_remark(n_stars(ends_above, behaved)) == "ill-behaved: 1 of 2 rise above again, it ends above"
    )
    assert tables.ill_behaved_remark(n_stars(behaved)) == ""


def test_the_summary_names_the_worst_replicate_beside_the_mean(grid):
    for record in tables.summary_table(curves(grid)):
        if "[" in record["error"]:
            place = (*(record[name] for name in ("task", "d", "label", "n")), "ok")
            values = [r.nmse for r in grid if (r.task, r.d, r.label, r.n, r.status) == place]
            assert record["worst"] == tables.number(max(values))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.3, "0.30"), (0.012, "0.012"), (1342, "1,342"), (33.0, "33"), (3.14e-7, "3.1e-7"), (2e12, "2.0e12"), (0, "0"),
     (-0.5, "-0.50"), (None, tables.MISSING), (math.nan, tables.MISSING), (math.inf, "∞")],
)  # fmt: skip
def test_numbers_have_two_digits(value, text):
    assert tables.number(value) == text


def test_a_number_that_is_rounded_up_to_one_more_digit_has_no_exponent():
    assert (tables.number(99.7), tables.number(999.6, 3), tables.number(999.4, 3)) == ("100", "1,000", "999")


def test_one_replicate_has_no_interval():
    assert tables.with_interval(0.3, math.nan, math.nan) == "0.30"
    assert tables.with_interval(3e-7, 2e-7, 4.5e-7) == "3.0e-7 [2.0e-7, 4.5e-7]"


@pytest.mark.parametrize(
    ("values", "text"),
    [((1.004, 0.998, 1.01), "1.00 [0.998, 1.01]"), ((0.9991, 0.99816, 1.00004), "0.99910 [0.99816, 1.0000]"),
     ((0.98, 0.96, 0.999), "0.980 [0.960, 0.999]"), ((0.5, 0.499, 0.501), "0.500 [0.499, 0.501]"),
     ((1.0, 1.0, 1.0), "1.0 [1.0, 1.0]"), ((1341.3, 1341.1, 1341.4), "1,341.3 [1,341.1, 1,341.4]"),
     ((0.3, 0, math.inf), "0.30 [0, ∞]"), ((3.222e-16, 3.221e-16, 3.223e-16), "3.2e-16 [3.2e-16, 3.2e-16]")],
)  # fmt: skip
def test_an_interval_shows_on_which_side_of_1_it_ends_and_how_wide_it_is(values, text):
    assert tables.with_interval(*values) == text
