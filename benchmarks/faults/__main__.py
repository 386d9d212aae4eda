"""``python -m benchmarks.faults``: provokes every fault, prints fault | expected | got, and fails if any differ."""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import machine
from benchmarks.faults import Line, clusters, disks, kills, learners, records, shards, slurm, state, stores, tracking
from benchmarks.faults.place import Place
from bfc_bench.errors import describe_error, suggest

FAMILIES = {
    module.FAULTS.name: module.FAULTS
    for module in (learners, state, kills, disks, stores, shards, slurm, records, tracking, clusters)
}

LONGEST = 400
"""Largest number of characters in a cell of the table."""

BAR = "\N{BROKEN BAR}"
"""Replaces a bar, which would end a cell of a Markdown table."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Provoke faults; return 1 if an outcome differs from the expected one, otherwise 0."""
    options = _parser().parse_args(arguments)
    # A shell makes background commands ignore Ctrl-C, and the runs that are interrupted here would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    started, lines = time.monotonic(), []
    show = _show_markdown if options.markdown else _show
    if options.markdown:
        print("| | fault | expected | got |\n| --- | --- | --- | --- |")
    with busy(options.busy):
        for name in options.families or FAMILIES:
            if why := FAMILIES[name].lacking():
                print(f"{name}: not tried. {why}", file=sys.stderr)
                continue
            for line in provoke(name):
                show(line)
                lines.append(line)
    seconds, failed = time.monotonic() - started, sum(not line.holds for line in lines)
    facts, load = machine.describe(), f", beside {options.busy} busy loops" if options.busy else ""
    print(f"\n{len(lines)} faults, {failed} not as they must be; {seconds:.0f} s{load}.")
    print(f"{facts['processor']}, {facts['cores']} cores; {facts['platform']}; Python {facts['python']};")
    print(f"bfc-bench {facts['packages'].get('bfc-bench')}, commit {facts['git']}.")
    return int(failed > 0)


def provoke(family: str) -> Iterator[Line]:
    """Provoke the faults of a family and yield their lines."""
    with TemporaryDirectory(prefix="bfc-faults-", ignore_cleanup_errors=True) as folder:
        place = Place(Path(folder))
        for fault in FAMILIES[family].faults:
            try:
                got = fault.provoke(place)
            except Exception as error:
                got = describe_error(error)
            yield Line(family, fault.what, fault.expected, shortened(got))


def shortened(text: str) -> str:
    """A text on one line, reduced to its end if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"... {line[-LONGEST:]}"


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Run ``count`` processes that keep the CPU busy."""
    loops = [multiprocessing.Process(target=_loop, daemon=True) for _ in range(count)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()


def _loop() -> None:
    while True:
        pass


def _show(line: Line) -> None:
    if line.holds:
        print(f"holds   {line.fault}: {line.expected}", flush=True)
    else:
        print(f"FAILS   {line.fault}: expected {line.expected}\n        got {line.got}", flush=True)


def _show_markdown(line: Line) -> None:
    cells = (line.family, line.fault, line.expected, "the same" if line.holds else f"**{line.got}**")
    print(f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description="Provoke every fault for real.")
    parser.add_argument(
        "families", metavar="FAMILY", nargs="*", type=_known, help=f"{', '.join(FAMILIES)}; all by default"
    )
    parser.add_argument("--busy", metavar="N", type=int, default=0, help="number of busy loops to run beside")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    return parser


def _known(name: str) -> str:
    if name not in FAMILIES:
        raise argparse.ArgumentTypeError(f"unknown family {name!r}.{suggest(name, FAMILIES)}")
    return name


if __name__ == "__main__":
    raise SystemExit(main())
