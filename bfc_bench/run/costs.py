"""Estimates seconds and memory of fits from rows of a store, or from what learners declare."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from math import sqrt
from statistics import median
from typing import TypeAlias

import numpy as np

from bfc_bench.errors import PluginError
from bfc_bench.learner import Cost, Work
from bfc_bench.run.grid import Grid, GridLearner
from bfc_bench.run.skip_reasons import ask, device_of
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows
from bfc_bench.toolkit.held_out import EVERY
from bfc_bench.toolkit.precision import Device

UNKNOWN_SECONDS = 1.0
"""Assumed seconds of a cell whose learner declares no cost and has no rows yet."""
FLOPS: Mapping[Device, Mapping[Work, float]] = {
    "cpu": {"products": 4e10, "steps": 2e10, "other": 5e9},
    "cuda": {"products": 1.7e13, "steps": 2e12, "other": 2e12},
}
"""Assumed flops per second of a core and of a GPU of a data centre, until rows of the learner exist."""
WAITS = 0.5
"""A learner waits if it waits longer than this fraction of its CPU time; less may be the noise of a busy machine."""
Where: TypeAlias = tuple[str, int, int]
"""Label, d and n, on which the cost of a fit depends."""


Estimate: TypeAlias = tuple[float, float, str]
"""Seconds and bytes of a fit, and what its learner says of its cost as long as no rows show it."""


def estimates(grid: Grid, history: Sequence[Row], device: Device) -> Callable[[str, int, int], Estimate]:
    """The function that estimates a fit by label, d and n. It raises ``PluginError`` of the learner.

    Seconds are those measured on the same curve; else by the learner's overhead and rate; else those declared for the
    options of the suite, since the candidate that tuning will choose is unknown, and for the candidates.
    """
    measured = _measured_seconds(grid, history, device)
    fits = _overheads_and_rates(grid, measured, device)

    @cache
    def estimate(label: str, d: int, n: int) -> Estimate:
        entry, place = grid.entries[label], (label, d, n)
        cost: Cost | None = ask(entry.learner, "cost", n, d)
        if place in measured:
            seconds = measured[place]
        elif cost is None:
            seconds = UNKNOWN_SECONDS
        elif label in fits:
            overhead, rate = fits[label]
            seconds = overhead + rate * cost.flops
        else:
            speed, parts = FLOPS[device_of(entry.learner, device)], [cost, *_tuning_costs(entry, n, d)]
            seconds = sum(part.flops / speed[part.work] + part.seconds for part in parts)
        return seconds, cost.bytes if cost else 0.0, cost.note if cost and label not in fits else ""

    return estimate


def _measured_seconds(grid: Grid, history: Sequence[Row], device: Device) -> dict[Where, float]:
    """Median seconds of the fits that were made on the device that they would have now.

    They are CPU seconds, and the seconds for which the learner waits (for a network, say). Time for which it had no
    core does not count, since another run may find the machine less busy.
    """
    measured: dict[Where, float] = {}
    ok = Rows.of(history).where(status="ok")
    for (label, made_on, d, n), group in ok.groups("label", "device", "d", "n").items():
        if label in grid.entries and made_on == device_of(grid.entries[label].learner, device):
            seconds = occupied(group)
            if known := seconds[~np.isnan(seconds)].tolist():
                measured[label, d, n] = median(known)
    return measured


def _overheads_and_rates(grid: Grid, measured: Mapping[Where, float], device: Device) -> dict[str, tuple[float, float]]:
    """Overhead and rate of each label whose fits were measured and whose cost is declared."""
    points: dict[tuple[str, Work], list[tuple[float, float]]] = {}
    for (label, d, n), seconds in measured.items():
        with suppress(PluginError):  # the plan names the cells that this concerns
            if (cost := ask(grid.entries[label].learner, "cost", n, d)) and cost.flops:
                points.setdefault((label, cost.work), []).append((cost.flops, seconds))
    return {
        label: overhead_and_rate(fits, 1 / FLOPS[device_of(grid.entries[label].learner, device)][work])
        for (label, work), fits in points.items()
    }


def _tuning_costs(entry: GridLearner, n: int, d: int) -> list[Cost]:
    """Declared costs of the candidates that tuning tries on part of the points: of a climb, the first half and one."""
    candidates = [candidate for climb in entry.climbs() for candidate in climb[: len(climb) // 2 + 1]]
    costs = [ask(candidate, "cost", n - n // EVERY, d) for candidate in candidates]
    return [cost for cost in costs if cost is not None]


def overhead_and_rate(points: Sequence[tuple[float, float]], declared: float) -> tuple[float, float]:
    """The seconds a and b of fits that take about a + b * flops, by medians of slopes (Siegel 1982).

    Up to half of the points may be far off. If the times do not show the rate, since there is one size or overhead is
    most of all of them, b is halfway (as a logarithm) between the declared rate and that of fits without overhead.

    Args:
        points: Operations and seconds of fits, both positive; a point for each size.
        declared: Assumed seconds per operation.
    """
    flops, whole = [size for size, _ in points], median(t / f for f, t in points)
    if (widest := max(flops) - min(flops)) > 0:
        rate = median(median((t - s) / (f - g) for g, s in points if g != f) for f, t in points)
        overhead = median(t - rate * f for f, t in points)
        if overhead < 0:
            return 0.0, whole
        if rate * widest > overhead:
            return overhead, rate
    rate = min(sqrt(whole * declared), whole)
    return max(median(t - rate * f for f, t in points), 0.0), rate


def occupied(rows: Rows) -> np.ndarray:
    """Seconds for which each row's fit occupied a worker: CPU time, and waiting time if the learner waits; (m,)."""
    cpu, wait = rows.number("fit_cpu_seconds"), np.nan_to_num(rows.number("fit_wait_seconds"))
    return cpu + np.where(wait > WAITS * cpu, wait, 0.0)
