"""Kinds of data sets: what they read, and what they say of files that are not as they should be."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_files import load, refuses

from bfc_bench.utils.files import cache_folder

RNG = np.random.default_rng(0)
pytestmark = pytest.mark.usefixtures("nowhere")


@pytest.mark.parametrize(
    ("kind", "shape", "classes"),
    [("diabetes", (442, 10), 0), ("wine", (178, 13), 3), ("breast-cancer", (569, 30), 2), ("digits", (1797, 64), 10)],
)
def test_what_scikit_learn_ships(kind, shape, classes):
    found = load(kind)
    assert (found.points.x.shape, len(found.classes)) == (shape, classes)
    assert kind == "digits" or len(found.columns) == shape[1]


# --- tables


def test_a_table_is_read_by_the_names_of_its_columns(table):
    path = table("price,area,rooms\n1,10,2\n2.5,20,3\n")
    found = load("table", path=path, target="price")
    assert found.points.x.tolist() == [[10, 2], [20, 3]]
    assert (found.points.y.tolist(), found.columns, found.classes) == ([1, 2.5], ("area", "rooms"), ())
    chosen = load("table", path=path, target="price", columns=["rooms"])
    assert (chosen.points.x.tolist(), chosen.columns) == ([[2], [3]], ("rooms",))


@pytest.mark.parametrize(
    ("target", "classes", "options"),
    [
        (["yes", "no", "yes", "no"], ("no", "yes"), {}),
        ([True, False, True, False], ("False", "True"), {}),
        ([3, 1, 3, 1], ("1", "3"), {"classes": True}),
        ([2.5, 1, 2.5, 1], ("1", "2.5"), {"classes": True}),
        ([3, 1, 3, 1], (), {}),
        ([True, False, True, False], (), {"classes": False}),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_text_and_truth_values_are_classes_and_numbers_where_it_is_said(tmp_path, target, classes, options, suffix):
    frame, path = pd.DataFrame({"a": [1.5, 2, 3, 4], "y": target}), tmp_path / f"t.{suffix}"
    if suffix == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    found = load("table", path=str(path), target="y", **options)
    named = [classes[number] for number in found.points.y] if classes else found.points.y.tolist()
    assert (found.classes, named) == (classes, [*map(str if classes else float, target)])


def test_categories_that_do_not_occur_are_left_out(tmp_path):
    sizes = pd.Categorical(["small", "large", "small", "large"], categories=["small", "middling", "large"])
    pd.DataFrame({"a": [1.0, 2, 3, 4], "y": sizes}).to_parquet(tmp_path / "t.parquet")
    found = load("table", path=str(tmp_path / "t.parquet"), target="y")
    assert (found.classes, found.points.y.tolist()) == (("large", "small"), [1, 0, 1, 0])


def test_a_table_to_test_on_has_the_classes_of_the_first(table):
    path, other = table("a,y\n1,u\n2,v\n3,u\n4,v\n"), table("y,a\nv,5\nv,6\n", "test.csv")
    found = load("table", path=path, target="y", test_path=other)
    assert (found.test.x.tolist(), found.test.y.tolist()) == ([[5], [6]], [1, 1])
    new = table("y,a\nv,5\nw,6\n", "new.csv")
    refuses("column 'y': the class 'w' of the test part", kind="table", path=path, target="y", test_path=new)
    mixed = table("y,a\n1,5\n2,6\n", "mixed.csv")
    refuses("classes in one of the two", kind="table", path=path, target="y", test_path=mixed)
    refuses("test_path must be another file", kind="table", path=path, target="y", test_path=path)


def test_a_table_that_is_not_there_or_of_another_kind():
    refuses("/none/house.csv cannot be read: No such file", kind="table", path="/none/house.csv", target="y")
    refuses("house.xls: a table must end in .csv", kind="table", path="house.xls", target="y")


# --- arrays


def npz(tmp_path, **arrays):
    np.savez(tmp_path / "a.npz", **arrays)
    return str(tmp_path / "a.npz")


def test_arrays_are_read_with_their_test_part_shape_and_classes(tmp_path):
    x, y = RNG.integers(0, 256, (20, 3, 4, 4)).astype(np.uint8), np.array(["b", "a"] * 10)
    path = npz(tmp_path, x=x, y=y, x_test=x[:6], y_test=y[:6])
    found = load("npz", path=path, divisor=255.0)
    assert (found.shape, found.classes, len(found.test), found.divisor) == ((3, 4, 4), ("a", "b"), 6, 255.0)
    np.testing.assert_array_equal(found.points.x.reshape(x.shape), x)
    assert (found.points.x.dtype, found.points.y[:2].tolist()) == (np.uint8, [1, 0])
    assert load("npz", path=npz(tmp_path, x=x[:, 0], y=y)).shape == (1, 4, 4)


def test_numbers_are_classes_where_it_is_said(tmp_path):
    x, y = RNG.standard_normal((20, 2)), np.arange(20) % 2
    assert load("npz", path=npz(tmp_path, x=x, y=y)).classes == ()
    assert load("npz", path=npz(tmp_path, x=x, y=y + 3), classes=True).classes == ("3", "4")
    refuses("Got 'classes'", kind="npz", path=npz(tmp_path, x=x, y=y, classes=np.array(["no", "yes"])))


class Trap:
    """Leaves a mark when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_pickles_in_arrays_are_not_read(tmp_path):
    trap = np.array([Trap(tmp_path / "sprung")] * 3, dtype=object)
    refuses(
        "a.npz: arrays must hold numbers", "no pickle is read", kind="npz", path=npz(tmp_path, x=trap, y=np.ones(3))
    )
    (tmp_path / "b.npz").write_bytes(pickle.dumps(trap))
    refuses("b.npz", "no pickle is read", kind="npz", path=str(tmp_path / "b.npz"))
    assert not (tmp_path / "sprung").exists()


def test_arrays_that_are_wrong_name_file_and_array(tmp_path):
    x, y = RNG.standard_normal((20, 2)), RNG.standard_normal(20)
    refuses("there is no array 'y'", "Known: Y, x", kind="npz", path=npz(tmp_path, x=x, Y=y))
    refuses("x_test and y_test go together", kind="npz", path=npz(tmp_path, x=x, y=y, x_test=x))
    refuses("y shape (N,), N >= 2. Got (20, 2) and (20, 1)", kind="npz", path=npz(tmp_path, x=x, y=y[:, None]))
    refuses("Got dtype <U1", kind="npz", path=npz(tmp_path, x=np.full((20, 2), "a"), y=y))
    path = npz(tmp_path, x=x, y=np.where(y > 0, "a", "b"), x_test=x[:2], y_test=np.array(["a", "c"]))
    refuses("y_test: the class 'c' of the test part", kind="npz", path=path)
    content = Path(npz(tmp_path, x=x, y=y)).read_bytes()
    (tmp_path / "a.npz").write_bytes(content[:-40])
    refuses("a.npz cannot be read", kind="npz", path=str(tmp_path / "a.npz"))
    (tmp_path / "a.npz").write_bytes(content[:60] + bytes(20) + content[80:])
    refuses("a.npz cannot be read", kind="npz", path=str(tmp_path / "a.npz"))
    np.save(tmp_path / "a.npy", x)
    refuses("must be a .npz file", kind="npz", path=str(tmp_path / "a.npy"))
    refuses("none.npz cannot be read: No such file", kind="npz", path=str(tmp_path / "none.npz"))


# --- all of them


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "XDG_CACHE_HOME" / "bfc-bench"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "bfc-bench"
