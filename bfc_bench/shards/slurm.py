"""SLURM by its own commands: ``sbatch``, ``squeue``, ``scontrol``. Accounting (``sacct``) is not needed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from bfc_bench.errors import BenchError
from bfc_bench.shards.job import ShardJob, SlurmArray

LARGEST_ARRAY = 1001
"""``MaxArraySize`` where SLURM does not say: its default."""
SIGNAL_SECONDS = 90
"""Before its time is over a shard is told to stop."""
WAITING = frozenset({"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"})


class SlurmError(BenchError):
    """A command of SLURM is missing, fails or does not answer."""


def script(job: ShardJob, options: Sequence[str]) -> str:
    """The batch script of a job, the same for each of its arrays, which hands it the number of its first shard.

    ``exec`` puts the shard in the place of the shell, which is what ``--signal=B:`` reaches.
    """
    lines = [
        f"--job-name={shlex.quote('bfc-' + job.suite['name'])}",
        f"--signal=B:USR1@{SIGNAL_SECONDS}",
        "--requeue",
        "--open-mode=append",
        f"--output={shlex.quote(str(job.folder / 'logs' / '%A-%a.txt'))}",
        *options,
    ]
    directives = "\n".join(f"#SBATCH {line}" for line in lines)
    call = shlex.join([sys.executable, "-m", "bfc_bench", "shard", str(job.folder)])
    return f'#!/bin/bash\n{directives}\nexec {call} "$(($1 + SLURM_ARRAY_TASK_ID))"\n'


def submit(job: ShardJob, path: Path) -> list[SlurmArray]:
    """Submit the script at ``path`` as one array, or as several where one may not be as large as the job.

    Each is written down as soon as SLURM has it. Raises ``SlurmError``.
    """
    arrays: list[SlurmArray] = []
    for first, count in split(job.shards, largest_array()):
        said = _call("sbatch", "--parsable", f"--array=0-{count - 1}", str(path), str(first))
        arrays.append(SlurmArray(said.strip().split(";")[0], first, count))
        job.note_arrays(arrays)
    return arrays


def split(shards: int, largest: int) -> list[tuple[int, int]]:
    """First shard and number of shards of each array, of equal length as far as can be."""
    arrays = -(-shards // largest)
    bounds = [shards * i // arrays for i in range(arrays + 1)]
    return [(a, b - a) for a, b in pairwise(bounds)]


def largest_array() -> int:
    """How many tasks an array may have."""
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", _call("scontrol", "show", "config"), flags=re.MULTILINE)
    return max(1, int(found[1]) if found else LARGEST_ARRAY)


def queue(jobs: Sequence[ShardJob]) -> dict[tuple[str, int], bool]:
    """Which shards SLURM has, by job's name and number, and whether they run or wait. Raises ``SlurmError``."""
    arrays = {array.id: (job.name, array) for job in jobs for array in job.arrays}
    found: dict[tuple[str, int], bool] = {}
    if not arrays:
        return found
    # One that is forgotten makes squeue fail if it is asked for alone.
    said = _call("squeue", "-h", "-r", "-o", "%F %K %T", "-j", ",".join(arrays), fine="Invalid job id")
    for id, task, state in (words for line in said.splitlines() if len(words := line.split()) == 3):
        if id in arrays and task.isdigit():
            name, array = arrays[id]
            found[name, array.first + int(task)] = state not in WAITING
    return found


def seconds(time: str) -> float | None:
    """A time limit as SLURM writes it (M, M:S, H:M:S, D-H, D-H:M, D-H:M:S); None for what is none."""
    if not re.fullmatch(r"(\d+-)?\d+(:\d+){0,2}", time):
        return None
    days, _, rest = time.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if days:
        hours, minutes, secs = (*parts, 0, 0)[:3]
        return 86400.0 * int(days) + 3600 * hours + 60 * minutes + secs
    hours, minutes, secs = {1: (0, *parts, 0), 2: (0, *parts), 3: tuple(parts)}[len(parts)]
    return 3600.0 * hours + 60 * minutes + secs


def _call(*command: str, fine: str = "") -> str:
    """What a command prints; ``fine`` is what its error may say without being one. Raises ``SlurmError``."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except FileNotFoundError:
        raise SlurmError(f"{command[0]} is not here. `submit --local` runs the shards on this machine.") from None
    except subprocess.TimeoutExpired:
        raise SlurmError(f"{command[0]} did not answer within 60 s.") from None
    if done.returncode and not (fine and fine in done.stderr):
        raise SlurmError(f"{command[0]}: {done.stderr.strip() or f'exit code {done.returncode}'}")
    return done.stdout
