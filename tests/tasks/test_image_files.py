"""Public sets of images: their files, and what is said of those that are missing or damaged."""

import gzip
import io
import tarfile

import numpy as np
import pytest
from data_files import idx, load, mnist_files, refuses, write

from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.build_task import build_part
from bfc_bench.tasks.base import LabelledPoints
from bfc_bench.tasks.data.images import pooled

RNG = np.random.default_rng(0)
pytestmark = pytest.mark.usefixtures("nowhere")


# --- IDX, MNIST


IMAGES = RNG.integers(0, 256, (40, 6, 4)).astype(np.uint8)
LABELS = (np.arange(40) % 10).astype(np.uint8)


def mnist(folder, packed=gzip.compress):
    write(folder, mnist_files(IMAGES, LABELS, packed))


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_idx_files_are_read_packed_or_not(nowhere, packed):
    mnist(nowhere, packed)
    found = load("mnist")
    np.testing.assert_array_equal(found.points.x.reshape(IMAGES.shape), IMAGES)
    assert (found.points.y.tolist(), found.shape, found.divisor) == (LABELS.tolist(), (1, 6, 4), 255.0)
    assert len(found.test) == 40


IDX = {
    "truncated": (idx(IMAGES)[:-1], ["is truncated or damaged: cannot reshape array of size 959"]),
    "magic": (b"\0\1" + idx(IMAGES)[2:], ["must begin with 00 00 08. Got 00 01 08 03"]),
    "gzip": (gzip.compress(idx(IMAGES))[:-30], ["cannot be read"]),
    "floats": (idx(IMAGES.astype(">f4"), 0x0D), ["must begin with 00 00 08. Got 00 00 0d 03"]),
    "fewer": (idx(IMAGES[:7]), ["x must have shape (N, d) and y shape (N,)", "Got (7, 24) and (40,)"]),
    "huge": (bytes([0, 0, 8, 3]) + b"\xff" * 12, ["is truncated or damaged"]),
    "short": (bytes([0, 0, 8]), ["is truncated or damaged"]),
}


@pytest.mark.parametrize("name", IDX)
def test_an_idx_file_that_is_wrong_is_one_line(nowhere, name):
    content, expected = IDX[name]
    mnist(nowhere, bytes)
    (nowhere / "train-images-idx3-ubyte").write_bytes(content)
    refuses(*expected, kind="mnist")


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
    assert build_part({"kind": "fashion-mnist"}, load_plugins().data, "s").missing_files()
    mnist(tmp_path / place)
    assert build_part({"kind": "fashion-mnist"}, load_plugins().data, "s").missing_files() is None
    found = load("fashion-mnist", pool=2)
    assert (found.classes[9], found.shape) == ("Ankle boot", (1, 3, 2))
    assert (len(found.points), len(found.test)) == (40, 40)


@pytest.mark.parametrize("kind", ["mnist", "fashion-mnist", "cifar-10", "cifar-100"])
def test_what_is_nowhere_says_what_to_type(kind, tmp_path):
    refuses(f"`bfc-bench data get {kind}`", "--data DIR", str(tmp_path / "BFC_BENCH_DATA"), kind=kind)


def test_labels_of_mnist_are_ten(nowhere):
    mnist(nowhere)
    (nowhere / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(LABELS % 9)))
    refuses("each class needs 2 points or more; '9' has 0", kind="mnist")


# --- pooling


@pytest.mark.parametrize(("pool", "dtype"), [(1, np.uint8), (2, np.uint16), (16, np.uint16), (32, np.uint32)])
def test_pooling_is_the_mean_exactly(pool, dtype):
    images = RNG.integers(0, 256, (5, 3, 32, 32)).astype(np.uint8)
    images[0] = 255
    made = pooled(LabelledPoints(images.reshape(5, -1), np.arange(5)), (3, 32, 32), pool).x
    assert made.dtype == dtype
    side = 32 // pool
    expected = images.astype(int).reshape(5, 3, side, pool, side, pool).sum(axis=(3, 5))
    np.testing.assert_array_equal(made.reshape(expected.shape), expected)


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


def binary_10():
    content = np.column_stack([CLASSES.astype(np.uint8), COLOURS]).tobytes()
    return dict.fromkeys([*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"], content)


@pytest.mark.parametrize("version", ["archive", "folder"])
def test_cifar_10_is_the_same_from_the_archive_and_from_a_folder(nowhere, version):
    if version == "folder":
        write(nowhere / "cifar-10-batches-bin", binary_10())
    else:
        tar(nowhere / "cifar-10-binary.tar.gz", binary_10())
    found = load("cifar-10")
    np.testing.assert_array_equal(found.points.x, np.tile(COLOURS, (5, 1)))
    np.testing.assert_array_equal(found.points.y, np.tile(CLASSES, 5))
    assert (len(found.test), found.shape, found.classes[3]) == (20, (3, 32, 32), "cat")


def test_cifar_100_has_the_fine_classes(nowhere):
    names, fine = [f"thing_{number}" for number in range(100)], np.arange(200) % 100
    part = np.column_stack([np.zeros(200, np.uint8), fine.astype(np.uint8), np.tile(COLOURS, (10, 1))]).tobytes()
    files = {"train.bin": part, "test.bin": part, "fine_label_names.txt": "\n".join(names).encode()}
    tar(nowhere / "cifar-100-binary.tar.gz", files)
    found = load("cifar-100")
    np.testing.assert_array_equal(found.points.y, fine)
    assert found.classes == tuple(names)
    del files["fine_label_names.txt"]
    tar(nowhere / "cifar-100-binary.tar.gz", files)
    refuses("must name 100 classes", kind="cifar-100")


def test_a_damaged_archive_is_one_line(nowhere):
    place = nowhere / "cifar-10-binary.tar.gz"
    tar(place, {**binary_10(), "test_batch.bin": b"1234"})
    refuses("test_batch.bin is missing or truncated", "records of 3073 bytes", kind="cifar-10")
    tar(place, {key: value for key, value in binary_10().items() if key != "data_batch_2.bin"})
    refuses("data_batch_2.bin is missing or truncated", kind="cifar-10")
    tar(place, {**binary_10(), "test_batch.bin": b"\n" * 2 * 3073})
    refuses("y must hold numbers of classes, 0 ... 9", kind="cifar-10")
    tar(place, binary_10())
    place.write_bytes(place.read_bytes()[:5000])
    refuses("cifar-10-binary.tar.gz cannot be read", kind="cifar-10")
    place.write_bytes(b"none")
    refuses("cifar-10-binary.tar.gz cannot be read", kind="cifar-10")
