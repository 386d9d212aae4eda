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
    marked: tuple[bool, ...]
    """Which columns have a column that says where values are missing, (k,)."""
    fill: Float
    """What missing numbers become, (k,)."""
    seen: tuple[np.ndarray, ...]
    """Which levels of each column the training points have; empty for numbers."""

    @classmethod
    def of(cls, x: Float, table: TableColumns, marked: tuple[bool, ...]) -> Self:
        """Fitted to the training points.

        Args:
            x: The training points, (n, k), with NaN for missing values.
            table: The columns.
            marked: Which columns have a column that says where values are missing.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without any value is filled with 0
            center = np.nanmean(x, axis=0) if table.fill == "mean" else np.nanmedian(x, axis=0)
        seen = tuple(
            np.isin(np.arange(len(column.levels)), x[:, i]) if column.levels else np.empty(0, bool)
            for i, column in enumerate(table.columns)
        )
        return cls(table, marked, np.where(np.isnan(center), 0.0, center), seen)

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
            gaps = np.isnan(values)
            fill = filled and not column.levels
            parts.append(np.where(gaps, self.fill[i], values)[:, None] if fill else values[:, None])
            if self.marked[i]:
                parts.append(gaps[:, None].astype(float))
        return np.hstack(parts)


def marked_columns(table: TableColumns, *xs: Float) -> tuple[bool, ...]:
    """Which columns get a column that says where values are missing: those of numbers with gaps in any of ``xs``.

    Args:
        table: The columns.
        *xs: All points, (N, k), so that d is the same for all samples.
    """
    if table.fill != "indicate":
        return (False,) * len(table.columns)
    gaps = np.any([np.isnan(x).any(axis=0) for x in xs], axis=0)
    return tuple(bool(gap) and not column.levels for gap, column in zip(gaps, table.columns, strict=True))


def matrix_columns(table: TableColumns, marked: tuple[bool, ...]) -> tuple[Column, ...]:
    """The d columns of ``TableEncoding.matrix``; ``marked`` is (k,)."""
    return _columns(table, marked, one_hot=True)


def frame_columns(table: TableColumns, marked: tuple[bool, ...]) -> tuple[Column, ...]:
    """The columns of ``TableEncoding.frame``; ``marked`` is (k,)."""
    return _columns(table, marked, one_hot=not table.keep_categories)


def _columns(table: TableColumns, marked: tuple[bool, ...], *, one_hot: bool) -> tuple[Column, ...]:
    made: list[Column] = []
    for column, mark in zip(table.columns, marked, strict=True):
        if column.levels and one_hot:
            made += [Column(f"{column.name} = {level}") for level in column.levels]
        else:
            made += [column, *([Column(f"{column.name} is missing")] if mark else [])]
    return tuple(made)
