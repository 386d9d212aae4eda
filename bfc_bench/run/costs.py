"""What cells cost: CPU seconds and memory, from rows of a store or from what learners declare."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TypeAlias

import numpy as np

from bfc_bench.learner import Cost, Learner, Outline
from bfc_bench.run.admission import TUNING_SHARE, ask, batch_key, device_of
from bfc_bench.run.resolve import Cell, Grid
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows
from bfc_bench.toolkit.precision import Device

FLOPS_PER_SECOND = {"cpu": 5e9, "cuda": 5e11}
"""Assumed of one core, and of a GPU that trains an ensemble, until rows of the learner tell."""
UNKNOWN_SECONDS = 1.0
"""Assumed of a cell whose learner declares no cost and has no rows yet."""
Where: TypeAlias = tuple[str, int, int]
"""Label, d and n: what the cost of one fit depends on."""


@dataclass(frozen=True)
class Flops:
    """The work of all fits of a cell, tuning included."""

    own: float
    shared: Mapping[Hashable, float]
    """What is done once for the cells of a batch that have it under the same name."""

    @property
    def all(self) -> float:
        """Of the cell by itself."""
        return self.own + sum(self.shared.values())


class Done:
    """The shared work of the cells of a batch, each part of it once, in its largest size."""

    def __init__(self) -> None:
        self._parts: dict[Hashable, float] = {}

    def new(self, cell: Cell, work: Flops) -> float:
        """Flops that the batch would not do without the cell."""
        parts = ((flops, self._parts.get((cell.replicate, name), 0.0)) for name, flops in work.shared.items())
        return work.own + sum(max(0.0, flops - known) for flops, known in parts)

    def add(self, cell: Cell, work: Flops) -> None:
        """Have a cell in the batch."""
        for name, flops in work.shared.items():
            key = cell.replicate, name
            self._parts[key] = max(flops, self._parts.get(key, 0.0))


@dataclass(frozen=True)
class Added:
    """What a cell adds to the cells before it in a batch."""

    seconds: float
    new: float
    """The share of its declared work that none of them does."""


class Costs:
    """CPU seconds of a cell: from rows of the same curve, else from rows of the learner and its declared cost."""

    def __init__(self, grid: Grid, history: Sequence[Row], device: Device) -> None:
        self._grid, self._device = grid, device
        self._declared: dict[Where, Cost | None] = {}
        self._flops: dict[tuple[str, str, int, int], Flops | None] = {}
        seen: dict[Where, list[float]] = {}
        rates: dict[str, list[float]] = {}
        ok = Rows.of(history).where(status="ok")
        for (label, made_on, d, n), group in ok.groups("label", "device", "d", "n").items():
            if label not in grid.entries or made_on != self._device_of(label):
                continue
            seconds = group.number("fit_cpu_seconds")
            seen[label, d, n] = measured = seconds[~np.isnan(seconds)].tolist()
            if cost := self._cost((label, d, n)):
                rates.setdefault(label, []).extend(found / cost.flops for found in measured)
        self._seen = {key: median(values) for key, values in seen.items() if values}
        self._rates = {label: median(values) for label, values in rates.items() if values}

    def seconds(self, cells: Iterable[Cell]) -> dict[str, float]:
        """By id what cells take that are fitted together, each what it adds to the larger ones: what they share counts
        once.
        """
        done, seconds = Done(), {}
        for cell in self.largest_first(cells):
            seconds[cell.id] = self.added(cell, done).seconds
            self.join(cell, done)
        return seconds

    def largest_first(self, cells: Iterable[Cell]) -> list[Cell]:
        """Cells of a batch in the order in which each finds done what it shares; as they are where that is nothing."""
        cells = list(cells)
        if not any(work.shared for cell in cells if (work := self._work(cell))):
            return cells
        return sorted(cells, key=lambda cell: (cell.label, -cell.n))

    def added(self, cell: Cell, done: Done) -> Added:
        """What a cell adds to a batch that has ``done`` the work of other cells.

        Rows of a cell tell what it took in a batch, so that nothing is taken off them.
        """
        where, work = (cell.label, cell.d, cell.n), self._work(cell)
        new = done.new(cell, work) / work.all if work else 1.0
        if where in self._seen:
            return Added(self._seen[where], new)
        cost = self._cost(where)
        if cost is None or work is None:
            return Added(UNKNOWN_SECONDS, new)
        if cell.label in self._rates:
            return Added(cost.flops * self._rates[cell.label], new)
        return Added(new * work.all / FLOPS_PER_SECOND[self._device_of(cell.label)], new)

    def join(self, cell: Cell, done: Done) -> None:
        """Note a cell's work as done."""
        if work := self._work(cell):
            done.add(cell, work)

    def bytes(self, cell: Cell) -> float:
        """The memory that one cell declares; 0 where it declares none."""
        cost = self._cost((cell.label, cell.d, cell.n))
        return 0.0 if cost is None else cost.bytes

    def _device_of(self, label: str) -> Device:
        return device_of(self._grid.entries[label].learner, self._device)

    def _cost(self, where: Where) -> Cost | None:
        if where not in self._declared:
            label, d, n = where
            self._declared[where] = ask(self._grid.entries[label].learner, "cost", n, d)
        return self._declared[where]

    def _work(self, cell: Cell) -> Flops | None:
        """Of every candidate on its part of the points and of the learner on all of them; None where none is declared.

        Which candidate is trained again is not known, so that this fit shares nothing.
        """
        where = (cell.label, cell.task, cell.d, cell.n)
        if where not in self._flops:
            self._flops[where] = self._flops_of(cell)
        return self._flops[where]

    def _flops_of(self, cell: Cell) -> Flops | None:
        entry, cost = self._grid.entries[cell.label], self._cost((cell.label, cell.d, cell.n))
        if cost is None:
            return None
        if not entry.candidates:
            return Flops(cost.own, dict(self._parts(entry.learner, cell, cost, cell.n, "")))
        n = cell.n - cell.n // TUNING_SHARE
        own = cost.flops
        shared: dict[Hashable, float] = {}
        for candidate in entry.candidates:
            if trial := ask(candidate, "cost", n, cell.d):
                own += trial.own
                shared |= self._parts(candidate, cell, trial, n, "/train")
        return Flops(own, shared)

    def _parts(self, learner: Learner, cell: Cell, cost: Cost, n: int, part: str) -> Iterator[tuple[Hashable, float]]:
        """Shared flops of a fit to n points of a part of the sample, by sample, batch key and name."""
        if not cost.shared:
            return
        suite = self._grid.suite
        outline: Outline = self._grid.tasks[cell.task].problem(suite.seed, cell.d, 0, suite.test_size).outline(cell.n)
        outline = replace(outline, sample=outline.sample + part, n=n)
        key = batch_key(learner, outline)
        for name, flops in cost.shared.items():
            yield (outline.sample, key, name), flops
