"""Learning curves: a metric of one learner against n, over replicates.

Shapes: R replicates, K sample sizes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from bfc_bench.analysis.intervals import Interval, averaged_shares, is_skewed, share_interval, t_interval
from bfc_bench.errors import UsageError, suggest
from bfc_bench.store.export import FlatRecord
from bfc_bench.store.row import BESIDES, COLUMNS, Row
from bfc_bench.store.rows import Rows
from bfc_bench.suite.axes import family

FLOOR = 1e-16
"""Relative errors are clipped here, because smaller differences are float64 rounding."""

MEDIAN_TO_SD = 1.4826
"""Standard deviation of normal values over the median of their size."""

ERROR_RATE_FLOOR = 2.5e-5
"""Error rates of rows that do not say their floor are clipped here: half a wrong point among 20,000."""

METRIC_NAMES = {
    "nmse": "NMSE",
    "nmse_trimmed": "trimmed NMSE",
    "error_rate": "error rate",
    "train_nmse": "training NMSE",
}
"""Metrics as readers know them."""

Scale: TypeAlias = Literal["log", "linear"]
"""How a metric is averaged over replicates: as a logarithm, or as it is."""


def scale_of(metric: str) -> Scale:
    """The scale of a metric: ``linear`` for ``part_errors``, which may be negative, else ``log``."""
    return "linear" if metric.partition(".")[0] == "part_errors" else "log"


def floors_of(rows: Rows, metric: str) -> np.ndarray:
    """The values at which those of rows are clipped before logarithms are taken, (N,); for error rates half a point."""
    floors = np.full(len(rows), FLOOR)
    if metric == "error_rate":
        floors = np.fmax(ERROR_RATE_FLOOR, 0.5 / rows.number("chosen", "data", "test_points"))
    known = rows.number("floors", metric)
    return np.where(np.isnan(known), floors, known)


@dataclass(frozen=True, eq=False)
class Curve:
    """One metric of one learner (``label``) on one task at one d, against n."""

    task: str
    d: int
    label: str
    metric: str
    n: np.ndarray
    """Sample sizes, (K,) integers, ascending."""
    replicates: tuple[int, ...]
    """Numbers of the R replicates, ascending."""
    values: np.ndarray
    """The metric, (R, K); nan where there is no ok row."""
    statuses: tuple[Mapping[str, int], ...] = ()
    """For each n, how many cells ended in each status other than ok."""
    stage: str | None = None
    """Name of the intermediate predictor; None for the final one."""
    tried: np.ndarray | None = None
    """Mask (R, K) of the cells with a row of any status; None if all have one."""
    floors: np.ndarray | float = FLOOR
    """Where values are clipped before logarithms are taken, (R, K)."""
    test_points: float = math.inf
    """Number of test points of each value, for a task on data; inf if fresh points are drawn."""
    test_pool: float = math.inf
    """Number of points from which all replicates draw their test points."""
    axes: Mapping[str, Any] = field(default_factory=dict)
    """Values of task and learner on the axes of their grids."""

    def family(self, axis: str) -> tuple[str, int | None, str]:
        """Task, d and name of the curves that differ from this one on an axis only: ``rhm:L3`` for ``rhm:m2:L3``."""
        if axis == "d":
            return self.task, None, self.name
        value = self.axes[axis]
        label = family(self.label, axis, value)
        return family(self.task, axis, value), self.d, label if self.stage is None else f"{label}/{self.stage}"

    @property
    def name(self) -> str:
        """``LABEL``, or ``LABEL/STAGE`` for an intermediate predictor."""
        return self.label if self.stage is None else f"{self.label}/{self.stage}"

    @property
    def stage_name(self) -> str:
        """Name of the stage; ``final`` for the final predictor."""
        return self.stage or "final"

    def at(self, kept: np.ndarray) -> Curve:
        """The curve at some of its sizes, (K,) booleans."""
        statuses = tuple(at_n for at_n, keep in zip(self.statuses, kept, strict=False) if keep)
        return self._part(np.s_[:, kept], n=self.n[kept], statuses=statuses)

    def of_replicates(self, replicates: Sequence[int]) -> Curve:
        """The curve of some of its replicates."""
        kept = [self.replicates.index(replicate) for replicate in replicates]
        return self._part(np.s_[kept], replicates=tuple(replicates))

    def _part(self, place: Any, **fields: Any) -> Curve:
        """The curve with a part of its values, and with the fields that go with it."""
        tried, floors = self.was_tried[place], np.broadcast_to(self.floors, self.values.shape)[place]
        return replace(self, values=self.values[place], floors=floors, tried=tried, **fields)

    @property
    def failures(self) -> np.ndarray:
        """Number of failed cells at each n, (K,); skipped cells do not count."""
        counts = [sum(count for status, count in at_n.items() if status != "skipped") for at_n in self.statuses]
        return np.array(counts or [0] * len(self.n), dtype=int)

    @property
    def has_enough_sizes(self) -> np.ndarray:
        """Mask (R,) of the replicates that were tried at more than half as many sizes as any other, or upward.

        Upward is at the smallest and another within a factor 2 of it. The others were added at single sizes for a
        claim, and do not make a curve.
        """
        return _makes_curve(self.n, self.was_tried)

    @cached_property
    def shared(self) -> np.ndarray:
        """Mask (K,) of the sizes at which a mean over replicates is one (``shared_sizes``)."""
        return shared_sizes(self.n, self.was_tried)

    @property
    def was_tried(self) -> np.ndarray:
        """Mask (R, K) of the cells with a row of any status."""
        return np.ones(self.values.shape, dtype=bool) if self.tried is None else self.tried

    @property
    def scale(self) -> Scale:
        """How values are averaged, and on which scale crossings are computed."""
        return scale_of(self.metric)

    @property
    def counted(self) -> bool:
        """Whether the values are shares of the test points of a data set, which have an arithmetic mean."""
        return self.metric == "error_rate" and math.isfinite(self.test_pool)

    @property
    def overlap(self) -> float:
        """What test points that replicates share add to 1 / R in the variance of a mean over replicates.

        For M test points from a pool of N it is M / (N - M), since results of two replicates correlate by M / N; for M
        + n = N it is M / n (Nadeau and Bengio 2003). 0 for fresh points, and if all replicates are tested on the same.
        """
        own = self.test_pool - self.test_points
        return self.test_points / own if 0 < own < math.inf else 0.0

    @property
    def mean_in_words(self) -> str:
        """The kind of mean, in words."""
        return "mean" if self.counted or self.scale == "linear" else "geometric mean"

    @property
    def interval_in_words(self) -> str:
        """The kind of ``intervals``, in words."""
        if not self.counted:
            return "95 % t-interval"
        return f"95 % interval, which includes the sampling of the {self.test_points:,.0f} test points"

    @cached_property
    def scaled(self) -> np.ndarray:
        """Values as they are averaged, (R, K): ``log_values``, or on a linear scale ``values``."""
        return self.values if self.scale == "linear" else self.log_values

    @cached_property
    def averaged(self) -> np.ndarray:
        """Values (R, K) of whose mean over replicates claims and comparisons are: ``scaled``.

        For error rates on data this mean is the logarithm of the arithmetic one, m: each value x enters as log m + (x -
        m) / m (delta method), so that a ratio is that of the means which tables and curves have.
        """
        return averaged_shares(self.values, self.log_values) if self.counted else self.scaled

    @cached_property
    def log_values(self) -> np.ndarray:
        """Logarithms, (R, K), of the values clipped at their floors.

        Raises ``UsageError`` if the metric may be negative.
        """
        if self.scale == "linear":
            raise UsageError(
                f"{self.name}: {self.metric} is an unbiased estimate that may be negative, so it has no logarithm."
            )
        return np.asarray(np.log(np.maximum(self.values, self.floors)))

    @cached_property
    def noise(self) -> float:
        """Robust standard deviation of a value about its curve, from the steps between sizes that all replicates have.

        Replicates that were added at single sizes for a claim do not count (``has_enough_sizes``). The median
        difference of two replicates' steps has no bias at few replicates. 0 below 3 replicates.
        """
        shared = self.scaled[self.has_enough_sizes & ~np.isnan(self.scaled).all(axis=1)]
        shared = shared[:, ~np.isnan(shared).any(axis=0)]
        if len(shared) < 3 or shared.shape[1] < 2:
            return 0.0
        steps, pairs = np.diff(shared, axis=1), np.triu_indices(len(shared), 1)
        return MEDIAN_TO_SD / 2 * float(np.median(np.abs(steps[pairs[0]] - steps[pairs[1]])))

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        """Mean over replicates with its t-interval, for each shared n: geometric, or arithmetic on a linear scale.

        Error rates on data have an arithmetic mean, and an interval that includes the sampling of test points.
        """
        if self.counted:
            return tuple(
                share_interval(column, self.test_points, self.test_pool) for column in self._shared(self.values)
            )
        intervals = (t_interval(column) for column in self._shared(self.scaled))
        return tuple(intervals if self.scale == "linear" else (interval.exp() for interval in intervals))

    @property
    def mean(self) -> np.ndarray:
        """Mean over replicates, (K,): geometric, or arithmetic on a linear scale."""
        return np.array([interval.mean for interval in self.intervals])

    @property
    def lo(self) -> np.ndarray:
        """Lower end of the mean's interval, (K,); nan below 2 replicates, but for error rates on data."""
        return np.array([interval.lo for interval in self.intervals])

    @property
    def hi(self) -> np.ndarray:
        """Upper end of the mean's interval, (K,); nan below 2 replicates, but for error rates on data."""
        return np.array([interval.hi for interval in self.intervals])

    @property
    def median(self) -> np.ndarray:
        """Median over replicates, (K,)."""
        return self._over_replicates(np.median)

    @property
    def worst(self) -> np.ndarray:
        """Largest value over replicates, (K,)."""
        return self._over_replicates(np.max)

    @property
    def points(self) -> list[CurvePoint]:
        """The shared sizes at which some replicate has a value, and the sizes at which one failed."""
        return [
            CurvePoint(
                task=self.task,
                d=self.d,
                label=self.name,
                metric=self.metric,
                n=int(n),
                mean=interval.mean,
                lo=interval.lo,
                hi=interval.hi,
                median=float(median),
                worst=float(worst),
                replicates=interval.count,
                failed=int(failed),
                skewed=not self.counted and is_skewed(column),
            )
            for n, interval, median, worst, failed, column in zip(
                self.n, self.intervals, self.median, self.worst, self.failures, self._shared(self.scaled), strict=True
            )
            if interval.count or failed
        ]

    def _shared(self, values: np.ndarray) -> np.ndarray:
        """The columns (K, R) of values (R, K), nan where the size is not shared."""
        return np.where(self.shared[:, None], values.T, math.nan)

    def _over_replicates(self, statistic: Callable[[np.ndarray], Any]) -> np.ndarray:
        as_measured = self.counted or self.scale == "linear"
        columns = [column[~np.isnan(column)] for column in self._shared(self.values if as_measured else self.scaled)]
        back = float if as_measured else math.exp
        return np.array([back(statistic(column)) if column.size else math.nan for column in columns])


@dataclass(frozen=True, slots=True)
class CurvePoint(FlatRecord):
    """One size of a curve."""

    task: str
    d: int
    label: str
    """``LABEL``, or ``LABEL/STAGE`` for an intermediate predictor."""
    metric: str
    n: int
    mean: float
    """Mean over replicates: geometric, or arithmetic if the metric may be negative."""
    lo: float
    """Lower end of the mean's 95 % interval; nan below 2 replicates, but for error rates on data."""
    hi: float
    """Upper end of the interval."""
    median: float
    worst: float
    """Largest value over replicates."""
    replicates: int
    """Number of replicates with a value."""
    failed: int
    """Number of failed cells."""
    skewed: bool = False
    """Whether the averaged values are skewed beyond chance, so that the interval covers less than 95 %."""


def curves(rows: Iterable[Row], metric: str = "nmse", stage: str | None = None) -> list[Curve]:
    """One curve per (task, d, label), sorted by these.

    Each curve has every n and replicate of its rows, with nan where there is no ok row or no finite value. If a curve
    has ok rows but none has the metric, the metric does not apply and the curve is left out.

    Args:
        rows: Rows of one version of a suite.
        metric: A column of the rows, or a path such as ``feature_errors.S2``, ``uncut_errors.S2`` or
            ``part_errors.degree2``.
        stage: Name of an intermediate predictor; None for the final one.

    Raises:
        UsageError: For an unknown metric, and for two rows of one (task, d, label, n, replicate).
    """
    column = metric.partition(".")[0]
    if column not in (*COLUMNS, *BESIDES):
        raise UsageError(f"curves: metric must be a column of the results. Got {metric!r}.{suggest(column, COLUMNS)}")
    return list(Rows.of(rows).once(_curves, metric, stage))


def _curves(rows: Rows, metric: str, stage: str | None) -> list[Curve]:
    groups = sorted(rows.groups("task", "d", "label").items(), key=lambda item: item[0])
    return [curve for _, group in groups if (curve := _curve(group, metric, stage)) is not None]


def curves_of(rows: Iterable[Row], name: str, task: str, metric: str, d: int | None = None) -> list[Curve]:
    """The curves of one predictor on a task that have a value, one per d."""
    label, _, stage = name.partition("/")
    of_label = Rows.of(rows).where(task=task, label=label, d=d)
    return [curve for curve in curves(of_label, metric, stage or None) if any(i.count for i in curve.intervals)]


def by_task(rows: Iterable[Row]) -> dict[str, Rows]:
    """Rows by task, in order of appearance."""
    return {task: group for (task,), group in Rows.of(rows).once(Rows.groups, "task").items()}


def metric_of(rows: Iterable[Row], metric: str = "nmse") -> str:
    """The metric, or ``error_rate`` instead of ``nmse`` if only that was measured, as for class labels."""
    if metric != "nmse":
        return metric
    ok = Rows.of(rows).where(status="ok")
    only_error_rate = np.isnan(ok.number("nmse")).all() and not np.isnan(ok.number("error_rate")).all()
    return "error_rate" if only_error_rate else metric


def _curve(rows: Rows, metric: str, stage: str | None) -> Curve | None:
    (task,), (label,), d = rows.distinct("task"), rows.distinct("label"), int(rows.d[0])
    n, column = np.unique(rows.n, return_inverse=True)
    replicates, line = np.unique(rows.replicate, return_inverse=True)
    tried = _tried(line, column)
    _, first = np.unique(line * len(n) + column, return_index=True)
    if len(first) < len(rows):
        second = int(np.setdiff1d(np.arange(len(rows)), first)[0])
        raise UsageError(
            f"curves: one row per cell expected. Got two for task {task!r}, d={d}, {label!r}, "
            f"n={rows.n[second]}, replicate {rows.replicate[second]}; select one suite and version first."
        )
    ok = rows.ok
    values, floors = (np.full((len(replicates), len(n)), fill) for fill in (math.nan, FLOOR))
    values[line[ok], column[ok]] = rows.number(*path_of(metric, stage))[ok]
    floors[line, column] = floors_of(rows, metric)
    if np.isnan(values).all() and ok.any():
        return None
    statuses: list[Counter[str]] = [Counter() for _ in n]
    for k, status in zip(column[~ok].tolist(), rows.at(~ok).column("status"), strict=True):
        statuses[k][status] += 1
    return Curve(
        task=task,
        d=d,
        label=label,
        metric=metric,
        n=n,
        replicates=tuple(replicates.tolist()),
        values=values,
        statuses=tuple(dict(at_n) for at_n in statuses),
        stage=stage,
        tried=tried,
        floors=floors,
        test_points=least(rows.number("chosen", "data", "test_points")),
        test_pool=least(rows.number("chosen", "data", "test_pool")),
        axes=rows.distinct("axes")[0] or {},
    )


def path_of(metric: str, stage: str | None) -> tuple[str, ...]:
    """Where a row has a metric of its final predictor, or of the one after a stage."""
    path = tuple(metric.split("."))
    if stage is not None:
        return ("stages", stage, *path)
    return ("chosen", "measured", *path) if path[0] in BESIDES else path


def shared_sizes(n: np.ndarray, tried: np.ndarray) -> np.ndarray:
    """Mask (K,) of the sizes n (K,) that were not chosen for single replicates, of cells (R, K) that were ``tried``.

    A run, and the looks at claims, give the first replicates all sizes of later ones. Where that is not so, replicates
    have sizes of their own (``locating``), and only those count that all which make a curve have. A mean at the others
    would be one of replicates that were selected by their N*.
    """
    if not (tried[1:] & ~tried[:-1]).any():
        return np.ones(tried.shape[1], dtype=bool)
    return np.asarray(tried[_makes_curve(n, tried)].all(axis=0))


def shared_n(rows: Rows) -> list[int]:
    """The sizes of the rows of one label on one task at one d, without those that were chosen for single replicates."""
    n, column = np.unique(rows.n, return_inverse=True)
    tried = _tried(np.unique(rows.replicate, return_inverse=True)[1], column)
    return list(map(int, n[shared_sizes(n, tried)]))


def _tried(line: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Mask (R, K) of the cells at these lines and columns."""
    tried = np.zeros((line.max(initial=-1) + 1, column.max(initial=-1) + 1), dtype=bool)
    tried[line, column] = True
    return tried


def _makes_curve(n: np.ndarray, tried: np.ndarray) -> np.ndarray:
    sizes, first = tried.sum(axis=1), tried[:, n <= 2 * n[:1]]
    return np.asarray((2 * sizes > sizes.max(initial=0)) | (first[:, :1].any(axis=1) & (first.sum(axis=1) > 1)))


def least(values: np.ndarray) -> float:
    """The smallest number, ignoring nan; inf if all are nan."""
    return float(np.fmin.reduce(values, initial=math.inf))
