"""Rounds of cells: what each one runs depends on the results of those before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

from bfc_bench.executors.base import Executor
from bfc_bench.plugins import Plugins
from bfc_bench.run.grid import Cell, Grid
from bfc_bench.run.session import Session, run
from bfc_bench.store import Redo
from bfc_bench.toolkit.precision import Device


@dataclass(kw_only=True)
class Rounds:
    """How the cells of all rounds are run."""

    grid: Grid
    plugins: Plugins
    directory: Path
    device: Device
    executor: Executor
    jobs: int | None
    redo: Collection[Redo]
    """Which cells with a row the first round runs again."""
    listeners: Sequence[object]
    tell: Callable[[str], None]
    """Called with what there is to say of a round."""

    def run_cells(
        self, cells: Iterable[Cell] | None = None, redo: Collection[Redo] = (), until: float = inf
    ) -> Session:
        """Run cells, those of the grid by default, that have no row or that ``redo`` names."""
        return run(
            self.grid if cells is None else replace(self.grid, only=tuple(cells)), self.plugins, self.directory,
            device=self.device, executor=self.executor, jobs=self.jobs, redo=redo, listeners=self.listeners,
            until=until,
        )  # fmt: skip
