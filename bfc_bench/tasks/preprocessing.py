"""What becomes of the points of a data set before learners see them, fitted to training points.

Shapes: n training points, m points, k columns of the data, d columns of numbers that learners get.
"""

import warnings
from dataclasses import dataclass
from typing import Self, TypeAlias

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

    def __call__(self, x: Float, framed: bool = False) -> Float:
        """Points (m, k) as numbers without gaps, (m, d); ``framed`` as those of a frame of ``frame_columns``."""
        keeps_categories = framed and self.table.keep_categories
        keeps_gaps = framed and self.table.fill == "keep"
        parts: list[Float] = []
        for i, column in enumerate(self.table.columns):
            values = x[:, i]
            if column.levels and not keeps_categories:
                levels = np.arange(len(column.levels))
                parts.append(((values[:, None] == levels) & self.seen[i]).astype(float))
                continue
            missing = np.isnan(values) & (not keeps_gaps and not column.levels)
            parts.append(np.where(missing, self.fill[i], values)[:, None])
        return np.hstack(parts)


def matrix_columns(table: TableColumns) -> tuple[Column, ...]:
    """The d columns of numbers without gaps."""
    return tuple(part for column in table.columns for part in (_levels(column) if column.levels else [column]))


def frame_columns(table: TableColumns) -> tuple[Column, ...]:
    """The columns of a frame."""
    return table.columns if table.keep_categories else matrix_columns(table)


def _levels(column: Column) -> list[Column]:
    return [Column(f"{column.name} = {level}") for level in column.levels]


FLOOR = 1e-3
"""Directions with less variance than this fraction of the mean are scaled as if they had it."""

Scaling: TypeAlias = tuple[Float, Float]
"""Mean and deviation of each column, (d,) both."""
Whitening: TypeAlias = tuple[Float, Float]
"""The mean, (d,), and the symmetric matrix, (d, d), of x -> (x - mean) matrix."""


@dataclass(frozen=True)
class Preprocessing:
    """Columns of a table become numbers, then points are standardised, then whitened."""

    encoding: TableEncoding | None = None
    scaling: Scaling | None = None
    whitening: Whitening | None = None

    def __call__(self, x: Float, framed: bool = False) -> Float:
        """Points (m, k) as (m, d); ``framed`` as the numbers of a frame, which are not scaled."""
        if self.encoding:
            x = self.encoding(x, framed)
        if self.scaling and not framed:
            x = (x - self.scaling[0]) / self.scaling[1]
        if self.whitening and not framed:
            x = (x - self.whitening[0]) @ self.whitening[1]
        return x


def scaling_of(x: Float, shape: tuple[int, ...]) -> Scaling:
    """Mean and deviation of points (n, d), by channel for images; columns that are constant there keep their scale."""
    by_channel = x.reshape(len(x), shape[0], -1) if shape else x.reshape(len(x), -1, 1)
    mean, deviation = by_channel.mean(axis=(0, 2)), by_channel.std(axis=(0, 2))
    constant = np.ptp(by_channel, axis=(0, 2)) == 0  # rounding may give equal numbers a deviation
    repeats = by_channel.shape[2]
    return np.repeat(mean, repeats), np.repeat(np.where(constant, 1.0, deviation), repeats)


def whitening_of(x: Float) -> Whitening:
    """Mean of points (n, d) and S^(-1/2), S their covariance (Bell and Sejnowski 1997).

    Eigenvalues of S below ``FLOOR`` times their mean are raised to it, so that directions with hardly any variance are
    not amplified: those beyond the number of points, and some directions of images. The whitened points have variance 1
    in all other directions, and less in these.
    """
    mean = x.mean(axis=0)
    centred = x - mean
    variances, directions = np.linalg.eigh(centred.T @ centred / len(x))
    floor = FLOOR * max(float(variances.mean()), np.finfo(float).tiny)
    return mean, (directions / np.sqrt(np.maximum(variances, floor))) @ directions.T
