"""Images as rows of bytes, and their average pooling."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated

import numpy as np
from pydantic import Field

from bfc_bench.errors import UsageError
from bfc_bench.tasks.base import DataSet, DataSetContents, LabelledPoints

WHITE = 255
"""The largest value of a byte, which is 1 when points are drawn."""


class ImageSet(DataSet):
    """Images of bytes with classes."""

    pool: Annotated[int, Field(strict=True, ge=1)] = 1
    """Every pool x pool pixels are replaced by their mean."""

    @abstractmethod
    def images(self) -> DataSetContents:
        """x of bytes, as in the files; ``shape`` (channels, height, width)."""

    def load(self) -> DataSetContents:
        """All images, x in [0, 1] when they are drawn: sums of bytes are kept, with what they are divided by."""
        found = self.images()
        channels, height, width = found.shape
        if height % self.pool or width % self.pool:
            raise UsageError(f"pool must divide height and width, {height} x {width}. Got {self.pool}.")
        shape = (channels, height // self.pool, width // self.pool)
        points, test = self._pooled(found.points, found.shape), found.test and self._pooled(found.test, found.shape)
        return DataSetContents(points, test, found.classes, shape, divisor=float(WHITE * self.pool**2))

    def _pooled(self, part: LabelledPoints, shape: tuple[int, ...]) -> LabelledPoints:
        return LabelledPoints(pooled(part.x, shape, self.pool), part.y)


def pooled(x: np.ndarray, shape: tuple[int, ...], pool: int) -> np.ndarray:
    """Sums of pool x pool pixels, (N, channels height width / pool^2), of bytes (N, channels height width). Exact."""
    if pool == 1:
        return x
    channels, height, width = shape
    blocks = x.reshape(len(x), channels, height // pool, pool, width // pool, pool)
    sums: np.ndarray = blocks.sum(axis=(3, 5), dtype=np.min_scalar_type(WHITE * pool**2))
    return sums.reshape(len(x), -1)
