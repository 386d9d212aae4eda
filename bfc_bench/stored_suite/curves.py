"""``Curves``, a list of learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.thresholds import NStars, thresholds
from bfc_bench.store.export import Records

if TYPE_CHECKING:
    import pandas as pd


class Curves(list[Curve]):
    """A list of learning curves that a notebook shows as a table of points."""

    def frame(self) -> pd.DataFrame:
        """A pandas frame with one line per point: task, d, label, metric, n, and the mean with its interval."""
        return Records(point for curve in self for point in curve.points).frame()

    def thresholds(self, levels: Sequence[float]) -> Records[NStars]:
        """N* of each curve: the training points that it needs to reach each of the levels of error."""
        return Records(thresholds(self, levels))

    def __repr__(self) -> str:
        return f"<{len(self)} learning curves: .frame() makes a table of them>"

    def _repr_html_(self) -> str:
        return str(self.frame()._repr_html_())
