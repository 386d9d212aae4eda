"""Kinds of data sets: what they read, and what they say of files that are not as they should be."""

import gzip
import io
import pickle
import struct
import subprocess
import sys
import tarfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bfc_bench.errors import OutputError, UsageError
from bfc_bench.plugins import load_plugins
from bfc_bench.tasks.build import build_data
from bfc_bench.tasks.data import DATA_SETS, cifar, public
from bfc_bench.tasks.data.images import pooled
from bfc_bench.tasks.load_data import read
from bfc_bench.toolkit import precision
from bfc_bench.utils.files import cache_folder

RNG = np.random.default_rng(0)


def load(kind, **options):
    return read(build_data({"kind": kind, **options}, load_plugins().data, "s"), "t")


def refuses(*expected, kind, **options):
    """One line that says all that is expected."""
    with pytest.raises(UsageError) as caught:
        load(kind, **options)
    message = str(caught.value)
    assert "\n" not in message
    for part in expected:
        assert part in message, message


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No public data set is there but those that a test puts into the folder."""
    for name in ("XDG_DATA_DIRS", "XDG_CACHE_HOME", "BFC_BENCH_DATA"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    return tmp_path / "BFC_BENCH_DATA"


@pytest.mark.parametrize(
    ("kind", "shape", "classes"),
    [("diabetes", (442, 10), 0), ("wine", (178, 13), 3), ("breast-cancer", (569, 30), 2), ("digits", (1797, 64), 10)],
)
def test_what_scikit_learn_ships(kind, shape, classes):
    found = load(kind)
    assert (found.points.x.shape, len(found.classes)) == (shape, classes)
    assert kind == "digits" or len(found.columns) == shape[1]


# --- scikit-learn's functions


def test_a_function_of_scikit_learn_gives_the_same_points_at_every_call_and_others_for_another_seed():
    first, again = (load("sklearn:make_moons", noise=0.1, n_samples=50) for _ in range(2))
    other = load("sklearn:make_moons", noise=0.1, n_samples=50, random_state=1)
    np.testing.assert_array_equal(first.points.x, again.points.x)
    assert not np.array_equal(first.points.x, other.points.x)
    assert (first.classes, first.points.x.shape) == (("0", "1"), (50, 2))


@pytest.mark.parametrize(
    ("kind", "classes"),
    [
        ("sklearn:load_iris", ("setosa", "versicolor", "virginica")),
        ("sklearn:make_hastie_10_2", ("-1", "1")),
        ("sklearn:make_friedman1", ()),
        ("sklearn:make_swiss_roll", ()),
        ("sklearn:load_diabetes", ()),
        ("sklearn:make_regression", ()),
        ("sklearn:make_classification", ("0", "1")),
    ],
)
def test_whole_numbers_are_classes_and_others_are_values(kind, classes):
    assert load(kind).classes == classes


def test_every_function_that_is_offered_can_be_read_with_its_defaults():
    from bfc_bench.tasks.data.sklearn_functions import _known

    assert len(_known()) > 15
    for name in _known():
        assert len(load(f"sklearn:{name}").points) >= 100


def test_a_tuple_that_has_travelled_as_json_is_one_again():
    made = build_data({"kind": "sklearn:make_blobs"}, load_plugins().data, "s")
    again = build_data({"kind": "sklearn:make_blobs", **made.plain()}, load_plugins().data, "s")
    np.testing.assert_array_equal(made.load().points.x, again.load().points.x)


SKLEARN = {
    "make_moon": ["no such set", "Did you mean 'make_moons'?"],
    "fetch_covtype": ["downloads, which a run never does", "np.savez"],
    "load_files": ["no such set of labelled points"],
    "make_spd_matrix": ["no such set of labelled points"],
}


@pytest.mark.parametrize("function", SKLEARN)
def test_functions_that_give_no_labelled_points_are_refused(function):
    refuses(*SKLEARN[function], kind=f"sklearn:{function}")


def test_options_of_a_function_are_checked():
    refuses("unknown option 'noize'", "Did you mean 'noise'?", kind="sklearn:make_moons", noize=1)
    refuses("sklearn.datasets.make_moons", "'noise'", "Got 'loud'", kind="sklearn:make_moons", noise="loud")
    refuses("random_state", kind="sklearn:make_moons", random_state=None)
    refuses("(N,)", "(100, 2)", kind="sklearn:make_regression", n_targets=2)
    refuses("name a function of sklearn.datasets", kind="sklearn")
    refuses("data set 'wine' has no variants", kind="wine:red")


# --- tables


@pytest.fixture
def table(tmp_path):
    def write(text, name="house.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


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
    assert found.classes == classes
    named = [classes[number] for number in found.points.y] if classes else found.points.y.tolist()
    assert named == ([str(item) for item in target] if classes else [float(item) for item in target])


def test_categories_keep_their_order_and_those_that_do_not_occur_are_left_out(tmp_path):
    sizes = pd.Categorical(["small", "large", "small", "large"], categories=["small", "middling", "large"])
    pd.DataFrame({"a": [1.0, 2, 3, 4], "y": sizes}).to_parquet(tmp_path / "t.parquet")
    found = load("table", path=str(tmp_path / "t.parquet"), target="y")
    assert (found.classes, found.points.y.tolist()) == (("small", "large"), [0, 1, 0, 1])


def test_csv_and_parquet_of_one_table_are_the_same_contents(tmp_path):
    from bfc_bench.tasks.load_data import digest_of

    frame = pd.DataFrame({"a": RNG.standard_normal(50), "b": RNG.integers(0, 9, 50), "y": RNG.standard_normal(50)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    assert (
        len({digest_of(load("table", path=str(tmp_path / f"t.{kind}"), target="y")) for kind in ("csv", "parquet")})
        == 1
    )


def test_a_table_to_test_on_has_the_classes_of_the_first(table):
    path, other = table("a,y\n1,u\n2,v\n3,u\n4,v\n"), table("y,a\nv,5\nv,6\n", "test.csv")
    found = load("table", path=path, target="y", test_path=other)
    assert (found.test.x.tolist(), found.test.y.tolist()) == ([[5], [6]], [1, 1])
    new = table("y,a\nv,5\nw,6\n", "new.csv")
    refuses("column 'y': the class 'w' of the test part", kind="table", path=path, target="y", test_path=new)
    mixed = table("y,a\n1,5\n2,6\n", "mixed.csv")
    refuses("classes in one of the two files", kind="table", path=path, target="y", test_path=mixed)


TABLES = {
    "text": ("a,y\n1,2\nsmall,3\n", {}, ["line 3, column 'a' must be a number. Got 'small'"]),
    "text-after-quotes": ('a,b,y\n"1",2,2\n\n4,"5\nz",1\n', {}, ["line 5, column 'b' must be a number"]),
    "slip": ("a,y\n1,2\n2,3\n3,oops\n", {}, ["line 4, column 'y' must be a number", "Got 'oops'", "classes = true"]),
    "no-classes": ("a,y\n1,u\n2,v\n", {"classes": False}, ["line 2, column 'y' must be a number. Got 'u'"]),
    "gap": ("a,b,y\n1,2,3\n4,,6\n", {}, ["line 3, column 'b' is empty"]),
    "gaps": ("a,b,y\n1,,3\n4,,6\n", {}, ["line 2, column 'b' is empty", "as are 1 more of 2"]),
    "gap-y": ("a,y\n1,2\n4,\n", {}, ["line 3, column 'y' is empty"]),
    "short-line": ("a,b,y\n1,2,3\n4,5\n", {}, ["line 3 has 2 values, the header 3", "set separator"]),
    "long-line": ("a,y\n1,2\n4,5,6\n", {}, ["line 3 has 3 values, the header 2"]),
    "infinite": ("a,y\n1,2\ninf,3\n", {}, ["line 3, column 'a' must be finite. Got inf"]),
    "date": (
        "a,y\n01/02/2020,2\n02/02/2020,3\n",
        {},
        ["line 2, column 'a' must be", "Got '01/02/2020'", "dates"],
    ),
    "target": ("a,prize\n1,2\n3,4\n", {"target": "price"}, ["there is no column 'price'", "Did you mean 'prize'?"]),
    "column": ("area,y\n1,2\n3,4\n", {"columns": ["aera"]}, ["there is no column 'aera'", "Did you mean 'area'?"]),
    "both": ("a,y\n1,2\n3,4\n", {"columns": ["a", "y"]}, ["columns must not have the target, 'y'"]),
    "lonely": ("y\n1\n2\n", {}, ["Got (2, 0)"]),
    "empty": ("", {}, ["is no table"]),
    "header": ("a,y\n", {}, ["Got (0, 1)"]),
    "bytes": (b"a,y\n\xff,2\n", {}, ["must be text in UTF-8; its byte 4 is not"]),
    "constant": ("a,y\n1,2\n3,2\n", {}, ["all values to be learned are 2"]),
    "lone-class": ("a,y\n1,u\n2,u\n3,v\n", {}, ["each class needs 2 points or more; 'v' has 1"]),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_is_wrong_names_file_line_and_column(table, name):
    text, options, expected = TABLES[name]
    path = table(text)
    refuses(path, *expected, kind="table", **{"path": path, "target": "y", **options})


def test_a_parquet_file_that_is_wrong_names_file_row_and_column(tmp_path, table):
    path = str(tmp_path / "t.parquet")
    pd.DataFrame({"a": ["1", "x"], "y": [1.0, 2.0]}).to_parquet(path)
    refuses(path, "row 1, column 'a' must be a number. Got 'x'", kind="table", path=path, target="y")
    refuses("is no table", kind="table", path=table("nothing of the kind", "u.parquet"), target="y")


def test_a_table_that_is_not_there_or_of_another_kind():
    refuses("/none/house.csv: there is no such file", kind="table", path="/none/house.csv", target="y")
    refuses("house.xls: a table must end in .csv", kind="table", path="house.xls", target="y")


# --- arrays


def npz(tmp_path, **arrays):
    np.savez(tmp_path / "a.npz", **arrays)
    return str(tmp_path / "a.npz")


def test_arrays_are_read_with_their_test_part_shape_columns_and_classes(tmp_path):
    x, y = RNG.integers(0, 256, (20, 3, 4, 4)).astype(np.uint8), np.array(["b", "a"] * 10)
    path = npz(tmp_path, x=x, y=y, x_test=x[:6], y_test=y[:6], columns=np.arange(48).astype(str))
    found = load("npz", path=path, divisor=255.0)
    assert (found.shape, found.classes, len(found.test), found.divisor) == ((3, 4, 4), ("a", "b"), 6, 255.0)
    np.testing.assert_array_equal(found.points.x.reshape(x.shape), x)
    assert (found.points.x.dtype, found.points.y[:2].tolist()) == (np.uint8, [1, 0])
    assert load("npz", path=npz(tmp_path, x=x[:, 0], y=y)).shape == (1, 4, 4)


def test_numbers_are_classes_where_it_is_said_or_where_the_file_names_them(tmp_path):
    x, y = RNG.standard_normal((20, 2)), np.arange(20) % 2
    assert load("npz", path=npz(tmp_path, x=x, y=y)).classes == ()
    assert load("npz", path=npz(tmp_path, x=x, y=y + 3), classes=True).classes == ("3", "4")
    named = npz(tmp_path, x=x, y=y, classes=np.array(["no", "yes"]))
    assert load("npz", path=named).classes == ("no", "yes")


class Trap:
    """Leaves a mark when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_pickles_in_arrays_are_not_read(tmp_path):
    trap = np.array([Trap(tmp_path / "sprung")] * 3, dtype=object)
    refuses("a.npz: array 'x' holds objects", "no pickle is read", kind="npz", path=npz(tmp_path, x=trap, y=np.ones(3)))
    (tmp_path / "b.npz").write_bytes(pickle.dumps(trap))
    refuses("b.npz", "no pickle is read", kind="npz", path=str(tmp_path / "b.npz"))
    assert not (tmp_path / "sprung").exists()


def test_arrays_that_are_wrong_name_file_and_array(tmp_path):
    x, y = RNG.standard_normal((20, 2)), RNG.standard_normal(20)
    refuses("there is no array 'y'", "Known: Y, x", kind="npz", path=npz(tmp_path, x=x, Y=y))
    refuses("x_test and y_test go together", kind="npz", path=npz(tmp_path, x=x, y=y, x_test=x))
    refuses("y must have shape (N,). Got (20, 1)", kind="npz", path=npz(tmp_path, x=x, y=y[:, None]))
    refuses("Got dtype <U1", kind="npz", path=npz(tmp_path, x=np.full((20, 2), "a"), y=y))
    path = npz(tmp_path, x=x, y=np.where(y > 0, "a", "b"), x_test=x[:2], y_test=np.array(["a", "c"]))
    refuses("y_test: the class 'c' of the test part", kind="npz", path=path)
    content = Path(npz(tmp_path, x=x, y=y)).read_bytes()
    (tmp_path / "a.npz").write_bytes(content[:-40])
    refuses("a.npz is truncated or damaged", kind="npz", path=str(tmp_path / "a.npz"))
    (tmp_path / "a.npz").write_bytes(content[:60] + bytes(20) + content[80:])
    refuses("a.npz is truncated or damaged", kind="npz", path=str(tmp_path / "a.npz"))
    np.save(tmp_path / "a.npy", x)
    refuses("must be a .npz file", kind="npz", path=str(tmp_path / "a.npy"))
    refuses("none.npz cannot be read: No such file", kind="npz", path=str(tmp_path / "none.npz"))


# --- IDX, MNIST


def idx(array, code=0x08):
    return bytes([0, 0, code, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


IMAGES = RNG.integers(0, 256, (40, 6, 4)).astype(np.uint8)
LABELS = (np.arange(40) % 10).astype(np.uint8)


def mnist(folder, packed=gzip.compress):
    suffix = ".gz" if packed is gzip.compress else ""
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "t10k"):
        (folder / f"{part}-images-idx3-ubyte{suffix}").write_bytes(packed(idx(IMAGES)))
        (folder / f"{part}-labels-idx1-ubyte{suffix}").write_bytes(packed(idx(LABELS)))


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_idx_files_are_read_packed_or_not(tmp_path, packed):
    mnist(tmp_path / "m", packed)
    names = sorted(path.name for path in (tmp_path / "m").iterdir())
    path = {
        option: str(tmp_path / "m" / name)
        for option, name in zip(("test_path", "test_labels_path", "path", "labels_path"), names, strict=True)
    }
    found = load("idx", **path)
    np.testing.assert_array_equal(found.points.x.reshape(IMAGES.shape), IMAGES)
    assert (found.points.y.tolist(), found.shape, found.divisor) == (LABELS.tolist(), (1, 6, 4), 255.0)
    assert len(found.test) == 40


IDX = {
    "truncated": (idx(IMAGES)[:-1], ["is truncated", "40 x 6 x 4 values take 976 bytes. Got 975"]),
    "cut-in-the-head": (idx(IMAGES)[:9], ["is truncated"]),
    "long": (idx(IMAGES) + b"\0", ["is too long"]),
    "magic": (b"\0\1" + idx(IMAGES)[2:], ["must begin with 0, 0 and a type's number. Got 00 01 08 03"]),
    "type": (idx(IMAGES, 0x55), ["must begin with 0, 0 and a type's number"]),
    "empty": (b"", ["must begin with 0, 0"]),
    "gzip": (gzip.compress(idx(IMAGES))[:-30], ["is truncated or damaged"]),
    "bits": (gzip.compress(idx(IMAGES))[:200] + bytes(50) + gzip.compress(idx(IMAGES))[250:], ["truncated or damaged"]),
    "floats": (idx(IMAGES.astype(">f4"), 0x0D), ["must hold images of bytes. Got float32"]),
    "labels": (idx(LABELS), ["must hold images of bytes"]),
    "fewer": (idx(IMAGES[:7]), ["must hold a whole number for each of 7 images"]),
    "huge": (bytes([0, 0, 8, 3]) + b"\xff" * 12, ["is truncated", "4294967295 x 4294967295 x 4294967295"]),
}


@pytest.mark.parametrize("name", IDX)
def test_an_idx_file_that_is_wrong_is_one_line(tmp_path, name):
    content, expected = IDX[name]
    (tmp_path / "images").write_bytes(content)
    (tmp_path / "labels").write_bytes(idx(LABELS))
    refuses(*expected, kind="idx", path=str(tmp_path / "images"), labels_path=str(tmp_path / "labels"))


def test_an_idx_file_that_is_not_there(tmp_path):
    refuses("none cannot be read: No such file", kind="idx", path=str(tmp_path / "none"), labels_path="none")


@pytest.mark.parametrize(
    "place",
    [
        "BFC_BENCH_DATA/fashion-mnist",
        "BFC_BENCH_DATA",
        "XDG_DATA_DIRS/datasets/fashion-mnist",
        "XDG_CACHE_HOME/bfc-bench/data/fashion-mnist",
    ],
)
def test_fashion_mnist_is_found_where_it_may_lie(tmp_path, place):
    assert build_data({"kind": "fashion-mnist"}, load_plugins().data, "s").missing_files()
    mnist(tmp_path / place)
    assert build_data({"kind": "fashion-mnist"}, load_plugins().data, "s").missing_files() is None
    found = load("fashion-mnist", pool=2)
    assert (found.classes[9], found.shape) == ("Ankle boot", (1, 3, 2))
    assert (len(found.points), len(found.test)) == (40, 40)


@pytest.mark.parametrize("kind", ["mnist", "fashion-mnist", "cifar-10", "cifar-100", "cifar-2"])
def test_what_is_nowhere_says_what_to_type(kind, tmp_path):
    home = "cifar-10" if kind == "cifar-2" else kind
    refuses(f"`bfc-bench data get {home}`", "--data DIR", str(tmp_path / "BFC_BENCH_DATA"), kind=kind)


def test_debians_package_is_named():
    refuses("apt-get install dataset-fashion-mnist", kind="fashion-mnist")


def test_labels_of_mnist_are_ten(nowhere):
    mnist(nowhere)
    (nowhere / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(LABELS % 9)))
    (nowhere / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(LABELS % 9)))
    refuses("mnist: labels must be 0 ... 9. Got 0, 1, 2", kind="mnist")


# --- pooling


@pytest.mark.parametrize(("pool", "dtype"), [(1, np.uint8), (2, np.uint16), (16, np.uint16), (32, np.uint32)])
def test_pooling_is_the_mean_exactly(pool, dtype):
    images = RNG.integers(0, 256, (5, 3, 32, 32)).astype(np.uint8)
    images[0] = 255
    made = pooled(images.reshape(5, -1), (3, 32, 32), pool)
    assert made.dtype == dtype
    side = 32 // pool
    for image, row in zip(images.tolist(), made.reshape(5, 3, side, side).tolist(), strict=True):
        for channel in range(3):
            for i in range(side):
                for j in range(side):
                    block = [image[channel][pool * i + a][pool * j + b] for a in range(pool) for b in range(pool)]
                    assert sum(block) == row[channel][i][j]


def test_points_of_pooled_images_are_in_0_to_1(nowhere):
    mnist(nowhere)
    found = load("mnist", pool=2)
    np.testing.assert_allclose(
        found.points.x.reshape(40, 3, 2) / found.divisor, IMAGES.reshape(40, 3, 2, 2, 2).mean(axis=(2, 4)) / 255
    )


def test_a_pool_that_does_not_divide_is_refused(nowhere):
    mnist(nowhere)
    refuses("pool must divide height and width, 6 x 4. Got 3", kind="mnist", pool=3)
    refuses("pool must be greater than or equal to 1", kind="mnist", pool=0)


# --- CIFAR

COLOURS = RNG.integers(0, 256, (20, 3072)).astype(np.uint8)
CLASSES = np.arange(20) % 10


def tar(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            item = tarfile.TarInfo(f"{path.name}/{name}")
            item.size = len(content)
            archive.addfile(item, io.BytesIO(content))


def python_2(value):
    """As Python 2 pickled it: protocol 2, text as bytes."""
    return pickle.dumps(value, protocol=2).replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n")


def cifar_10(write=python_2, labels=CLASSES, x=COLOURS):
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    return {
        name: write({b"data": x, b"labels": list(map(int, labels)), b"batch_label": b"of " + name.encode()})
        for name in names
    }


def binary_10():
    content = np.column_stack([CLASSES.astype(np.uint8), COLOURS]).tobytes()
    return dict.fromkeys([*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"], content)


@pytest.mark.parametrize("version", ["python", "binary", "folder"])
def test_cifar_10_is_the_same_from_either_archive_and_from_a_folder(nowhere, version):
    if version == "folder":
        (nowhere / "cifar-10-batches-py").mkdir()
        for name, content in cifar_10().items():
            (nowhere / "cifar-10-batches-py" / name).write_bytes(content)
    else:
        tar(nowhere / f"cifar-10-{version}.tar.gz", cifar_10() if version == "python" else binary_10())
    found = load("cifar-10")
    np.testing.assert_array_equal(found.points.x, np.tile(COLOURS, (5, 1)))
    np.testing.assert_array_equal(found.points.y, np.tile(CLASSES, 5))
    assert (len(found.test), found.shape, found.classes[3]) == (20, (3, 32, 32), "cat")


def test_cifar_2_has_the_five_animals_in_one_class(nowhere):
    tar(nowhere / "cifar-10-binary.tar.gz", binary_10())
    found = load("cifar-2", pool=4)
    assert found.classes == ("others", "bird-cat-deer-dog-horse")
    assert found.points.y[:10].tolist() == [0, 0, 1, 1, 1, 1, 0, 1, 0, 0]
    assert found.shape == (3, 8, 8)


@pytest.mark.parametrize("version", ["python", "binary"])
def test_cifar_100_has_the_fine_classes(nowhere, version):
    names, fine = [f"thing_{number}" for number in range(100)], np.arange(200) % 100
    x = np.tile(COLOURS, (10, 1))
    if version == "python":
        part = python_2({b"data": x, b"fine_labels": fine.tolist(), b"coarse_labels": [0] * 200})
        files = {"train": part, "test": part, "meta": python_2({b"fine_label_names": [n.encode() for n in names]})}
    else:
        part = np.column_stack([np.zeros(200, np.uint8), fine.astype(np.uint8), x]).tobytes()
        files = {"train.bin": part, "test.bin": part, "fine_label_names.txt": "\n".join(names).encode()}
    tar(nowhere / f"cifar-100-{version}.tar.gz", files)
    found = load("cifar-100")
    np.testing.assert_array_equal(found.points.y, fine)
    assert found.classes == tuple(names)
    del files["meta" if version == "python" else "fine_label_names.txt"]
    tar(nowhere / f"cifar-100-{version}.tar.gz", files)
    refuses("must name 100 classes", kind="cifar-100")


class Custom(dict):
    """A class that is no plain data."""


FORBIDDEN = {
    "a function": Trap,
    "a class": lambda path: Custom(a=1),
    "an ordered dict": lambda path: OrderedDict(a=1),
    "an array of objects": lambda path: {b"data": np.array([None, Trap(path)], dtype=object), b"labels": []},
    "eval": lambda path: b"cbuiltins\neval\n(S'1'\ntR.",
    "os.system": lambda path: b"cposix\nsystem\n(S'true'\ntR.",
    "a codec": lambda path: b"c_codecs\nencode\n(Va\nVrot13\ntR.",
    "a dtype of objects": lambda path: b"cnumpy\ndtype\n(VO8\nI0\nI1\ntR.",
    "an array's function": lambda path: b"cnumpy\nfromfile\n(Vx\ntR.",
}


@pytest.mark.parametrize("name", FORBIDDEN)
@pytest.mark.parametrize("protocol", [2, 5])
def test_a_pickle_that_asks_for_more_than_plain_data_is_refused(nowhere, tmp_path, name, protocol):
    made = FORBIDDEN[name](tmp_path / "sprung")
    content = made if isinstance(made, bytes) else pickle.dumps(made, protocol)
    tar(nowhere / "cifar-10-python.tar.gz", {**cifar_10(), "data_batch_3": content})
    refuses("cifar-10-python.tar.gz: data_batch_3 is refused", kind="cifar-10")
    assert not (tmp_path / "sprung").exists()


def test_a_pickle_may_set_nothing_of_what_reads_it(nowhere):
    """The opcode BUILD gives attributes to what is on the stack, here to the class that stands for arrays."""
    content = b"cnumpy\nndarray\n}(Varray\nI1\nub."
    tar(nowhere / "cifar-10-python.tar.gz", {**cifar_10(), "data_batch_1": content})
    refuses("cifar-10-python.tar.gz: data_batch_1", kind="cifar-10")
    tar(nowhere / "cifar-10-python.tar.gz", cifar_10())
    assert len(load("cifar-10").points) == 100


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_every_protocol_and_order_are_read(nowhere, protocol, order):
    x = np.asarray(COLOURS, order=order)
    tar(nowhere / "cifar-10-python.tar.gz", cifar_10(lambda value: pickle.dumps(value, protocol), x=x))
    np.testing.assert_array_equal(load("cifar-10").points.x[:20], COLOURS)


CIFAR = {
    "missing": ({"data_batch_2": None}, ["there is no file 'data_batch_2'"]),
    "truncated": ({"data_batch_2": cifar_10()["test_batch"][:-100]}, ["data_batch_2 is truncated or damaged"]),
    "garbage": ({"data_batch_2": b"no pickle"}, ["data_batch_2 is truncated or damaged"]),
    "list": ({"data_batch_2": python_2([1, 2])}, ["data_batch_2 must hold a dict with 'data' and 'labels'"]),
    "short": ({"test_batch": python_2({b"data": COLOURS, b"labels": [1, 2]})}, ["must hold 20 labels in 0 ... 9"]),
    "eleven": ({"test_batch": python_2({b"data": COLOURS, b"labels": [10] * 20})}, ["must hold 20 labels in 0 ... 9"]),
    "wide": ({"test_batch": python_2({b"data": COLOURS[:, :9], b"labels": [1] * 20})}, ["shape (N, 3072)"]),
    "float": ({"test_batch": python_2({b"data": COLOURS / 2, b"labels": [1] * 20})}, ["array of bytes"]),
}


@pytest.mark.parametrize("name", CIFAR)
def test_a_damaged_archive_is_one_line(nowhere, name):
    change, expected = CIFAR[name]
    files = {key: value for key, value in {**cifar_10(), **change}.items() if value is not None}
    tar(nowhere / "cifar-10-python.tar.gz", files)
    refuses("cifar-10-python.tar.gz", *expected, kind="cifar-10")


def test_a_damaged_binary_archive_is_one_line(nowhere):
    place = nowhere / "cifar-10-binary.tar.gz"
    tar(place, {**binary_10(), "test_batch.bin": b"1234"})
    refuses("test_batch.bin is truncated: 4 bytes are no multiple of 3073", kind="cifar-10")
    tar(place, binary_10())
    place.write_bytes(place.read_bytes()[:5000])
    refuses("cifar-10-binary.tar.gz", "truncated or damaged", kind="cifar-10")
    place.write_bytes(b"none")
    refuses("cifar-10-binary.tar.gz", "truncated or damaged", kind="cifar-10")


def test_addresses_have_the_checksums_of_the_originals():
    assert cifar.Cifar10.checksum == "c32a1d4ab5d03f1284b67883e8d87530"
    assert all(len(md5) == 32 for md5 in load_plugins().data.get("mnist").checksums.values())


# --- all of them


@pytest.mark.parametrize("kind", DATA_SETS, ids=lambda kind: kind.kind)
def test_every_kind_says_what_it_is_and_has_the_shared_options(kind):
    assert kind.__doc__
    assert {"standardize", "stratify"} <= set(kind.model_fields)


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "XDG_CACHE_HOME" / "bfc-bench"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "bfc-bench"


def test_a_user_without_a_home_needs_none(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(OutputError, match="set XDG_CACHE_HOME"):
        cache_folder()
    assert precision._compile_cache() is None
    assert all("bfc-bench" not in str(folder) for folder in public.folders("mnist"))
    code = """
import runpy, sys
from pathlib import Path
def homeless():
    raise RuntimeError
Path.home = homeless
sys.argv = ["bfc-bench", "show", "sklearn:linear_model.Ridge"]
runpy.run_module("bfc_bench", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "fit_intercept" in done.stdout
