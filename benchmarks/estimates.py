"""Compares estimated and measured CPU seconds of suites: ``python -m benchmarks.estimates [SUITE | STORE ...]``.

A suite is first run into an empty store with one worker; of a store, all suites are read. The estimate is that of
``bfc-bench plan`` for the same cells without rows; the measured time is that of the fits in their rows.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import machine
from bfc_bench.errors import UsageError
from bfc_bench.plugins import Plugins, load_plugins
from bfc_bench.run.grid import resolve
from bfc_bench.run.session import plan_for
from bfc_bench.store.store import Store
from bfc_bench.suite.find import suite_path
from bfc_bench.suite.model import read_suite

SUITES = ("smoke", "bfc", "bfc-toys", "bfc-depth", "tabular", "images-smoke", "representations")


@dataclass(frozen=True)
class Compared:
    """Estimated and measured CPU seconds of the ok cells of a suite, by label."""

    suite: str
    cells: int
    estimated: Mapping[str, float]
    measured: Mapping[str, float]

    @property
    def worst(self) -> str:
        """The label whose estimate is furthest from the measured time, in seconds."""
        return max(self.measured, key=lambda label: abs(self.estimated[label] - self.measured[label]))

    def row(self) -> str:
        """A line of the table."""
        estimated, measured, worst = sum(self.estimated.values()), sum(self.measured.values()), self.worst
        off = f"{worst}: {self.estimated[worst]:.1f} / {self.measured[worst]:.1f}"
        ratio = estimated / measured
        return f"| {self.suite} | {self.cells} | {estimated:.0f} | {measured:.0f} | {ratio:.2f} | {off} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and the machine."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.estimates", description=__doc__)
    parser.add_argument("sources", metavar="SUITE|STORE", nargs="*", default=SUITES, help=f"{', '.join(SUITES)}")
    sources: Sequence[str] = parser.parse_args(arguments).sources
    before, plugins = machine.load(), load_plugins()
    print("| suite | cells | estimate, CPU s | measured, CPU s | ratio | furthest off: estimate / measured |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    for source in sources:
        stored = Path(source, "results.sqlite").exists()
        for each in compared(Path(source), plugins) if stored else _run(source, plugins):
            print(each.row(), flush=True)
    facts = machine.describe()
    print(f"\n{facts['processor']}, {facts['cores']} cores; {facts['platform']}; Python {facts['python']}")
    print(", ".join(f"{name} {version}" for name, version in facts["packages"].items() if version))
    busy = " to ".join(f"{load:.1f}" for load in (before, machine.load()) if load is not None)
    print(f"Load per core {busy}; commit {facts['git']}.")
    return 0


def compared(directory: Path, plugins: Plugins) -> Iterator[Compared]:
    """Compare every suite of a store, over the ok cells that the present suite still contains."""
    with Store(directory) as store:
        for name, version in store.suites():
            path = suite_path(name, plugins.suites)
            grid = resolve(read_suite(path, ()), plugins, str(path))
            if grid.suite.version != version:
                planned = f"suite {name} is version {grid.suite.version} now"
                raise UsageError(f"{directory}: {planned}. Got rows of version {version}: run it again.")
            taken = {row.cell: row for row in store.iter_rows(name, version) if row.status == "ok"}
            cells = [
                grid.cell(row.task, row.label, row.d, row.n, row.replicate)
                for row in taken.values()
                if row.task in grid.tasks and row.label in grid.entries
            ]
            cells = [cell for cell in cells if cell.id in taken]
            estimates = plan_for(replace(grid, only=tuple(cells)), None, "cpu").seconds
            estimated: dict[str, float] = dict.fromkeys((cell.label for cell in cells), 0.0)
            measured = dict(estimated)
            for cell in cells:
                estimated[cell.label] += estimates.get(cell.id, 0.0)
                measured[cell.label] += taken[cell.id].fit_cpu_seconds or 0.0
            yield Compared(name, len(cells), estimated, measured)


def _run(suite: str, plugins: Plugins) -> list[Compared]:
    with TemporaryDirectory() as folder:
        command = ["bfc_bench", "run", suite, "--store", folder, "--jobs", "1", "--no-mlflow", "--device", "cpu"]
        subprocess.run([sys.executable, "-m", *command], env=machine.one_thread(), stdout=sys.stderr, check=True)
        return list(compared(Path(folder), plugins))


if __name__ == "__main__":
    raise SystemExit(main())
