"""Converts the numbers of a table to a pandas frame.

Shapes: m rows, k columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bfc_bench.learner import Column

if TYPE_CHECKING:
    import pandas as pd


def to_frame(x: np.ndarray, columns: Sequence[Column]) -> pd.DataFrame:
    """A frame of its own memory: numbers are float64 and categories of pandas' categorical type; NaN is missing.

    Args:
        x: Values, and numbers of levels for categories, (m, k).
        columns: The columns.
    """
    import pandas as pd

    series: dict[str, Any] = {}
    for i, column in enumerate(columns):
        if column.levels:
            codes = np.where(np.isnan(x[:, i]), -1, x[:, i]).astype(int)
            series[column.name] = pd.Categorical.from_codes(codes, categories=list(column.levels))
        else:
            series[column.name] = np.array(x[:, i])
    return pd.DataFrame(series)
