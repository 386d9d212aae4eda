"""CIFAR-10 and CIFAR-100: 50,000 images of 32 x 32 in three colours to train on and 10,000 to test on."""

import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from bfc_bench.errors import UsageError
from bfc_bench.tasks.base import DataSetContents, LabelledPoints
from bfc_bench.tasks.data.images import ImageSet
from bfc_bench.tasks.load_data import reading

SHAPE = (3, 32, 32)
PIXELS = 3072


class Cifar10(ImageSet):
    """Ten kinds of animals and vehicles: 60,000 images of 3 x 32 x 32. Krizhevsky (2009).

    The binary version is read, in which the label, one byte, stands before the 3072 bytes of an image.
    """

    kind: ClassVar[str] = "cifar-10"
    source: ClassVar[str] = "https://www.cs.toronto.edu/~kriz/"
    checksums: ClassVar[Mapping[str, str]] = {"cifar-10-binary.tar.gz": "c32a1d4ab5d03f1284b67883e8d87530"}
    folder: ClassVar[str] = "cifar-10-batches-bin"
    """Folder that the archive contains."""
    train: ClassVar[tuple[str, ...]] = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
    test: ClassVar[tuple[str, ...]] = ("test_batch.bin",)
    labels: ClassVar[int] = 1
    """Number of labels before an image; the last one is read."""

    def forms(self, name: str) -> tuple[str, ...]:
        """The archive may be unpacked."""
        return self.folder, name

    def images(self) -> DataSetContents:
        """x (50000, 3072), y (50000,), and 10,000 images to test on."""
        [source] = self.files()
        files = _read(source)
        points, test = (self._part(files, source, names) for names in (self.train, self.test))
        return DataSetContents(points, test, self._names(files), SHAPE)

    def _part(self, files: Mapping[str, bytes], source: Path, names: Sequence[str]) -> LabelledPoints:
        """The images of several files."""
        size = self.labels + PIXELS
        if wrong := [name for name in names if not files.get(name) or len(files[name]) % size]:
            raise UsageError(f"{source}: {wrong[0]} is missing or truncated; it must hold records of {size} bytes.")
        records = np.frombuffer(b"".join(files[name] for name in names), np.uint8).reshape(-1, size)
        return LabelledPoints(records[:, self.labels :], records[:, self.labels - 1].astype(np.int64))

    def _names(self, files: Mapping[str, bytes]) -> tuple[str, ...]:
        return "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"


class Cifar100(Cifar10):
    """A hundred kinds of things: 60,000 images of 3 x 32 x 32. Krizhevsky (2009)."""

    kind: ClassVar[str] = "cifar-100"
    checksums: ClassVar[Mapping[str, str]] = {"cifar-100-binary.tar.gz": "03b5dce01913d631647c71ecec9e9cb8"}
    folder: ClassVar[str] = "cifar-100-binary"
    train: ClassVar[tuple[str, ...]] = ("train.bin",)
    test: ClassVar[tuple[str, ...]] = ("test.bin",)
    labels: ClassVar[int] = 2

    def _names(self, files: Mapping[str, bytes]) -> tuple[str, ...]:
        names = files.get("fine_label_names.txt", b"").decode(errors="replace").split()
        if len(names) != 100:
            raise UsageError("fine_label_names.txt must name 100 classes.")
        return tuple(names)


def _read(source: Path) -> dict[str, bytes]:
    """The files of a folder or an archive, by name. Raises ``UsageError``."""
    with reading(source):
        if source.is_dir():
            return {path.name: path.read_bytes() for path in source.iterdir() if path.is_file()}
        with tarfile.open(source) as archive:
            files = {Path(item.name).name: archive.extractfile(item) for item in archive if item.isfile()}
            return {name: file.read() for name, file in files.items() if file}
