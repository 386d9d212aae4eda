"""Estimates seconds and memory of cells from rows of a store, or from what learners declare."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import median
from typing import TypeAlias

import numpy as np

from bfc_bench.errors import PluginError
from bfc_bench.learner import Cost, Learner
from bfc_bench.run.grid import Cell, Grid
from bfc_bench.run.rates import flops_per_second
from bfc_bench.run.skip_reasons import TUNING_SHARE, ask, batch_key, device_of
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows
from bfc_bench.toolkit.gpu import gpu_name
from bfc_bench.toolkit.precision import Device

UNKNOWN_SECONDS = 1.0
"""Assumed seconds of a cell whose learner declares no cost and has no rows yet."""
WAITS = 0.5
"""A learner waits if it waits longer than this fraction of its CPU time; less may be the noise of a busy machine."""
Where: TypeAlias = tuple[str, int, int]
"""Label, d and n, on which the cost of a fit depends."""


@dataclass(frozen=True)
class DeclaredCost:
    """Seconds of all fits of a cell, tuning included, from the declared cost of its learner."""

    own: float
    """Work that no other cell shares."""
    shared: Mapping[Hashable, float]
    """Work that a batch does once for all cells that declare it under the same name."""

    @property
    def alone(self) -> float:
        """Seconds of the cell in a batch of its own."""
        return self.own + sum(self.shared.values())


class SharedWork:
    """The shared work of the cells in a batch. Each part counts once, in its largest size."""

    def __init__(self) -> None:
        self._parts: dict[Hashable, float] = {}

    def new(self, cell: Cell, declared: DeclaredCost) -> float:
        """Seconds that the cell would add to the batch."""
        parts = ((part, self._parts.get((cell.replicate, name), 0.0)) for name, part in declared.shared.items())
        return declared.own + sum(max(0.0, part - present) for part, present in parts)

    def add(self, cell: Cell, declared: DeclaredCost) -> None:
        """Add a cell to the batch."""
        for name, part in declared.shared.items():
            key = cell.replicate, name
            self._parts[key] = max(part, self._parts.get(key, 0.0))


@dataclass(frozen=True)
class AddedWork:
    """What a cell adds to a batch."""

    seconds: float
    new: float
    """Fraction of the cell's declared work that the batch has not done already."""


class Costs:
    """Seconds of a cell: measured on the same curve; else its declared cost, scaled by the learner's rows.

    They are CPU seconds, and the seconds for which the learner waits (for a network, say). Time for which it had no
    core does not count, since another run may find the machine less busy.
    """

    def __init__(self, grid: Grid, history: Sequence[Row], device: Device) -> None:
        self._grid, self._device = grid, device
        self._card = gpu_name() if device == "cuda" else ""
        self._costs: dict[Where, Cost | None] = {}
        self._declared: dict[tuple[str, str, int, int], DeclaredCost | None] = {}
        seen: dict[Where, list[float]] = {}
        rates: dict[str, list[float]] = {}
        ok = Rows.of(history).where(status="ok")
        for (label, made_on, d, n), group in ok.groups("label", "device", "d", "n").items():
            if label not in grid.entries or made_on != self._device_of(label):
                continue
            seconds = occupied(group)
            cost = None
            seen[label, d, n] = measured = seconds[~np.isnan(seconds)].tolist()
            with suppress(PluginError):  # the plan names the cells that this concerns
                cost = self._cost((label, d, n))
            if cost and cost.flops:
                rates.setdefault(label, []).extend(taken / cost.flops for taken in measured)
        self._seen = {key: median(values) for key, values in seen.items() if values}
        self._rates = {label: median(values) for label, values in rates.items() if values}

    def seconds(self, cells: list[Cell]) -> dict[str, float]:
        """Seconds by id of cells that are fitted together. Shared work counts for the largest cell that has it."""
        done, seconds = SharedWork(), {}
        for cell in self.largest_first(cells):
            seconds[cell.id] = self.added(cell, done).seconds
            self.join(cell, done)
        return seconds

    def largest_first(self, cells: list[Cell]) -> list[Cell]:
        """Cells of a batch with the largest first, which do the shared work; unchanged if nothing is shared."""
        if not any(declared.shared for cell in cells if (declared := self._declared_cost(cell))):
            return cells
        return sorted(cells, key=lambda cell: (cell.label, -cell.n))

    def added(self, cell: Cell, done: SharedWork) -> AddedWork:
        """What a cell adds to a batch that has ``done`` the work of other cells.

        Measured seconds were measured in a batch, so shared work is not subtracted from them.
        """
        where, declared = (cell.label, cell.d, cell.n), self._declared_cost(cell)
        seconds = UNKNOWN_SECONDS if declared is None else done.new(cell, declared)
        new = seconds / declared.alone if declared and declared.alone else 1.0
        if where in self._seen:
            return AddedWork(self._seen[where], new)
        if cell.label in self._rates and (cost := self._cost(where)):
            return AddedWork(cost.flops * self._rates[cell.label], new)
        return AddedWork(seconds, new)

    def join(self, cell: Cell, done: SharedWork) -> None:
        """Add a cell's work to ``done``."""
        if declared := self._declared_cost(cell):
            done.add(cell, declared)

    def bytes(self, cell: Cell) -> float:
        """Declared memory of a cell, or 0."""
        cost = self._cost((cell.label, cell.d, cell.n))
        return 0.0 if cost is None else cost.bytes

    def _device_of(self, label: str) -> Device:
        return device_of(self._grid.entries[label].learner, self._device)

    def _cost(self, where: Where) -> Cost | None:
        if where not in self._costs:
            label, d, n = where
            self._costs[where] = ask(self._grid.entries[label].learner, "cost", n, d)
        return self._costs[where]

    def _declared_cost(self, cell: Cell) -> DeclaredCost | None:
        """Declared cost of tuning, in which each candidate trains on part of the points, and of the final fit.

        None if no cost is declared. The candidate that tuning will choose is unknown; the suite's options are assumed.
        """
        where = (cell.label, cell.task, cell.d, cell.n)
        if where not in self._declared:
            entry, n = self._grid.entries[cell.label], cell.n - cell.n // TUNING_SHARE
            fits = [self._fit(entry.learner, cell, self._cost((cell.label, cell.d, cell.n)), cell.n, "")]
            if fits[0] is not None:
                trials = ((trial, ask(trial, "cost", n, cell.d)) for trial in entry.candidates)
                fits += [self._fit(trial, cell, cost, n, "/train") for trial, cost in trials]
            known = [fit for fit in fits if fit is not None]
            shared = {name: part for fit in known for name, part in fit.shared.items()}
            self._declared[where] = DeclaredCost(sum(fit.own for fit in known), shared) if known else None
        return self._declared[where]

    def _fit(self, learner: Learner, cell: Cell, cost: Cost | None, n: int, part: str) -> DeclaredCost | None:
        """Declared cost of a fit on n points, its shared work by sample, batch key and name."""
        if cost is None:
            return None
        rate = flops_per_second(self._device_of(cell.label), cost.work, learner, self._card)
        shared: dict[Hashable, float] = {}
        if cost.shared:
            suite, task = self._grid.suite, self._grid.tasks[cell.task]
            spec = task.problem(suite.seed, cell.d, 0, suite.test_size).spec(cell.n)
            spec = replace(spec, sample=spec.sample + part, n=n)
            key = batch_key(learner, spec)
            shared = {(spec.sample, key, name): flops / rate for name, flops in cost.shared.items()}
        return DeclaredCost(cost.own / rate + cost.seconds, shared)


def occupied(rows: Rows) -> np.ndarray:
    """Seconds for which each row's fit occupied a worker: CPU time, and waiting time if the learner waits; (m,)."""
    cpu, wait = rows.number("fit_cpu_seconds"), np.nan_to_num(rows.number("fit_wait_seconds"))
    return cpu + np.where(wait > WAITS * cpu, wait, 0.0)
