"""MNIST and Fashion-MNIST: 60,000 images of 28 x 28 to train on and 10,000 to test on, in ten classes; IDX files."""

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from bfc_bench.errors import UsageError
from bfc_bench.tasks.base import DataSetContents, LabelledPoints
from bfc_bench.tasks.data.images import ImageSet
from bfc_bench.tasks.load_data import reading

GZIP = b"\x1f\x8b"
"""How a file that gzip has compressed begins."""
BYTES = b"\0\0\x08"
"""How a file of bytes begins. LeCun, Cortes and Burges, *The MNIST database*."""


def read_idx(path: Path) -> np.ndarray:
    """The bytes in an IDX file, which may be compressed by gzip. Raises ``UsageError`` that names the file."""
    with reading(path):
        content = path.read_bytes()
        if content.startswith(GZIP):
            content = gzip.decompress(content)
    if not content.startswith(BYTES):
        raise UsageError(f"{path}: an IDX file of bytes must begin with 00 00 08. Got {content[:4].hex(' ')}.")
    try:
        sides = np.frombuffer(content, ">u4", content[3], offset=4)
        return np.frombuffer(content, np.uint8, offset=4 + sides.nbytes).reshape(sides)
    except (IndexError, ValueError) as error:
        raise UsageError(f"{path} is truncated or damaged: {error}.") from None


class Mnist(ImageSet):
    """Ten digits, written by hand: 70,000 images of 28 x 28. LeCun, Bottou, Bengio and Haffner (1998)."""

    kind: ClassVar[str] = "mnist"
    source: ClassVar[str] = "https://ossci-datasets.s3.amazonaws.com/mnist/"
    checksums: ClassVar[Mapping[str, str]] = {
        "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
        "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
        "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
    }
    names: ClassVar[tuple[str, ...]] = tuple("0123456789")

    def images(self) -> DataSetContents:
        """x (60000, 784), y (60000,), and 10,000 images to test on."""
        x, y, x_test, y_test = map(read_idx, self.files())
        points, test = (LabelledPoints(a.reshape(len(a), -1), b.astype(int)) for a, b in ((x, y), (x_test, y_test)))
        return DataSetContents(points, test, self.names, (1, *x.shape[1:]))

    def forms(self, name: str) -> tuple[str, ...]:
        """A file may be compressed or not."""
        return name, name.removesuffix(".gz")


class FashionMnist(Mnist):
    """Ten kinds of clothing: 70,000 images of 28 x 28. Xiao, Rasul and Vollgraf (2017)."""

    kind: ClassVar[str] = "fashion-mnist"
    source: ClassVar[str] = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
    checksums: ClassVar[Mapping[str, str]] = {
        "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
        "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
        "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
    }
    package: ClassVar[str] = "dataset-fashion-mnist"
    names: ClassVar[tuple[str, ...]] = (
        *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
        *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
    )
