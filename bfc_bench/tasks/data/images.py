"""Base class of image data sets, whose rows are images of bytes, and average pooling."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated

import numpy as np
from pydantic import Field

from bfc_bench.errors import UsageError
from bfc_bench.tasks.base import DataSet, DataSetContents, LabelledPoints

WHITE = 255
"""The largest value of a byte, which becomes 1 when points are drawn."""


class ImageSet(DataSet):
    """Images of bytes with classes."""

    pool: Annotated[int, Field(strict=True, ge=1)] = 1
    """Every block of pool x pool pixels is replaced by its mean."""

    @abstractmethod
    def images(self) -> DataSetContents:
        """The images with x in bytes, as in the files, and ``shape`` (channels, height, width)."""

    def load(self) -> DataSetContents:
        """All images. x holds sums of bytes, with the divisor that brings them to [0, 1] when points are drawn."""
        read = self.images()
        channels, height, width = read.shape
        if height % self.pool or width % self.pool:
            raise UsageError(f"pool must divide height and width, {height} x {width}. Got {self.pool}.")
        shape = (channels, height // self.pool, width // self.pool)
        points = self._pooled(read.points, read.shape)
        test = read.test and self._pooled(read.test, read.shape)
        return DataSetContents(points, test, read.classes, shape, divisor=float(WHITE * self.pool**2))

    def _pooled(self, part: LabelledPoints, shape: tuple[int, ...]) -> LabelledPoints:
        return LabelledPoints(pooled(part.x, shape, self.pool), part.y)


def pooled(x: np.ndarray, shape: tuple[int, ...], pool: int) -> np.ndarray:
    """Exact sums of blocks of pixels, (N, channels height width / pool^2).

    Args:
        x: Bytes, (N, channels height width).
        shape: (channels, height, width), multiples of ``pool`` in the last two.
        pool: Side of a block.
    """
    if pool == 1:
        return x
    channels, height, width = shape
    blocks = x.reshape(len(x), channels, height // pool, pool, width // pool, pool)
    sums: np.ndarray = blocks.sum(axis=(3, 5), dtype=np.min_scalar_type(WHITE * pool**2))
    return sums.reshape(len(x), -1)
