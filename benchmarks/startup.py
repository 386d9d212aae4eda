"""Start-up time of commands."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.commands import command_cpu
from benchmarks.measurement import Measurement, Spread


def measure(quick: bool) -> Iterator[Measurement]:
    """``--help`` and ``list``, and Python itself for comparison."""
    repetitions = 2 if quick else 9
    commands = {"python -c pass": ["-c", "pass"]}
    commands |= {f"bfc-bench {verb}": ["-m", "bfc_bench", verb] for verb in ("--help", "list")}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for arguments in commands.values():
        command_cpu(*arguments)  # the first one writes the bytecode
    for _ in range(repetitions):
        for name, arguments in commands.items():
            times[name].append(command_cpu(*arguments))
    for name, seconds in times.items():
        yield Measurement(name, "s", Spread.of(seconds), repetitions, goal=None if name == "python -c pass" else 0.4)
