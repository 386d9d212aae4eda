"""Base class of image data sets, whose rows are images of bytes, and average pooling."""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from bfc_bench.errors import UsageError
from bfc_bench.tasks.base import DataSet, DataSetContents, LabelledPoints
from bfc_bench.tasks.data.public import fetch, find

WHITE = 255
"""The largest value of a byte, which becomes 1 when points are drawn."""


class ImageSet(DataSet):
    """Images of bytes with classes, in public files."""

    source: ClassVar[str]
    """Address of the folder with the files."""
    checksums: ClassVar[Mapping[str, str]]
    """MD5 of each file at ``source``."""
    package: ClassVar[str] = ""
    """Debian's package with the files."""
    pool: Annotated[int, Field(strict=True, ge=1)] = 1
    """Every block of pool x pool pixels is replaced by its mean."""

    @abstractmethod
    def images(self) -> DataSetContents:
        """The images with x in bytes, as in the files, and ``shape`` (channels, height, width)."""

    @abstractmethod
    def forms(self, name: str) -> tuple[str, ...]:
        """The names that a file of ``checksums`` may have here, packed and unpacked, in the order of search."""

    def missing_files(self) -> str | None:
        """What to type if a file is missing."""
        try:
            self.files()
        except UsageError as error:
            return str(error)
        return None

    def get(self) -> str:
        """Fetch the files."""
        return str(fetch(self.kind, {name: (self.source + name, md5) for name, md5 in self.checksums.items()}))

    def files(self) -> list[Path]:
        """Where the files lie, in the order of ``checksums``. Raises ``UsageError`` that says what to type."""
        return [find(self.kind, self.forms(name), self.package) for name in self.checksums]

    def load(self) -> DataSetContents:
        """All images. x holds sums of bytes, with the divisor that brings them to [0, 1] when points are drawn."""
        read = self.images()
        channels, height, width = read.shape
        if height % self.pool or width % self.pool:
            raise UsageError(f"pool must divide height and width, {height} x {width}. Got {self.pool}.")
        shape = (channels, height // self.pool, width // self.pool)
        points = pooled(read.points, read.shape, self.pool)
        test = read.test and pooled(read.test, read.shape, self.pool)
        return DataSetContents(points, test, read.classes, shape, divisor=float(WHITE * self.pool**2))


def pooled(part: LabelledPoints, shape: tuple[int, ...], pool: int) -> LabelledPoints:
    """Images with exact sums of blocks of pixels as x, (N, channels height width / pool^2).

    Args:
        part: Images of bytes, x (N, channels height width).
        shape: (channels, height, width), multiples of ``pool`` in the last two.
        pool: Side of a block.
    """
    if pool == 1:
        return part
    channels, height, width = shape
    blocks = part.x.reshape(len(part), channels, height // pool, pool, width // pool, pool)
    sums: np.ndarray = blocks.sum(axis=(3, 5), dtype=np.min_scalar_type(WHITE * pool**2))
    return LabelledPoints(sums.reshape(len(part), -1), part.y)
