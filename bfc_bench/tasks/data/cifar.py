"""CIFAR-10 and CIFAR-100: 50,000 images of 32 x 32 in three colours to train on and 10,000 to test on."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bfc_bench.errors import UsageError, error_text
from bfc_bench.tasks.base import DataSetContents, LabelledPoints
from bfc_bench.tasks.data.images import ImageSet
from bfc_bench.tasks.data.plain_pickle import loads
from bfc_bench.tasks.data.public import Missing, fetch, find

SHAPE = (3, 32, 32)
PIXELS = 3072
SOURCE = "https://www.cs.toronto.edu/~kriz/"


class Cifar10(ImageSet):
    """Ten kinds of animals and vehicles: 60,000 images of 3 x 32 x 32. Krizhevsky (2009)."""

    kind: ClassVar[str] = "cifar-10"
    home: ClassVar[str] = "cifar-10"
    """The kind whose files are read."""
    binary: ClassVar[tuple[str, ...]] = ("cifar-10-batches-bin", "cifar-10-binary.tar.gz")
    """Folder and archive of the binary version, which has a label and 3072 bytes for each image."""
    pickled: ClassVar[tuple[str, ...]] = ("cifar-10-batches-py", "cifar-10-python.tar.gz")
    """Folder and archive of the Python version."""
    checksum: ClassVar[str] = "c32a1d4ab5d03f1284b67883e8d87530"
    """MD5 of the binary archive."""
    train: ClassVar[tuple[str, ...]] = tuple(f"data_batch_{number}" for number in range(1, 6))
    test: ClassVar[tuple[str, ...]] = ("test_batch",)
    label: ClassVar[tuple[int, bytes]] = (0, b"labels")
    """Where labels are: the position in the bytes before an image, and the key in the pickles."""
    names: ClassVar[tuple[str, ...]] = (
        *("airplane", "automobile", "bird", "cat", "deer"),
        *("dog", "frog", "horse", "ship", "truck"),
    )

    def images(self) -> DataSetContents:
        """x (50000, 3072), y (50000,), and 10,000 images to test on."""
        source = self._find()
        files = _read(source)
        parse = self._binary if source.name in self.binary else self._pickled
        points, test = (self._part(files, source, parse, names) for names in (self.train, self.test))
        return DataSetContents(points, test, self._names(files, source), SHAPE)

    def _find(self) -> Path:
        return find(self.home, *self.binary, *self.pickled)

    def missing_files(self) -> str | None:
        """What to type if the files are missing."""
        try:
            self._find()
        except Missing as error:
            return str(error)
        return None

    def get(self) -> str:
        """Fetch the binary archive, which needs no unpickling."""
        name = self.binary[1]
        return str(fetch(self.home, {name: (SOURCE + name, self.checksum)}) / name)

    def _part(self, files: Mapping[str, bytes], source: Path, parse: Any, names: Sequence[str]) -> LabelledPoints:
        """The images of several files."""
        suffix = ".bin" if parse == self._binary else ""
        parts = []
        for name in names:
            if name + suffix not in files:
                raise UsageError(f"{source}: there is no file {name + suffix!r}; it is incomplete or damaged.")
            x, y = parse(files[name + suffix], f"{source}: {name + suffix}")
            if y.shape != x.shape[:1] or y.dtype.kind not in "iu" or not np.all((y >= 0) & (y < self._count)):
                raise UsageError(f"{source}: {name + suffix} must hold {len(x)} labels in 0 ... {self._count - 1}.")
            parts.append((x, y))
        return LabelledPoints(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _binary(self, content: bytes, where: str) -> tuple[np.ndarray, np.ndarray]:
        """Images (N, 3072) and labels (N,) in a file of records."""
        position, header = self.label[0], self.label[0] + 1
        if not content or len(content) % (header + PIXELS):
            raise UsageError(f"{where} is truncated: {len(content):,} bytes are no multiple of {header + PIXELS}.")
        records = np.frombuffer(content, np.uint8).reshape(-1, header + PIXELS)
        return records[:, header:], records[:, position].astype(np.int64)

    def _pickled(self, content: bytes, where: str) -> tuple[np.ndarray, np.ndarray]:
        """Images (N, 3072) and labels (N,) in a pickled dict."""
        batch, key = loads(content, where), self.label[1]
        if not isinstance(batch, dict) or b"data" not in batch or key not in batch:
            raise UsageError(f"{where} must hold a dict with 'data' and {key.decode()!r}.")
        x, y = batch[b"data"], np.asarray(batch[key])
        if not isinstance(x, np.ndarray) or x.dtype != np.uint8 or x.ndim != 2 or x.shape[1] != PIXELS:
            raise UsageError(f"{where}: 'data' must be an array of bytes of shape (N, {PIXELS}).")
        return x, y

    @property
    def _count(self) -> int:
        return 10

    def _names(self, files: Mapping[str, bytes], source: Path) -> tuple[str, ...]:
        return self.names


class Cifar100(Cifar10):
    """A hundred kinds of things: 60,000 images of 3 x 32 x 32. Krizhevsky (2009)."""

    kind: ClassVar[str] = "cifar-100"
    home: ClassVar[str] = "cifar-100"
    binary: ClassVar[tuple[str, ...]] = ("cifar-100-binary", "cifar-100-binary.tar.gz")
    pickled: ClassVar[tuple[str, ...]] = ("cifar-100-python", "cifar-100-python.tar.gz")
    checksum: ClassVar[str] = "03b5dce01913d631647c71ecec9e9cb8"
    train: ClassVar[tuple[str, ...]] = ("train",)
    test: ClassVar[tuple[str, ...]] = ("test",)
    label: ClassVar[tuple[int, bytes]] = (1, b"fine_labels")

    @property
    def _count(self) -> int:
        return 100

    def _names(self, files: Mapping[str, bytes], source: Path) -> tuple[str, ...]:
        if "fine_label_names.txt" in files:
            names = files["fine_label_names.txt"].decode(errors="replace").split()
        elif "meta" in files:
            meta = loads(files["meta"], f"{source}: meta")
            given = meta.get(b"fine_label_names", ()) if isinstance(meta, dict) else ()
            names = [name.decode(errors="replace") if isinstance(name, bytes) else str(name) for name in given]
        else:
            names = []
        if len(names) != self._count:
            raise UsageError(f"{source}: fine_label_names.txt, or meta, must name {self._count} classes.")
        return tuple(names)


class Cifar2(Cifar10):
    """CIFAR-10 in two classes: bird, cat, deer, dog and horse against the rest."""

    kind: ClassVar[str] = "cifar-2"
    animals: ClassVar[tuple[str, ...]] = ("bird", "cat", "deer", "dog", "horse")

    def images(self) -> DataSetContents:
        """x (50000, 3072), y (50000,), 1 for the five animals, and 10,000 images to test on."""
        contents = super().images()
        chosen = np.isin(self.names, self.animals).astype(np.int64)
        points, test = (LabelledPoints(part.x, chosen[part.y]) for part in (contents.points, contents.test) if part)
        return DataSetContents(points, test, ("others", "-".join(self.animals)), contents.shape)


def _read(source: Path) -> dict[str, bytes]:
    """The files of a folder or an archive, by name. Raises ``UsageError``."""
    try:
        if source.is_dir():
            return {path.name: path.read_bytes() for path in source.iterdir() if path.is_file()}
        with tarfile.open(source) as archive:
            files = {Path(item.name).name: archive.extractfile(item) for item in archive if item.isfile()}
            return {name: file.read() for name, file in files.items() if file}
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{source} is truncated or damaged: {' '.join(error_text(error).split())}.") from None
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror or error}.") from None
