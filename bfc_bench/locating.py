"""Runs the sizes of a suite that locate N* of each learner, d and replicate within a factor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from bfc_bench.analysis.curves import Curve, by_task, curves, metric_of
from bfc_bench.analysis.locating import Ladder, sizes_to_run
from bfc_bench.analysis.thresholds import threshold
from bfc_bench.run.grid import Cell
from bfc_bench.run.session import Runner, Session
from bfc_bench.store import Redo
from bfc_bench.store.store import Store
from bfc_bench.stored_suite import StoredSuite
from bfc_bench.suite.model import Locate
from bfc_bench.utils.counted import counted

Place: TypeAlias = tuple[str, str, int]
"""Task, label and d of a curve."""


@dataclass(kw_only=True)
class LocatingRun(Runner):
    """Runs, instead of the sizes of a grid, those that locate N* (``analysis.locating``).

    All learners and replicates take part in each round, so that ensembles stay ensembles. Cells are those that an
    ordinary run has at the same n: the same call continues an interrupted one, and any later run uses them.
    """

    redo: Collection[Redo]
    """Which cells with a row the first round runs again."""
    locate: Locate
    tell: Callable[[str], None]
    """Called with what there is to say of a curve."""

    def run(self) -> list[Session]:
        """Run rounds of cells until N* of every replicate is located, or cannot be."""
        sessions: list[Session] = []
        cells, redo = self._begun(), self.redo
        while cells:
            sessions.append(self.run_cells(cells, redo))
            if sessions[-1].interrupted:
                return sessions
            cells, redo = self._next(), ()
        for curve in self._curves():
            for level in self._levels:
                if count := threshold(curve, level).ill_behaved:
                    where = f"{curve.label} on {curve.task}, d = {curve.d}"
                    self.tell(f"{where}: {counted(count, 'replicate')} above {level:g} again at larger n; "
                              "the first crossing is N*.")  # fmt: skip
        self.tell(
            "Sizes go up only until N* is reached: if an error rises above the level beyond them, it is not seen."
        )
        return sessions

    @property
    def _levels(self) -> Sequence[float]:
        return self.locate.levels or self.grid.suite.levels

    @cached_property
    def _ladders(self) -> dict[Place, Ladder]:
        ladders = {}
        for task in self.grid.suite.task:
            for label, entry in self.grid.entries.items():
                for d in (d for d in task.d if d <= entry.max_d and task.name in entry.tasks):
                    if sizes := [n for n in task.sizes(d) if n <= entry.max_n]:
                        ladders[task.name, label, d] = Ladder(sizes[0], sizes[-1], sizes)
        return ladders

    def _begun(self) -> list[Cell]:
        """The first cells of all replicates, and those of earlier runs with sizes of the ladders."""
        with Store(self.directory, write=True) as store:
            known = store.known_cells(self.grid.suite.name, self.grid.suite.version)
        return [
            cell
            for place, ladder in self._ladders.items()
            for n in ladder.fine
            for replicate in range(self.grid.suite.replicates)
            for cell in [self.grid.cell(*place, n, replicate)]
            if n in ladder.upward[:2] or cell.id in known
        ]

    def _next(self) -> list[Cell]:
        """The cells of the next round."""
        cells = []
        for curve in self._curves():
            ladder = self._ladders[curve.task, curve.label, curve.d]
            for replicate, sizes in sizes_to_run(curve, self._levels, self.locate.factor, ladder).items():
                cells += [self.grid.cell(curve.task, curve.label, curve.d, n, replicate) for n in sorted(sizes)]
        return cells

    def _curves(self) -> Iterator[Curve]:
        """What was measured so far of the replicates of the suite."""
        suite = self.grid.suite
        with Store(self.directory) as store:
            rows = StoredSuite(store, self.plugins, suite.name, suite.version, model=suite).columns()
        for of_task in by_task(rows.at(rows.replicate < suite.replicates)).values():
            for curve in curves(of_task, metric_of(of_task)):
                if (curve.task, curve.label, curve.d) in self._ladders:
                    yield curve
