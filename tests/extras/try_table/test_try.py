"""``bfc-bench try`` on tables as spreadsheets write them: semicolons, decimal commas, text, dates, gaps and groups."""

import math
import re
import time
import tomllib
from datetime import date
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from stored_rows import hold
from synthetic import row

import bfc_bench as bb
from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.forecast import forecast
from bfc_bench.analysis.thresholds import NStar, NStars
from bfc_bench.cli.app import run
from bfc_bench.extras.try_table.answer import _growth, _needs, _rows_needed, answer
from bfc_bench.extras.try_table.suite_file import sizes, suite_text
from bfc_bench.extras.try_table.table_facts import TableFacts, _separator, facts_of_table
from bfc_bench.extras.try_table.within import run_within
from bfc_bench.report.tables import MISSING
from bfc_bench.tasks.data.table import Table


def flats(n=260, seed=5):
    """Lines of a table whose price is linear in area and rooms, with a bonus for a city."""
    rng = np.random.default_rng(seed)
    area, rooms, city = rng.uniform(30, 200, n), rng.integers(1, 7, n), rng.choice(["Köln", "Bonn", "Ulm"], n)
    agent, year = rng.integers(0, 40, n), rng.integers(1950, 2020, n)
    price = 2.5 * area + 20 * rooms + 60 * (city == "Köln") + 10 * rng.standard_normal(n)
    lines = ["Fläche m²;Zimmer;Stadt;gebaut;Heizung;Makler id;Notiz;Preis €"]
    for i in range(n):
        size = "" if rng.random() < 0.1 else comma(area[i])
        count = "?" if rng.random() < 0.05 else rooms[i]
        heating = rng.choice(["Gas", "Öl", ""])
        note = f'"Nr. {i}, hell"'
        lines.append(f"{size};{count};{city[i]};01.02.{year[i]};{heating};M{agent[i]};{note};{comma(price[i])}")
    return lines


def comma(number):
    return f"{number:.1f}".replace(".", ",")


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flats.csv").write_text("\n".join(flats()) + "\n", encoding="utf-8-sig")
    return tmp_path / "flats.csv"


def test_a_hard_table_gets_an_answer(table, printed, refused):
    command = ["try", "flats.csv", "--target", "Preis €", "--group", "Makler id", "--seconds", "3600"]
    said = " ".join(printed(*command, "--store", "my store").split())
    for part in (
        "260 rows",
        "Fläche m²: numbers",
        "Stadt: text, 3 categories",
        "gebaut: dates",
        "Makler id: groups",
        "column 'Notiz' is left out",
        "best first",
        "linear is better than mean",
        "How many rows do you need?",
        "For an error of",
        "Would more rows help?",
        "With 360 rows, twice as many, expect an error of",
        "With 720 rows, four times as many, expect an error of",
        "bfc-bench report flats.toml --store 'my store'",
    ):
        assert part in said, said
    text = (table.parent / "flats.toml").read_text()
    data = tomllib.loads(text)["task"][0]["data"]
    assert data["split"] == {"group": "Makler id"}
    assert (data["categorical"], data["missing"], data["missing_texts"]) == ("keep", "keep", ["?"])
    assert (data["separator"], data["decimal"]) == (";", ",")
    assert "Makler id" not in data["columns"]
    with bb.open_store("my store") as suites:
        rows = suites["flats.toml"].rows()
        curves = {curve.label: curve for curve in suites["flats.toml"].curves()}
    smallest = [row for row in rows if row.n == min(row.n for row in rows)]
    assert {row.label for row in smallest if row.status == "ok"} == {"mean", "linear", "kernel", "forest", "boosting"}
    # The noise is 10 of a deviation above 100, and a tenth of the areas is missing.
    assert curves["linear"].intervals[-1].mean < 0.4
    assert curves["mean"].intervals[-1].mean > 0.9
    assert run([*command, "--store", "my store"]) == 0  # the file is the same, and all cells are there
    (table.parent / "flats.toml").write_text("# mine\n")
    assert "the file exists" in refused(*command, "--store", "my store")


def learned(name, n_star):
    """A curve whose replicates have these N* of .1, on sizes up to 400."""
    n = np.array([50, 100, 200, 400])
    values = 0.1 * np.sqrt(np.array(n_star)[:, None] / n)
    return Curve("t", 3, name, "nmse", n, tuple(range(len(values))), values)


FACTS = TableFacts({"target": "y"}, 800, 600, 200, 3, ("no", "yes"), 1.0, {}, [])


def test_of_n_star_beyond_the_tested_rows_a_bound_alone_is_said():
    curves = [learned("forest", [120, 130, 140]), learned("linear", [390, 3000, 3000])]
    assert _rows_needed(curves, 400, [0.1, 0.01], FACTS) == [
        "  For an error of 0.1: forest 130 [107, 157]; linear more than 400.",
        "  No learner reaches an error of 0.01 with 400 rows.",
    ]


@pytest.mark.parametrize(("exponent", "little"), [(0.05, True), (0.5, False)])
def test_more_rows_change_little_where_twice_as_many_are_expected_to(exponent, little):
    n = np.array([50, 100, 200])
    curve = Curve("t", 3, "forest", "nmse", n, (0, 1), np.array([[0.9], [1.1]]) * 0.3 * (n / 200) ** -exponent)
    was, twice, four_times, *remark = _growth((curve, curve.intervals[-1]), n.tolist(), FACTS)
    assert was.startswith("  From 100 to 200 rows the error of forest went from ")
    expected = forecast(curve, 200)
    assert twice.startswith(f"  With 400 rows, twice as many, expect an error of {expected.mean:.3g} (90 %: ")
    assert four_times.startswith("  With 800 rows, four times as many, expect an error of ")
    assert bool(remark) == little


def test_a_table_of_classes_in_time(tmp_path, monkeypatch, printed):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 2))
    kind = np.where(x[:, 0] + 0.3 * rng.standard_normal(200) > 0, "up", "down")
    lines = [f"2020-{1 + i // 20:02d}-{1 + i % 20:02d},{x[i, 0]:.3f},{x[i, 1]:.3f},{kind[i]}" for i in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["day,a,b,kind", *lines]) + "\n")
    said = printed("try", "t.csv", "--target", "kind", "--time", "day", "--seconds", "3600")
    assert "fraction of 50 test rows" in " ".join(said.split())
    assert "most-frequent" in said


WRONG = {
    "target": (["--target", "Preis"], ["no column 'Preis'", "Did you mean 'Preis €'?"]),
    "group": (["--target", "Preis €", "--group", "Makler"], ["no column 'Makler'", "Did you mean 'Makler id'?"]),
    "both": (["--target", "Preis €", "--group", "Stadt", "--time", "gebaut"], ["exclude each other"]),
    "separator": (["--target", "Preis €", "--set", "separator=','"], ["separator ','", "set separator"]),
    "option": (["--target", "Preis €", "--set", "seperator=';'"], ["Did you mean 'separator'?"]),
    "drop": (["--target", "Preis €", "--drop", "Notitz"], ["no column 'Notitz'", "Did you mean 'Notiz'?"]),
    "drop target": (["--target", "Preis €", "--drop", "Preis €"], ["--drop Preis €: another option needs"]),
    "encoding": (["--target", "Preis €", "--set", "encoding=ascii"], ["--set encoding=latin-1"]),
    "folder": (["--target", "Preis €", "--output", "/tmp/x.toml"], ["must be in the folder of the table"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_one_line(table, case, refused):
    options, expected = WRONG[case]
    said = refused("try", "flats.csv", *options).strip()
    assert said.count("\n") == 0
    for part in expected:
        assert part in said
    assert not (table.parent / "flats.toml").exists()


def looked_at(folder, frame, **options):
    """What is found in a table with these columns."""
    frame["y"] = np.arange(len(frame)) % 11
    frame.to_csv(folder / "t.csv", index=False)
    return facts_of_table(folder / "t.csv", "y", **options)


def points(path, data):
    """The points of a table that is read with the options of a suite file."""
    options = {key: value for key, value in data.items() if key != "kind"}
    return Table.parse({**options, "path": str(path)}, "t").load().points


def test_commas_inside_quoted_names_separate_nothing(tmp_path):
    (tmp_path / "t.csv").write_text('"a, b, ""c, d""";"e, f";g\n1;2;3\n')
    assert _separator(tmp_path / "t.csv", "utf-8") == ";"


def test_dates_of_any_year_are_dates(tmp_path):
    days = [f"{1600 + i}-05-01" for i in range(60)] + ["9999-12-31"] * 20
    facts = looked_at(tmp_path, pd.DataFrame({"day": days}))
    assert facts.columns == {"day": "dates"}
    x = points(tmp_path / "t.csv", facts.data).x
    assert list(x[[0, -1], 0]) == [(date.fromisoformat(day) - date(1970, 1, 1)).days for day in (days[0], days[-1])]


def test_dates_with_slashes_are_read_where_they_have_one_meaning(tmp_path):
    american = [f"{1 + i % 12:02d}/{1 + i % 28:02d}/2001" for i in range(80)]
    facts = looked_at(tmp_path, pd.DataFrame({"day": american}))
    assert facts.columns == {"day": "dates"}
    assert facts.data["dates"] == {"day": "%m/%d/%Y"}
    either = [f"{1 + i % 12:02d}/{1 + i % 11:02d}/2001" for i in range(80)]
    facts = looked_at(tmp_path, pd.DataFrame({"day": either, "a": np.arange(80) % 3}))
    assert list(facts.columns) == ["a"]
    assert "may be month/day or day/month" in facts.remarks[0]


N = 2100
IDS = {
    "id": 1 + np.arange(N),
    "from five hundred": 500 + np.random.default_rng(0).permutation(N + 300)[:N],
    "patient_id": np.random.default_rng(1).permutation(10**9 // 7)[:N] * 7,
    "customerID": np.random.default_rng(2).permutation(10**6)[:N],
    "code": [f"F{7 * i:09d}" for i in range(N)],
}
QUANTITIES = {
    "width": np.random.default_rng(3).standard_normal(N),
    "cents": np.random.default_rng(4).permutation(10**7)[:N],
    "seconds": 1_700_000_000 + 3600 * np.arange(N),
    "milliseconds": 1_700_000_000_000 + np.cumsum(np.random.default_rng(5).integers(1, 10**6, N)),
    "humidity": np.random.default_rng(6).permutation(N * 50)[:N] / 7,
}


def test_columns_that_name_rows_are_left_out_unless_they_are_named(tmp_path):
    facts = looked_at(tmp_path, pd.DataFrame({**IDS, **QUANTITIES, "none": np.nan}))
    assert facts.columns == dict.fromkeys(QUANTITIES, "numbers")
    said = " ".join(facts.remarks)
    for name in IDS:
        assert f"column '{name}' is left out: it" in said
    assert list(looked_at(tmp_path, pd.DataFrame(IDS), given={"columns": ["id"]}).columns) == ["id"]


def test_one_row_for_each_year_is_no_id(tmp_path):
    assert list(looked_at(tmp_path, pd.DataFrame({"year": 1950 + np.arange(60)})).columns) == ["year"]


def test_columns_are_dropped_by_name(tmp_path):
    frame = pd.DataFrame({name: np.arange(80) % k for name, k in (("a", 3), ("b", 5), ("c", 7))})
    facts = looked_at(tmp_path, frame, drop=["a", "c"])
    assert list(facts.columns) == facts.data["columns"] == ["b"]
    with pytest.raises(bb.UsageError, match="no column to learn from"):
        looked_at(tmp_path, frame, drop=["a", "b", "c"])


def test_rows_without_a_target_are_left_out_with_a_remark(table, tmp_path):
    every, some = (tmp_path / name for name in ("every.csv", "some.csv"))
    frame = pd.DataFrame({"a": np.arange(60) % 7, "y": np.arange(60) % 11 + 0.5})
    frame[frame.index % 4 > 0].to_csv(every, index=False)
    frame.loc[frame.index % 4 == 0, "y"] = np.nan
    frame.to_csv(some, index=False)
    facts = facts_of_table(some, "y")
    assert (facts.rows, facts.remarks) == (45, ["rows without a value of 'y' are left out: 15."])
    one, other = points(some, facts.data), points(every, facts_of_table(every, "y").data)
    np.testing.assert_array_equal(one.x, other.x)
    np.testing.assert_array_equal(one.y, other.y)
    assert "rows without a value of 'Heizung'" in " ".join(facts_of_table(table, "Heizung").remarks)


def test_a_busy_machine_gets_as_far_and_three_sizes_run_in_any_case(tmp_path, suite_file, monkeypatch):
    data = pd.DataFrame({"a": np.arange(300) % 17, "y": np.arange(300) % 7})
    data.to_csv(tmp_path / "t.csv", index=False)
    task = {"name": "t", "data": {"kind": "table", "path": "t.csv", "target": "y"}, "n": [10, 20, 40, 80]}
    path = suite_file(learner=[{"name": "sklearn:dummy.DummyRegressor"}], task=[task])
    clock = iter(range(0, 10**6, 100))
    monkeypatch.setattr(time, "process_time", lambda: 5.0)
    assert run_within(path, tmp_path / "idle", 1e-3, lambda text: None) == []  # no CPU time, much of the clock's
    monkeypatch.setattr(time, "process_time", lambda: float(next(clock)))
    assert run_within(path, tmp_path / "slow", 1e-3, lambda text: None) == [80]


@pytest.mark.parametrize("pool", [20, 25, 40, 63, 64, 100, 2219, 10**6])
def test_there_are_three_sizes_and_each_is_twice_the_one_before(pool):
    found = sizes(pool)
    assert len(found) >= 3
    assert found[-1] <= min(pool, 8000)
    assert all(abs(later - 2 * earlier) <= 1 for earlier, later in pairwise(found))


def n_stars(*ranges):
    return NStars("t", 4, "l", "nmse", 0.1, tuple(NStar(r, lo, hi) for r, (lo, hi) in enumerate(ranges)))


BELOW, ABOVE = (0.0, 69.0), (69.0, math.inf)


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ([BELOW] * 5, "≤69"),
        ([ABOVE] * 5, "more than 69"),
        ([BELOW, BELOW, ABOVE], rf"{MISSING} \[≤69, >69\] \(2 of 3 ≤69, 1 of 3 >69\)"),
        ([(90.0, 100.0), (95.0, 110.0), (92.0, 105.0)], r"\d+(\.\d)? \[[\d.]+, [\d.]+\]"),
        ([(300.0, 330.0), (310.0, 360.0), (310.0, 350.0), (400.0, math.inf)], r"\d+ \[\d+, >400\] \(1 of 4 >400\)"),
        ([(60.0, 64.0), (70.0, 74.0), (66.0, 71.0), (0.0, 60.0)], r"[\d.]+ \[≤60, [\d.]+\] \(1 of 4 ≤60\)"),
    ],
)
def test_the_rows_that_a_level_needs_are_said_with_their_bounds(ranges, words):
    assert re.fullmatch(words, _needs(n_stars(*ranges)))


def test_lists_and_structures_in_parquet_are_left_out(tmp_path):
    frame = pd.DataFrame({"a": np.arange(80) % 3, "lists": [[1]] * 80, "structures": [{"b": 1}] * 80})
    frame["y"] = np.arange(80) % 11
    frame.to_parquet(tmp_path / "t.parquet")
    assert list(facts_of_table(tmp_path / "t.parquet", "y").columns) == ["a"]


def test_points_may_separate_thousands_before_a_decimal_comma(tmp_path):
    facts = looked_at(tmp_path, pd.DataFrame({"a": [f"1.{i:03d},5" for i in range(80)]}))
    assert facts.data["decimal"] == ","
    x = points(tmp_path / "t.csv", facts.data).x
    assert list(x[:2, 0]) == [1000.5, 1001.5]


def test_without_a_result_the_answer_is_what_failed(suite_file, tmp_path):
    path = suite_file(learner=[{"name": "mean"}])
    failed = row(suite="tiny", task="t", label="mean", d=4, n=10, replicate=0, status="failed", reason="no memory")
    with bb.open_store(hold(tmp_path / "store", path, [failed])) as store:
        assert answer(store[path], None) == ["No learner has a result:", "  1 cell failed: mean on t: no memory"]


def test_only_a_suite_file_is_replaced(table, refused):
    text = table.read_text()
    (table.parent / "flats.toml").symlink_to("flats.csv")
    (table.parent / "folder.toml").mkdir()
    for options in ([], ["--output", "flats.csv"], ["--output", "folder.toml"]):
        said = refused("try", "flats.csv", "--target", "Preis €", "--force", *options)
        assert "must end in .toml and be no link" in said
    (table.parent / "other.toml").write_bytes(b"\xff")
    assert "the file exists" in refused("try", "flats.csv", "--target", "Preis €", "--output", "other.toml")
    assert table.read_text() == text


def test_names_of_columns_that_toml_must_quote_are_kept(tmp_path):
    name = 'a "b" \\ # = €\n[x]'
    lines = [f'"{name.replace(chr(34), chr(34) * 2)}",y', *(f"{i % 7},{3 * i}" for i in range(80))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    facts = facts_of_table(tmp_path / "t.csv", "y")
    text = suite_text(facts, "t")
    assert not [line for line in text.splitlines() if line.startswith("[x]")]
    assert tomllib.loads(text)["name"] == "t"
    facts = facts_of_table(tmp_path / "t.csv", name)
    data = tomllib.loads(suite_text(facts, "t"))["task"][0]["data"]
    assert data["target"] == name
    points(tmp_path / "t.csv", data)
