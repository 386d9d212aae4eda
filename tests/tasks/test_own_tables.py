"""Tables of one's own: how they are read, encoded by the n training points alone, split, and given as frames."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from data_files import load, refuses

from bfc_bench.errors import UsageError
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.array_guard import to_frame
from bfc_bench.run.build_task import build_part
from bfc_bench.tasks.data.arrays import saved
from bfc_bench.tasks.data_task import DataTask
from bfc_bench.tasks.labels import Clean
from bfc_bench.tasks.load_data import digest_of, read
from bfc_bench.tasks.row_splits import group_pool, group_split

RNG = np.random.default_rng(0)
N = 120


def read_table(path, **options):
    return load("table", **{"path": str(path), "target": "y", **options})


# --- reading


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_text_file_is_read_with_the_separator_and_decimal_mark_that_are_given(table, separator, decimal, encoding):
    rows = [["größe", "b", "y"], ["1.5", "2", "3.25"], ["-0.5", "4", "1"], ["2.1234", "5", "2"]]
    quoted = [[f'"{value.replace(".", decimal)}"' for value in row] for row in rows]
    path = table("\n".join(separator.join(row) for row in quoted).encode(encoding))
    found = read_table(path, separator=separator, decimal=decimal)
    assert found.columns == ("größe", "b")
    assert found.points.x.tolist() == [[1.5, 2], [-0.5, 4], [2.1234, 5]]
    assert found.points.y.tolist() == [3.25, 1, 2]


SEMICOLON = {"separator": ";"}
REFUSED = {
    "text": ("a,y\n1,2\nsmall,3\n", {}, ["row 2 of 2, column 'a' must be a number. Got 'small'"]),
    "classes": ("a,y\n1,2\n2,3\n3,oops\n", {}, ["row 3 of 3, column 'y' must be", "Got 'oops'", "classes = true"]),
    "hole": ("a,b,y\n1,2,3\n4,,6\n", {}, ["row 2 of 2, column 'b' is empty"]),
    "infinite": ("a,y\n1,2\ninf,3\n", {}, ["row 2 of 2, column 'a' must be finite. Got inf"]),
    "target": ("a,prize\n1,2\n3,4\n", {"target": "price"}, ["no column 'price'", "Did you mean 'prize'?"]),
    "both": ("a,y\n1,2\n3,4\n", {"columns": ["a", "y"]}, ["columns must not have the target, 'y'"]),
    "empty": ("", {}, ["is no table"]),
    "decimal": ("a;y\n1,5;1\n2,5;2\n", SEMICOLON, ["Got '1,5'", "decimal = ','"]),
    "separator": ("a;b;y\n1;2;3\n2;3;4\n", {}, ["no column 'y'", "separator ','", "set separator"]),
    "latin-1": ("größe;y\n1;2\n".encode("latin-1"), SEMICOLON, ["must be text in utf-8", "'latin-1'"]),
    "slip": ("a,y\n1,2\nx,3\n3,4\n", {"categorical": "keep"}, ["row 2 of 3, column 'a'", "missing_texts = ['x']"]),
    "gap": ("a,y\nu,2\n,3\nv,4\n", {"categorical": "keep"}, ["row 2 of 3, column 'a' is empty", "set missing"]),
    "date": ("a,y\n01/31/2020,2\n02/03/2020,3\n", {"dates": {"a": "%d/%m/%Y"}}, ["row 1 of 2", "of the form %d/%m/%Y"]),
    "groups": ("a,g,y\n1,p,2\n2,p,3\n", {"split": {"group": "g"}}, ["all rows are of one group"]),
    "no time": (
        "a,t,y\n1,p,2\n2,q,3\n",
        {"split": {"time": "t"}, "categorical": "keep"},
        ["must hold dates or numbers"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_one_line_that_names_the_option(table, case):
    text, options, expected = REFUSED[case]
    path = table(text)
    refuses(path, *expected, kind="table", **{"path": path, "target": "y", **options})


def test_named_formats_are_read(table):
    path = table("größe;y\n1;2\n3;4\n".encode("latin-1"))
    assert read_table(path, separator=";", encoding="latin-1").columns == ("größe",)
    path = table("a;b;y\n1,500;?;1\n2,250;7;2\n")
    found = read_table(path, separator=";", decimal=",", missing_texts=["?"], missing="median")
    np.testing.assert_array_equal(found.points.x, [[1.5, np.nan], [2.25, 7]])


@pytest.mark.parametrize(
    ("text", "values"),
    [("a;y\n1;1.200,5\n2;900,25\n", [1200.5, 900.25]), ("a;y\n1;1000000000000000000000\n2;5\n", [1e21, 5])],
    ids=["thousands", "long"],
)
@pytest.mark.parametrize("classes", [{}, {"classes": False}])
def test_targets_that_pandas_leaves_as_texts_are_numbers(table, text, values, classes):
    found = read_table(table(text), separator=";", decimal=",", **classes)
    assert (found.classes, found.points.y.tolist()) == ((), values)


def test_texts_stay_classes_beside_a_decimal_comma_and_in_parquet(table, tmp_path):
    form = {"separator": ";", "decimal": ","}
    assert read_table(table("a;y\n1;u\n2;v\n3;u\n4;v\n"), **form).classes == ("u", "v")
    numbers = table("a;y\n1;1.000,5\n2;2.000,5\n3;1.000,5\n4;2.000,5\n")
    assert read_table(numbers, **form, classes=True).classes == ("1.000,5", "2.000,5")
    pd.DataFrame({"a": [1.0, 2, 3, 4], "y": ["1", "2", "1", "2"]}).to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", **form).classes == ("1", "2")


def test_dates_are_days_since_1970_in_every_form(table, tmp_path):
    first = read_table(table("a,y\n1970-01-02,1\n2000-01-01 12:00,2\n")).points.x
    np.testing.assert_array_equal(first[:, 0], [1, 10957.5])
    other = read_table(table("a,y\n02.01.1970,1\n01.01.2000,2\n")).points.x
    named = read_table(table("a,y\n01/02/1970,1\n01/01/2000,2\n"), dates={"a": "%m/%d/%Y"}).points.x
    np.testing.assert_array_equal(other, named)
    assert other[:, 0].tolist() == [1, 10957]
    pd.DataFrame({"a": pd.to_datetime(["1970-01-02", "2000-01-01"]), "y": [1.0, 2]}).to_parquet(tmp_path / "t.parquet")
    np.testing.assert_array_equal(read_table(tmp_path / "t.parquet").points.x, other)


def test_the_digest_depends_on_contents_and_not_on_how_they_are_written(table):
    texts = {"a.csv": "a,b,y\n1.5,u,1\n2.5,v,2\n", "b.csv": "a;b;y\n1,5;u;1\n2,5;v;2\n"}
    forms = ({}, {"separator": ";", "decimal": ","})
    one, two = (
        read_table(table(text, name), categorical="keep", **form)
        for form, (name, text) in zip(forms, texts.items(), strict=True)
    )
    other = read_table(table("a,b,y\n1.5,u,1\n2.5,w,2\n", "c.csv"), categorical="keep")
    assert digest_of(one) == digest_of(two) != digest_of(other)


def test_options_that_say_how_a_file_is_read_do_not_identify_a_cell(table):
    path = table("a,y\n1,1\n2,2\n3,3\n4,5\n")
    tasks = [
        table_task(path, categorical=None, missing=None, **options)
        for options in ({}, {"separator": ","}, {"decimal": "."}, {"encoding": "latin-1"}, {"missing_texts": ["?"]})
    ]
    assert len({str(task.identity()) for task in tasks}) == 1
    assert set(tasks[0].identity()["data"]) == {"kind", "target"}


# --- encoding


def hard_frame():
    city = RNG.choice(["Bonn", "Köln", "Ulm"], N).astype(object)
    area = RNG.uniform(30, 200, N)
    y = 2 * area + 50 * (city == "Köln") + RNG.standard_normal(N)
    area[RNG.random(N) < 0.3] = np.nan
    city[RNG.random(N) < 0.1] = None
    who = np.sort(RNG.integers(0, 25, N))
    return pd.DataFrame({"row": np.arange(N), "area": area, "city": city, "who": who, "y": y})


@pytest.fixture
def hard(tmp_path):
    frame = hard_frame()
    frame.to_csv(tmp_path / "hard.csv", index=False)
    return tmp_path / "hard.csv"


def table_task(path, **options):
    data = {"kind": "table", "path": str(path), "target": "y", "categorical": "keep", "missing": "keep", **options}
    return DataTask("t", build_part(data, load_plugins().data, "s"), labels=Clean())


def problem(path, replicate=0, test_size=100, **options):
    made = table_task(path, **{"columns": ["row", "area", "city"], **options})
    return made.problem(0, made.dimension, replicate, test_size)


def rows(x):
    return np.asarray(x)[:, 0].astype(int).tolist()


def test_gaps_and_categories_are_encoded_by_their_definition(hard):
    frame = pd.read_csv(hard)
    made = problem(hard, missing="median")
    assert made.task.dimension == 2 + 3
    train, test = made.train(40).x, made.test_inputs(40)
    median = frame.area[rows(train)].median()
    for x in (train, test):
        held = frame.loc[rows(x)]
        np.testing.assert_array_equal(x[:, 1], held.area.fillna(median))
        for column, city in enumerate(["Bonn", "Köln", "Ulm"]):
            np.testing.assert_array_equal(x[:, 2 + column], held.city == city)
    by_mean = problem(hard, missing="mean")
    test = by_mean.test_inputs(40)
    gaps = frame.area[rows(test)].isna().to_numpy()
    np.testing.assert_allclose(test[gaps, 1], frame.area[rows(by_mean.train(40).x)].mean(), rtol=1e-12)


def test_numbers_that_are_named_as_categories_are_one_hot(hard):
    made = problem(hard, columns=["row", "who"], categories=["who"], categorical=None, missing=None)
    x, who = made.train(40).x, pd.read_csv(hard).who
    for column, number in enumerate(sorted(who.astype(str).unique()), 1):
        np.testing.assert_array_equal(x[:, column], who[rows(x)].astype(str) == number)


@pytest.mark.parametrize("missing", ["median", "mean", "keep"])
@pytest.mark.parametrize("standardize", [False, True])
def test_what_learners_get_depends_on_no_row_beyond_the_n(hard, missing, standardize):
    n, options = 30, {"missing": missing, "standardize": standardize}
    made, raw = problem(hard, **options), problem(hard, missing=missing)
    train = raw.train(n).x
    taken, tested = rows(train), rows(raw.test_inputs(n))
    before = made.train(n).x, made.test_inputs(n)
    frame = pd.read_csv(hard)
    others = [row for row in range(N) if row not in {*taken, *tested}]
    frame.loc[others, "area"] = 1e6 * RNG.random(len(others))
    frame.to_csv(hard, index=False)
    changed = problem(hard, **options)
    np.testing.assert_array_equal(before[0], changed.train(n).x)
    np.testing.assert_array_equal(before[1], changed.test_inputs(n))
    assert not np.array_equal(made.train(n + 20).x, changed.train(n + 20).x)


def test_a_category_that_the_training_points_lack_is_0_in_all_columns(tmp_path):
    city = np.array(["Bonn"] * (N - 1) + ["Ulm"])
    pd.DataFrame({"row": np.arange(N), "area": 1.0, "city": city, "y": np.arange(N) % 7}).to_csv(tmp_path / "t.csv")
    for replicate in range(12):
        made = problem(tmp_path / "t.csv", replicate)
        train, test = made.train(20).x, made.test_inputs(20)
        if N - 1 in rows(test):
            assert np.all(train[:, 3] == 0)
            np.testing.assert_array_equal(test[rows(test).index(N - 1), 2:], [0, 0])
            return
    raise AssertionError("the lone row was never tested on")


def test_frames_have_what_the_table_keeps(hard):
    frame = pd.read_csv(hard)
    made = problem(hard, standardize=True)
    framed = made.framed
    data = framed.train(40)
    assert [column.name for column in data.columns] == ["row", "area", "city"]
    assert (data.d, data.columns[2].levels) == (3, ("Bonn", "Köln", "Ulm"))
    given = to_frame(data.x, data.columns)
    held = frame.loc[given.row.astype(int), ["row", "area", "city"]].reset_index(drop=True)
    assert given.city.dtype == "category"
    pd.testing.assert_frame_equal(given.astype({"city": object}), held, check_dtype=False)
    np.testing.assert_array_equal(data.y, made.train(40).y)
    assert data.sample != made.train(40).sample
    filled = problem(hard, missing="median").framed.train(40)
    assert not np.isnan(filled.x[:, 1]).any()
    assert len(filled.columns) == 3
    assert problem(hard, categorical="one-hot").framed.train(40).d == 5
    plain = problem(hard, categorical="one-hot", missing="mean")
    assert plain.framed is plain


# --- splits


def test_no_group_is_on_both_sides(hard):
    frame = pd.read_csv(hard)
    for replicate in range(8):
        made = problem(hard, replicate, split={"group": "who"})
        n = made.task.pool(100)
        train, test = rows(made.train(n).x), rows(made.test_inputs(n))
        assert len(train) == n
        assert len(set(test)) == len(test) == N // 4
        assert not set(frame.who[train]) & set(frame.who[test])
    assert "n must be at most" in made.task.check_size(n + 1, 100)


def test_groups_leave_as_many_rows_as_promised_and_every_group_is_tested_alike():
    groups = np.repeat(np.arange(12), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    left, tested = [], np.zeros(len(groups))
    for seed in range(400):
        test, train = group_split(groups, 20, np.random.default_rng(seed))
        assert len(test) == 20
        assert not set(groups[test]) & set(groups[train])
        left.append(len(train))
        tested[test] += 1
    assert min(left) >= group_pool(groups, 20)
    assert tested.min() > 0


def test_time_orders_the_rows_of_a_task_and_is_not_learned_from(hard):
    frame = pd.read_csv(hard)
    frame["day"] = pd.date_range("2020-01-01", periods=N)[::-1].strftime("%d.%m.%Y")
    frame.to_csv(hard, index=False)
    made = problem(hard, split={"time": "day"}, columns=None)
    assert "day" not in made.task.contents.columns
    test, train = rows(made.test_inputs(50)), rows(made.train(90).x)
    assert sorted(test) == list(range(30))
    assert set(train) == set(range(30, N))
    assert (made.test_size, made.test_pool, problem(hard).test_pool) == (30, 30, N)
    assert rows(problem(hard, 1, split={"time": "day"}).train(50).x) != rows(made.train(50).x)
    both = table_task(hard, stratify=True, split={"time": "day"})
    assert "stratify" in both.check(both.dimension)


# --- tables of a Python session


COLUMNS = {"a": [1.5, 2.5, None, 3.5], "city": ["u", "v", "u", None], "y": [1.0, 2.0, 3.0, 4.0]}
OPTIONS = {"categorical": "keep", "missing": "keep"}


def contents(tmp_path, x, y="y", options=OPTIONS, **given):
    return read(saved(x, y, options=options, folder=tmp_path, **given), "t")


def test_frames_dicts_and_what_has_to_pandas_are_the_same_contents(tmp_path):
    pandas = contents(tmp_path, pd.DataFrame(COLUMNS))
    digests = {digest_of(contents(tmp_path, kind(COLUMNS))) for kind in (dict, pyarrow.table, polars.DataFrame)}
    assert digests == {digest_of(pandas)}
    np.testing.assert_array_equal(pandas.points.x, [[1.5, 0], [2.5, 1], [np.nan, 0], [3.5, np.nan]])
    assert pandas.table.columns[1].levels == ("u", "v")
    assert pandas.points.y.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("kind", [dict, pyarrow.table])
def test_a_column_of_arrays_is_images(tmp_path, kind):
    images = [np.zeros((4, 4)).tolist(), np.ones((4, 4)).tolist()] * 2
    assert contents(tmp_path, kind({"image": images, "y": [0.0, 1, 2, 3]}), "y", {}).shape == (1, 4, 4)


@pytest.mark.parametrize("numbers", [[10, 2, 10, 2, 2], [1.5, 0, 1.5, 0, 0]])
@pytest.mark.parametrize("kind", ["array", "frame", "column", "object"])
def test_categories_that_are_numbers_are_classes_in_numerical_order(tmp_path, numbers, kind):
    x, y = pd.DataFrame({"a": np.arange(5.0)}), pd.Series(numbers).astype("category")
    if kind == "object":
        y = pd.Series(numbers, dtype=object).astype("category")
    names = ("2", "10") if 10 in numbers else ("0", "1.5")
    given = (x.assign(t=y), "t") if kind == "column" else (x if kind == "frame" else x.to_numpy(), y)
    test = {"x_test": given[0][::-1], "y_test": None if kind == "column" else y[::-1]}
    found = contents(tmp_path, *given, {"classes": None}, **test)
    assert (found.classes, found.points.y.tolist(), found.test.y.tolist()) == (names, [1, 0, 1, 0, 0], [0, 0, 1, 0, 1])
    assert contents(tmp_path, *given, {"classes": False}).points.y.tolist() == numbers


def test_missing_categories_are_refused_or_dropped_and_are_no_class(tmp_path):
    x, y = pd.DataFrame({"a": np.arange(6.0)}), pd.Series([1, 2, 1, 2, None, None]).astype("category")
    with pytest.raises(UsageError, match=r"y must name a class for each point\. Got nan in row 4"):
        contents(tmp_path, x.to_numpy(), y, {})
    with pytest.raises(UsageError, match="row 5 of 6, column 'y' is empty or NA"):
        contents(tmp_path, x, y, {})
    dropped = contents(tmp_path, x, y, {"missing_target": "drop"})
    assert (dropped.classes, dropped.points.y.tolist()) == (("1", "2"), [0, 1, 0, 1])


def test_a_torch_data_set_of_pairs_is_read(tmp_path):
    torch = pytest.importorskip("torch")
    x, y = torch.arange(12.0).reshape(6, 2), torch.arange(6.0)
    found = contents(tmp_path, torch.utils.data.TensorDataset(x, y), None, {})
    np.testing.assert_array_equal(found.points.x, x.numpy())
    np.testing.assert_array_equal(found.points.y, y.numpy())


def test_columns_may_have_numbers_as_names(tmp_path):
    found = contents(tmp_path, pd.DataFrame(np.arange(12.0).reshape(4, 3)), "2", {})
    assert (found.columns, found.points.y.tolist()) == (("0", "1"), [2, 5, 8, 11])


def test_a_test_part_of_a_frame_may_have_new_categories(tmp_path):
    test = pd.DataFrame({"city": ["w", "u"], "a": [1.0, 2.0], "y": [1.0, 2.0]})
    tested = contents(tmp_path, COLUMNS, x_test=test)
    assert tested.table.columns[1].levels == ("u", "v", "w")
    np.testing.assert_array_equal(tested.test.x, [[1, 2], [2, 0]])


WRONG = {
    "length": ({"a": [1.0, 2], "b": [1.0], "y": [1.0, 2]}, "y", "x: All arrays must be of the same length."),
    "target": (COLUMNS, "z", "x has no column 'z' for the target"),
    "rows": (COLUMNS, [1.0], "x has 4 rows and its target 1"),
    "splits": ({"train": pyarrow.table(COLUMNS)}, "y", "give one of them, such as x['train']"),
    "twice": (pd.DataFrame([[1, 2]], columns=["a", "a"]), [1.0], "two columns are named 'a'"),
    "array": (np.zeros((3, 2)), "y", "has no named columns"),
    "pairs": (np.zeros((3, 4)), None, "its items must be pairs (x, y)"),
    "no target": (COLUMNS, None, "y is missing"),
    "number": (COLUMNS, 2, "the name of a column of x as a text. Got 2"),
    "ragged": ({"image": [np.zeros((2, 2)), np.zeros((3, 3))], "y": [0.0, 1]}, "y", "items must have one shape"),
    "files": ({"image": [{"bytes": b""}] * 2, "y": [0.0, 1]}, "y", "holds dicts. Give images as an array"),
    "labels": ([(np.zeros(2), np.zeros(2))] * 3, None, "the y of an item must be one value. Got the shape (2,)"),
}


@pytest.mark.parametrize("case", WRONG)
def test_tables_that_are_wrong_are_one_line(tmp_path, case):
    x, y, expected = WRONG[case]
    with pytest.raises(UsageError) as caught:
        saved(x, y, options=OPTIONS, folder=Path(tmp_path))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
