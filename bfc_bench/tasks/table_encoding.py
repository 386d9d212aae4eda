"""Encodes the columns of a table as numbers, by statistics of the n training points alone.

Shapes: n training points, m points, k columns of the table, d columns of numbers that learners get.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Self

import numpy as np

from bfc_bench.learner import Column
from bfc_bench.tasks.base import Float, TableColumns


@dataclass(frozen=True)
class TableEncoding:
    """Fills missing numbers and gives each category a column of 0 and 1.

    A category that the training points lack is 0 in all columns, as is a missing one, so nothing that learners get
    depends on other points.
    """

    table: TableColumns
    fill: Float
    """What missing numbers become, (k,)."""
    seen: tuple[np.ndarray, ...]
    """Which levels of each column the training points have; empty for numbers."""

    @classmethod
    def of(cls, x: Float, table: TableColumns) -> Self:
        """Fitted to the training points x (n, k), with NaN for missing values."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without any value is filled with 0
            center = np.nanmean(x, axis=0) if table.fill == "mean" else np.nanmedian(x, axis=0)
        seen = tuple(
            np.isin(np.arange(len(column.levels)), x[:, i]) if column.levels else np.empty(0, bool)
            for i, column in enumerate(table.columns)
        )
        return cls(table, np.where(np.isnan(center), 0.0, center), seen)

    def matrix(self, x: Float) -> Float:
        """Points (m, k) as numbers without gaps, (m, d)."""
        return self._encoded(x, one_hot=True, filled=True)

    def frame(self, x: Float) -> Float:
        """Points (m, k) as the numbers of a frame with the columns of ``frame_columns``."""
        return self._encoded(x, one_hot=not self.table.keep_categories, filled=self.table.fill != "keep")

    def _encoded(self, x: Float, *, one_hot: bool, filled: bool) -> Float:
        parts: list[Float] = []
        for i, column in enumerate(self.table.columns):
            values = x[:, i]
            if column.levels and one_hot:
                levels = np.arange(len(column.levels))
                parts.append(((values[:, None] == levels) & self.seen[i]).astype(float))
                continue
            missing = np.isnan(values) & (filled and not column.levels)
            parts.append(np.where(missing, self.fill[i], values)[:, None])
        return np.hstack(parts)


def matrix_columns(table: TableColumns) -> tuple[Column, ...]:
    """The d columns of ``TableEncoding.matrix``."""
    return tuple(part for column in table.columns for part in (_levels(column) if column.levels else [column]))


def frame_columns(table: TableColumns) -> tuple[Column, ...]:
    """The columns of ``TableEncoding.frame``."""
    return table.columns if table.keep_categories else matrix_columns(table)


def _levels(column: Column) -> list[Column]:
    return [Column(f"{column.name} = {level}") for level in column.levels]
