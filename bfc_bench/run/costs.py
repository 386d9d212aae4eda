"""Estimates seconds and memory of cells from rows of a store, or from what learners declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from math import sqrt
from statistics import median
from typing import TypeAlias

import numpy as np

from bfc_bench.errors import PluginError
from bfc_bench.learner import Cost, Work
from bfc_bench.run.grid import Cell, Grid
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


class Costs:
    """Seconds of a cell: measured on the same curve; else by its learner's overhead and rate; else declared.

    They are CPU seconds, and the seconds for which the learner waits (for a network, say). Time for which it had no
    core does not count, since another run may find the machine less busy.
    """

    def __init__(self, grid: Grid, history: Sequence[Row], device: Device) -> None:
        self._grid, self._device = grid, device
        self._cost, self._declared_seconds = cache(self._ask_cost), cache(self._add_costs)
        self._seen: dict[Where, float] = {}
        points: dict[tuple[str, Work], list[tuple[float, float]]] = {}
        ok = Rows.of(history).where(status="ok")
        for (label, made_on, d, n), group in ok.groups("label", "device", "d", "n").items():
            if label not in grid.entries or made_on != self._device_of(label):
                continue
            seconds = occupied(group)
            if not (measured := seconds[~np.isnan(seconds)].tolist()):
                continue
            self._seen[place := (label, d, n)] = spent = median(measured)
            with suppress(PluginError):  # the plan names the cells that this concerns
                if (cost := self._cost(place)) and cost.flops:
                    points.setdefault((label, cost.work), []).append((cost.flops, spent))
        self._fits = {
            label: overhead_and_rate(spent, 1 / FLOPS[self._device_of(label)][work])
            for (label, work), spent in points.items()
        }

    def seconds(self, cell: Cell) -> float:
        """Estimated seconds of a cell."""
        place = (cell.label, cell.d, cell.n)
        if place in self._seen:
            return self._seen[place]
        if cell.label in self._fits and (cost := self._cost(place)):
            overhead, rate = self._fits[cell.label]
            return overhead + rate * cost.flops
        return self._declared_seconds(place)

    def bytes(self, cell: Cell) -> float:
        """Declared memory of a cell, or 0."""
        cost = self._cost((cell.label, cell.d, cell.n))
        return 0.0 if cost is None else cost.bytes

    def notes(self, cells: Iterable[Cell]) -> list[str]:
        """What learners say of the costs of cells, a line per label that has no rows yet."""
        costs = {cell.label: self._cost((cell.label, cell.d, cell.n)) for cell in cells if cell.label not in self._fits}
        return [f"{label}: {cost.note}" for label, cost in costs.items() if cost and cost.note]

    def _device_of(self, label: str) -> Device:
        return device_of(self._grid.entries[label].learner, self._device)

    def _ask_cost(self, where: Where) -> Cost | None:
        label, d, n = where
        cost: Cost | None = ask(self._grid.entries[label].learner, "cost", n, d)
        return cost

    def _add_costs(self, where: Where) -> float:
        """Seconds of tuning, in which each candidate trains on part of the points, and of the final fit.

        The candidate that tuning will choose is unknown; the options of the suite are assumed. A climb ends halfway.
        """
        (label, d, n), final = where, self._cost(where)
        if final is None:
            return UNKNOWN_SECONDS
        climbs, trained = self._grid.entries[label].climbs(), n - n // EVERY
        candidates = [candidate for climb in climbs for candidate in climb[: len(climb) // 2 + 1]]
        trials: list[Cost | None] = [ask(candidate, "cost", trained, d) for candidate in candidates]
        flops = FLOPS[self._device_of(label)]
        return sum(cost.flops / flops[cost.work] + cost.seconds for cost in (final, *trials) if cost is not None)


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
